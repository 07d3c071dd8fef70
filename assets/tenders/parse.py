"""OCDS releases to rows: one of the release, one of each party in each of its roles."""

import os
from functools import lru_cache
from typing import Any
from urllib.parse import quote

from assets.parsed import Parsed, provenance, source_ref
from assets.tenders.bodies import Unread
from assets.tenders.documents import Found, releases
from assets.tenders.judge import Judge
from assets.tenders.licences import license_of
from assets.tenders.parties import Parties
from assets.tenders.portals import PORTALS, Portal
from assets.tenders.served import Served, shown_text
from assets.tenders.shapes import Money, Period, Tender
from assets.tenders.values import Refused, count, day, fitting, ident, text
from warehouse.landing import Document
from warehouse.record.tables import TENDER_PARTIES, TENDER_RELEASES
from warehouse.tables import OPEN_CLASSES, LicenseClass


def parse(document: Document, body: bytes) -> Parsed:
    """Read a document of a portal in the table of portals."""
    portal = PORTALS.get(document.source)
    if portal is None:
        parsed = Parsed()
        parsed.reject(TENDER_RELEASES, document, "", f"{document.source}: no such portal")
        return parsed
    return parse_portal(document, body, portal, withheld_key())


def parse_portal(document: Document, body: bytes, portal: Portal, key: bytes) -> Parsed:
    """Read every release; what cannot be kept is rejected with its place and the reason.

    ``key`` is the secret under which withheld parties are hashed.
    """
    parsed, reader = Parsed(), Reader(document, portal, key)
    for found in releases(body):
        reader.read(found, parsed)
    return parsed


def withheld_key() -> bytes:
    """Give the secret under which withheld parties are hashed."""
    return os.environ.get("SANKOFA_WITHHELD_KEY", "sankofa development").encode()


class Reader:
    """The rows of the releases of one document."""

    def __init__(self, document: Document, portal: Portal, key: bytes) -> None:
        self._document = document
        self._portal = portal
        self._observed_on = document.observed_at.date()
        self._judge = Judge(portal, key)
        self._served = Served(portal, self._observed_on)
        self._provenance = provenance(document, "", portal.method)
        self._licences = lru_cache(maxsize=256)(self._license)

    def read(self, found: Found | Unread, parsed: Parsed) -> None:
        """Add the rows of a release, or say why it has none."""
        if isinstance(found, Unread):
            parsed.reject(TENDER_RELEASES, self._document, found.place, found.reason)
            return
        try:
            row, parties = self._rows(found)
        except Refused as refusal:
            parsed.reject(TENDER_RELEASES, self._document, found.place, str(refusal))
        else:
            parsed.add(TENDER_RELEASES, (row,))
            parsed.add(TENDER_PARTIES, parties)

    def _rows(self, found: Found) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        release = found.release
        shared = self._shared(found)
        parties = Parties(release, self._judge)
        buyer = parties.of(release.buyer)
        counted = release.tender and release.tender.numberOfTenderers
        served = self._served.release(release, parties)
        row = shared | self._tender(release.tender or Tender(), counted)
        row["tag"] = _tag(release.tag)
        row["buyer_key"] = buyer.key if buyer else None
        row["release"] = served
        row["parties_withheld"] = parties.withheld()
        row["source_url"] = self._address(shared["ocid"])
        return row, _party_rows(shared, parties)

    def _address(self, ocid: str) -> str | None:
        form = self._portal.release_url
        return form.format(ocid=quote(ocid, safe="")) if form else None

    def _shared(self, found: Found) -> dict[str, Any]:
        """Give what the row of a release and those of its parties have in common."""
        ocid, release_id = text(found.release.ocid), ident(found.release.id)
        if ocid is None or release_id is None:
            raise Refused(f"a release without {'an ocid' if ocid is None else 'an id'}")
        released_on = day(found.release.date, self._portal, self._observed_on)
        return self._provenance | {
            "source_ref": source_ref(self._document, found.place),
            "license_class": self._licences(found.licence),
            "available_at": min(released_on or self._observed_on, self._observed_on),
            "publication": release_id,
            "ocid": ocid,
            "release_id": release_id,
            "country": self._portal.country,
            "released_on": released_on,
        }

    def _license(self, stated: str | None) -> LicenseClass:
        kind = license_of(stated) or self._portal.license_class
        if kind is None:
            raise Refused(f"no open licence is stated: {stated or 'nothing':.100}")
        if kind not in OPEN_CLASSES:
            raise Refused(f"the licence does not let us pass it on: {stated or kind:.100}")
        return kind

    def _tender(self, served: Tender, counted: Any) -> dict[str, Any]:
        """Give the columns of a tender, of which only what is served is left."""
        value, period = served.value or Money(), served.tenderPeriod or Period()
        return {
            "category": served.mainProcurementCategory,
            "tender_status": served.status,
            "procurement_method": served.procurementMethod,
            "tender_value": fitting(value.amount, "tender.value.amount"),
            "tender_currency": value.currency,
            "tender_start": day(period.startDate, self._portal, self._observed_on),
            "tender_end": day(period.endDate, self._portal, self._observed_on),
            "number_of_tenderers": count(counted, "tender.numberOfTenderers"),
        }


def _tag(value: Any) -> str | None:
    tags = value if isinstance(value, list) else [value]
    return ",".join(tag for each in tags if (tag := shown_text(each))) or None


def _party_rows(shared: dict[str, Any], parties: Parties) -> list[dict[str, Any]]:
    return [
        shared
        | {
            "party_key": party.key,
            "role": role,
            "name": party.name,
            "identifier_scheme": party.scheme,
            "identifier_id": party.identifier,
            "org_evidence": party.evidence,
        }
        for party, role in parties.rows()
    ]
