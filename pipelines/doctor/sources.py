"""The sources: permitted, configured, landed, read; with ``--live``, whether they answer."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from urllib.parse import urlsplit

from assets.fetching.addresses import LOOPBACK
from assets.fetching.client import FetchError
from assets.fetching.fetchers import Window
from assets.ingest.failures import in_words
from assets.ingest.land import Prober, probe
from assets.ingest.load import failed_documents, lost_documents
from assets.ingest.sources import SOURCES, sources_of
from assets.source import Source, asked_url_of, fetch_task
from pipelines.doctor.findings import CheckContext, Finding, fault, note, ok
from warehouse.record.failures import sources_with_failures
from warehouse.record.landing import observed_at_of, open_landing
from warehouse.record.store import open_record
from warehouse.shared.errors import SankofaError

_BLOCKED = frozenset({401, 403, 407, 429, 451})
_MAX_THREADS = 8


def sources(context: CheckContext) -> Iterator[Finding]:
    """Check every source; with ``--live``, also by one request."""
    try:
        known = sources_of(context.settings)
    except SankofaError as error:
        yield fault("SANKOFA_PORTALS", str(error), "correct the file; until then no command works")
        known = SOURCES
    with closing(Prober(context.settings)) as client, ThreadPoolExecutor(_MAX_THREADS) as executor:
        yield from executor.map(lambda source: _check_source(context, source, client), known)


def failed_parsers(context: CheckContext) -> Iterator[Finding]:
    """Report documents that are unread because a parser failed on them."""
    record, landing = open_record(context.settings), open_landing(context.settings)
    suspects = sources_with_failures(record)
    for source in sources_of(context.settings):
        failures = failed_documents(record, landing, source) if source.key in suspects else []
        if failures:
            last = failures[-1]
            yield fault(
                f"parser of {source.key}",
                f"failed on {len(failures):,} documents, which are unread, last on {last.url}: "
                f"{in_words(last)}",
                f"report it, or correct the parser; then `sankofa ingest {source.key}`",
            )


def lost_bodies(context: CheckContext) -> Iterator[Finding]:
    """Report documents that can no longer be read into this record."""
    record, landing = open_record(context.settings), open_landing(context.settings)
    for source in sources_of(context.settings):
        lost = lost_documents(record, landing, source)
        if lost:
            yield fault(
                f"documents of {source.key}",
                f"{len(lost):,} bodies were removed from the landing after their time, and the "
                "record has no reading of them",
                "restore the record, or the landing, from your backup",
            )


def _check_source(context: CheckContext, source: Source, client: Prober) -> Finding:
    landed = _landed(context, source)
    if not source.permitted:
        return note(
            source.key,
            f"refused: its licence ({source.license_name}) does not permit serving",
            "once it is cleared, set its licence class where it is declared",
        )
    if source.fetch is None:
        return ok(source.key, f"read from recordings; {landed}")
    try:
        # Not iterated: a fetcher checks its settings when called and sends its first request later.
        source.fetch(fetch_task(client, source, Window(), context.settings))
    except SankofaError as error:
        report = fault if context.live else note
        do = "set it, or name the sources you want: `sankofa ingest SOURCE --live`"
        return report(source.key, f"a key or setting is missing: {error}", do)
    return (
        _probe_source(context, client, source, landed) if context.live else ok(source.key, landed)
    )


def _probe_source(context: CheckContext, client: Prober, source: Source, landed: str) -> Finding:
    host = urlsplit(asked_url_of(source, context.settings)).hostname
    if not context.settings.contact and host not in LOOPBACK:
        return note(source.key, "not probed, because no contact is set: see Keys and settings")
    try:
        probe(client, source, context.settings)
    except FetchError as error:
        if error.status in _BLOCKED:
            says = f"blocked: {error}"
            do = "check SANKOFA_CONTACT and the key of this source, then write to its publisher"
            return fault(source.key, says, do)
        says = f"does not answer correctly: {error}"
        return fault(
            source.key, says, "try again later; until then the landed documents are served"
        )
    return ok(source.key, f"answers; {landed}")


def _landed(context: CheckContext, source: Source) -> str:
    keys = open_landing(context.settings).keys(source.key)
    if not keys:
        return "nothing landed yet"
    newest = max(map(observed_at_of, keys))
    return f"{len(keys):,} documents landed, the newest of {newest:%Y-%m-%d}"
