"""The portals whose releases are read."""

from functools import partial
from typing import Any

from assets.source import Parse, Parser, Source, Stream
from assets.tenders import fetch
from assets.tenders.parse import parse
from assets.tenders.portals import PORTALS
from assets.tenders.stream import stream
from warehouse.record.tables import TENDER_PARTIES, TENDER_RELEASES
from warehouse.settings import DEVELOPMENT_WITHHELD_KEY

_PDDL = "Open Data Commons Public Domain Dedication and Licence 1.0"
_REGISTRY = "https://data.open-contracting.org"


def _parsers(withheld_key: bytes) -> tuple[Parse, Stream]:
    return partial(parse, key=withheld_key), partial(stream, key=withheld_key)


_PARSER = Parser(1, *_parsers(DEVELOPMENT_WITHHELD_KEY.encode()), bind_key=_parsers)


def _source(key: str, license_name: str, **live: Any) -> Source:
    portal = PORTALS[key]
    return Source(
        key=key,
        subject="tenders",
        title=portal.title,
        license_class=portal.license_class or "licensed",
        license_name=license_name,
        parser=_PARSER,
        tables=(TENDER_RELEASES, TENDER_PARTIES),
        complete=portal.complete_addresses,
        **live,
    )


SOURCES = (
    _source(
        "za-etenders",
        _PDDL,
        base_url="https://ocds-api.etenders.gov.za",
        fetch=fetch.south_africa,
        cadence="daily",
        requests=("/api/OCDSReleases?dateFrom={day}&dateTo={day}&PageNumber={page}&PageSize=1000",),
    ),
    _source(
        "ke-ppip",
        "Open with attribution",
        base_url="https://tenders.go.ke",
        fetch=fetch.kenya,
        cadence="monthly",
        requests=("/api/ocds/tenders?fy={year}",),
    ),
    _source(
        "co-secop",
        _PDDL,
        base_url=_REGISTRY,
        fetch=fetch.registry,
        requests=("/en/publication/{number}/download?name={year}.jsonl.gz",),
    ),
    _source(
        "ng-budget",
        "As each package states",
        base_url=_REGISTRY,
        fetch=fetch.registry,
        requests=("/en/publication/{number}/download?name={year}.jsonl.gz",),
    ),
)
