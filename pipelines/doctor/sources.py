"""The sources: permitted, configured, landed; and, if asked for, whether they answer us."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from urllib.parse import urlsplit

from assets.fetching.client import FetchError
from assets.fetching.fetchers import Window
from assets.fetching.rate_limit import LOOPBACK
from assets.ingest.probe import Prober, probe
from assets.ingest.sources import SOURCES
from assets.source import Source, base_url_of
from pipelines.doctor.findings import Asked, Finding, fault, note, ok
from warehouse.errors import SankofaError
from warehouse.record.landing import Landing

_BLOCKED = frozenset({401, 403, 407, 429, 451})
_AT_ONCE = 8


def sources(asked: Asked) -> Iterator[Finding]:
    """See what is known of each source; ask it once where that is wanted."""
    with closing(Prober(asked.settings)) as client, ThreadPoolExecutor(_AT_ONCE) as several:
        yield from several.map(lambda source: _found(asked, source, client), SOURCES)


def _found(asked: Asked, source: Source, client: Prober) -> Finding:
    landed = _landed(asked, source)
    if not source.permitted:
        return note(
            source.key,
            f"refused: its licence ({source.license_name}) does not permit serving",
            "once it is cleared, give the source its licence class in sources.py",
        )
    if source.fetch is None:
        return ok(source.key, f"read from a folder; {landed}")
    try:
        # A fetcher says what it lacks before it asks anything.
        source.fetch(client, base_url_of(source, asked.settings), Window(), asked.settings)
    except SankofaError as error:
        tell = fault if asked.live else note
        do = "set it, or name the sources you want: `sankofa ingest SOURCE --live`"
        return tell(source.key, f"a key or setting is missing: {error}", do)
    return _asked(asked, client, source, landed) if asked.live else ok(source.key, landed)


def _asked(asked: Asked, client: Prober, source: Source, landed: str) -> Finding:
    host = urlsplit(base_url_of(source, asked.settings)).hostname
    if not asked.settings.contact and host not in LOOPBACK:
        return note(source.key, "not asked, since no contact is set: see Keys and settings")
    try:
        probe(client, source, asked.settings)
    except FetchError as error:
        if error.status in _BLOCKED:
            says = f"blocked: {error}"
            do = "check SANKOFA_CONTACT and the key of this source, then write to its publisher"
            return fault(source.key, says, do)
        says = f"does not answer as it should: {error}"
        return fault(source.key, says, "try again later; until then what is landed is served")
    return ok(source.key, f"answers; {landed}")


def _landed(asked: Asked, source: Source) -> str:
    keys = Landing(asked.settings.landing).keys(source.key)
    if not keys:
        return "nothing landed yet"
    newest = max(key.rpartition("-")[2] for key in keys)
    return f"{len(keys):,} documents landed, the newest of {newest[:4]}-{newest[4:6]}-{newest[6:8]}"
