"""OCDS releases to rows: one of the release, one of each party in each of its roles."""

from datetime import date
from functools import lru_cache
from typing import Any
from urllib.parse import quote

from assets.parsing.parsed import Parsed, provenance, source_ref
from assets.tenders.columns import Columns, ReleaseRow
from assets.tenders.json_values import Unread
from assets.tenders.ocds import Body, Money, Period, Tender
from assets.tenders.parties import Judge, Parties
from assets.tenders.portals import PORTALS, Portal, license_of
from assets.tenders.redact import Served
from assets.tenders.releases import Found, releases
from assets.tenders.values import Refused, count, fitting, ident, parse_day, text
from warehouse.record.landing import Document
from warehouse.record.tables import TENDER_RELEASES
from warehouse.tables import OPEN_CLASSES, LicenseClass

# Releases whose texts are looked through together.
_TOGETHER = 2_000
_NO_TENDER, _NO_MONEY, _NO_PERIOD = Tender(), Money(), Period()


def parse(document: Document, body: bytes, key: bytes) -> Parsed:
    """Read a document of a portal in the table of portals."""
    portal = PORTALS.get(document.source)
    if portal is None:
        parsed = Parsed()
        parsed.reject(TENDER_RELEASES, document, "", f"{document.source}: no such portal")
        return parsed
    return parse_portal(document, body, portal, key)


def parse_portal(document: Document, body: bytes, portal: Portal, key: bytes) -> Parsed:
    """Read every release; what cannot be kept is rejected with its place and the reason.

    ``key`` is the secret under which withheld parties are hashed.
    """
    reader = Reader(document, portal, key)
    for found in releases(body):
        reader.read(found)
    return reader.parsed()


class Reader:
    """The rows of the releases of one document."""

    def __init__(self, document: Document, portal: Portal, key: bytes) -> None:
        self._document = document
        self._portal = portal
        self._observed_on = document.observed_at.date()
        self._judge = Judge(portal, key)
        self._served = Served(portal, self._observed_on)
        self._columns = Columns(
            provenance(document, "", portal.method) | {"country": portal.country}
        )
        self._licences = lru_cache(maxsize=256)(self._license)
        self._rejected: list[tuple[str, str]] = []
        self._bodies: list[Body] = []
        self._texts: list[str] = []

    def read(self, found: Found | Unread) -> None:
        """Add the rows of a release, or say why it has none."""
        if isinstance(found, Unread):
            self._rejected.append((found.place, found.reason))
            return
        try:
            self._add(found)
        except Refused as refusal:
            self._rejected.append((found.place, str(refusal)))

    def parsed(self) -> Parsed:
        """Give what was read since this was last asked."""
        self._show()
        parsed = Parsed()
        self._columns.take(parsed)
        for place, reason in self._rejected:
            parsed.reject(TENDER_RELEASES, self._document, place, reason)
        self._rejected.clear()
        return parsed

    def _add(self, found: Found) -> None:
        release = found.release
        ocid, release_id = text(release.ocid), ident(release.id)
        if ocid is None or release_id is None:
            raise Refused(f"a release without {'an ocid' if ocid is None else 'an id'}")
        license_class = self._licences(found.licence)
        released_on = self._day(release.date)
        counted = release.tender and release.tender.numberOfTenderers
        parties = Parties(release, self._judge)
        body, texts = self._served.cut(release, parties)
        tender = body.tender or _NO_TENDER
        value, period = tender.value or _NO_MONEY, tender.tenderPeriod or _NO_PERIOD
        row = ReleaseRow(
            source_ref=source_ref(self._document, found.place),
            license_class=license_class,
            available_at=min(released_on or self._observed_on, self._observed_on),
            publication=release_id,
            ocid=ocid,
            release_id=release_id,
            released_on=released_on,
            tag=self._tag(release.tag),
            category=tender.mainProcurementCategory,
            tender_status=tender.status,
            procurement_method=tender.procurementMethod,
            buyer_key=parties.buyer and parties.buyer.key,
            tender_value=fitting(value.amount, "tender.value.amount"),
            tender_currency=value.currency,
            tender_start=self._day(period.startDate),
            tender_end=self._day(period.endDate),
            number_of_tenderers=count(counted, "tender.numberOfTenderers"),
            parties_withheld=parties.withheld(),
            source_url=self._address(ocid),
        )
        self._columns.add(row, parties.roles)
        self._bodies.append(body)
        self._texts.append(texts)
        if len(self._bodies) == _TOGETHER:
            self._show()

    def _show(self) -> None:
        self._columns.show(self._served.shown(self._bodies, self._texts))
        self._bodies.clear()
        self._texts.clear()

    def _day(self, value: Any) -> date | None:
        return parse_day(value, self._portal, self._observed_on)

    def _address(self, ocid: str) -> str | None:
        form = self._portal.release_url
        return form.format(ocid=quote(ocid, safe="")) if form else None

    def _license(self, stated: str | None) -> LicenseClass:
        kind = license_of(stated) or self._portal.license_class
        if kind is None:
            raise Refused(f"no open licence is stated: {stated or 'nothing':.100}")
        if kind not in OPEN_CLASSES:
            raise Refused(f"the licence does not let us pass it on: {stated or kind:.100}")
        return kind

    def _tag(self, value: Any) -> str | None:
        tags = value if isinstance(value, list) else [value]
        shown = (self._served.codes[each] for each in tags if isinstance(each, str))
        return ",".join(filter(None, shown)) or None
