"""The portals whose releases are read."""

from assets.source import Source
from assets.tenders.parse import parse
from assets.tenders.portals import PORTALS
from assets.tenders.stream import stream
from warehouse.record.tables import TENDER_PARTIES, TENDER_RELEASES

_LICENCES = {
    "za-etenders": "Open Data Commons Public Domain Dedication and Licence 1.0",
    "ke-ppip": "Open with attribution",
    "co-secop": "Open Data Commons Public Domain Dedication and Licence 1.0",
    "ng-budget": "As each package states",
}

SOURCES = tuple(
    Source(
        key=portal.key,
        subject="tenders",
        title=portal.title,
        license_class=portal.license_class or "licensed",
        license_name=_LICENCES[portal.key],
        parse=parse,
        tables=(TENDER_RELEASES, TENDER_PARTIES),
        complete=portal.complete_addresses,
        stream=stream,
    )
    for portal in PORTALS.values()
)
