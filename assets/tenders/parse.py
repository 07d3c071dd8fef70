"""OCDS releases to rows: one of the release, one of each party in each of its roles."""

from datetime import date
from functools import lru_cache
from typing import Any
from urllib.parse import quote

from assets.parsing.parsed import Parsed, provenance, source_ref
from assets.tenders.code_lists import unlisted_reason
from assets.tenders.columns import ReleaseColumns
from assets.tenders.json_values import Unreadable
from assets.tenders.ocds import OcdsMoney, OcdsPeriod, OcdsTender, PublicRelease
from assets.tenders.parties import Parties, party_checker
from assets.tenders.portals import Portal, license_of
from assets.tenders.redact import Redactor
from assets.tenders.releases import LocatedRelease, releases_in
from assets.tenders.values import ReleaseRefused, count, ident, parse_day, text
from warehouse.public_urls import is_fictional
from warehouse.record.landing import Document
from warehouse.record.tables import TENDER_RELEASES
from warehouse.tables import OPEN_CLASSES, LicenseClass

# Releases whose texts are searched for contacts in one call.
_SEARCHED_TOGETHER = 2_000
_NO_TENDER, _NO_MONEY, _NO_PERIOD = OcdsTender(), OcdsMoney(), OcdsPeriod()


def parse_portal(document: Document, body: bytes, portal: Portal, key: bytes) -> Parsed:
    """Parse every release; one that cannot be stored is rejected with its location and reason.

    ``key`` is the secret under which withheld parties are hashed.
    """
    reader = ReleaseReader(document, portal, key)
    for item in releases_in(body):
        reader.read(item)
    return reader.parsed()


class ReleaseReader:
    """Turns the releases of one document into rows."""

    def __init__(self, document: Document, portal: Portal, key: bytes) -> None:
        self._document = document
        self._portal = portal
        self._observed_on = document.observed_at.date()
        # The portal has no page of a release of the sample world.
        self._release_page = None if is_fictional(document.url) else portal.release_url
        self._party_checker = party_checker(portal, key)
        self._redactor = Redactor(portal, self._observed_on)
        self._columns = ReleaseColumns(
            provenance(document, "", portal.method) | {"country": portal.country}
        )
        # Many packages state the same licence.
        self._licences = lru_cache(maxsize=256)(self._license)
        self._parsed = Parsed()
        # For each member with values that are no code: the first release, and their number.
        self._unlisted: dict[str, tuple[str, int]] = {}
        self._bodies: list[PublicRelease] = []
        self._texts: list[str] = []

    def read(self, item: LocatedRelease | Unreadable) -> None:
        """Add the rows of a release, or the reason why it has none."""
        if isinstance(item, Unreadable):
            self._reject(item.location, item.reason)
            return
        try:
            self._add(item)
        except ReleaseRefused as refusal:
            self._reject(item.location, str(refusal))

    def parsed(self) -> Parsed:
        """Return what was read since the last call."""
        self._redact_texts()
        # Once a member: a portal may write its own words in each of a million releases.
        for member, (first, number) in self._unlisted.items():
            self._reject(first, unlisted_reason(member, number), partial=True)
        self._unlisted.clear()
        parsed, self._parsed = self._parsed, Parsed()
        self._columns.flush(parsed)
        return parsed

    def _reject(self, location: str, reason: str, *, partial: bool = False) -> None:
        self._parsed.reject(TENDER_RELEASES, self._document, location, reason, partial=partial)

    def _add(self, item: LocatedRelease) -> None:
        release = item.release
        ocid, release_id = text(release.ocid), ident(release.id)
        if ocid is None or release_id is None:
            raise ReleaseRefused(f"a release without {'an ocid' if ocid is None else 'an id'}")
        license_class = self._licences(item.licence)
        released_on = self._day(release.date)
        parties = Parties(release, self._party_checker)
        body, texts, numbers = self._redactor.redact(release, parties)
        tender = body.tender or _NO_TENDER
        value, period = tender.value or _NO_MONEY, tender.tenderPeriod or _NO_PERIOD
        row = {
            "source_ref": source_ref(self._document, item.location),
            "license_class": license_class,
            # Never after the day it was read: it was public then.
            "available_at": min(released_on or self._observed_on, self._observed_on),
            "publication": release_id,
            "ocid": ocid,
            "release_id": release_id,
            "released_on": released_on,
            "released_at": None if released_on is None else release.date,
            "tag": self._redactor.tags(release.tag),
            "category": tender.mainProcurementCategory,
            "tender_status": tender.status,
            "procurement_method": tender.procurementMethod,
            "buyer_key": parties.buyer and parties.buyer.key,
            "tender_value": value.amount,
            "tender_currency": value.currency,
            "tender_start": self._day(period.startDate),
            "tender_end": self._day(period.endDate),
            "number_of_tenderers": count(tender.numberOfTenderers),
            "joint_bids": parties.joint_bids,
            "numbers_as_text": numbers.as_text,
            "parties_withheld": parties.withheld(),
            "withheld_names": "\n".join(sorted(parties.withheld_names)) or None,
            "source_url": self._release_url(ocid),
        }
        for reason in (*item.misplaced, *numbers.unread):
            self._reject(item.location, reason, partial=True)
        for member in self._redactor.unlisted:
            first, before = self._unlisted.get(member, (item.location, 0))
            self._unlisted[member] = first, before + 1
        self._columns.add(row, parties.roles)
        self._bodies.append(body)
        self._texts.append(texts)
        if len(self._bodies) == _SEARCHED_TOGETHER:
            self._redact_texts()

    def _redact_texts(self) -> None:
        self._columns.add_json(self._redactor.encode(self._bodies, self._texts))
        self._bodies.clear()
        self._texts.clear()

    def _day(self, value: Any) -> date | None:
        return parse_day(value, self._portal, self._observed_on)

    def _release_url(self, ocid: str) -> str | None:
        template = self._release_page
        return template.format(ocid=quote(ocid, safe="")) if template else None

    def _license(self, licence_text: str | None) -> LicenseClass:
        license_class = license_of(licence_text) or self._portal.license_class
        if license_class is None:
            raise ReleaseRefused(f"no open licence is stated: {licence_text or 'nothing':.100}")
        if license_class not in OPEN_CLASSES:
            raise ReleaseRefused(
                f"the licence does not let us pass it on: {licence_text or license_class:.100}"
            )
        return license_class
