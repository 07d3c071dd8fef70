"""OCDS releases to rows: one of the release, one of each party in each of its roles."""

import os
from datetime import date
from typing import Any
from urllib.parse import quote

from assets.parsed import Parsed, provenance
from assets.tenders.bodies import Unread
from assets.tenders.documents import Found, releases
from assets.tenders.licences import license_of
from assets.tenders.parties import Parties
from assets.tenders.portals import PORTALS, Portal
from assets.tenders.served import Served
from assets.tenders.values import Refused, amount, count, day, fitting, ident, members, text
from quality.free_text import clean
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
    return parse_portal(document, body, portal, _withheld_key())


def parse_portal(document: Document, body: bytes, portal: Portal, key: bytes) -> Parsed:
    """Read every release; what cannot be kept is rejected with its place and the reason.

    ``key`` is the secret under which withheld parties are hashed.
    """
    parsed = Parsed()
    for found in releases(body):
        if isinstance(found, Unread):
            parsed.reject(TENDER_RELEASES, document, found.place, found.reason)
            continue
        try:
            row, parties = _rows(document, found, portal, key)
        except Refused as refusal:
            parsed.reject(TENDER_RELEASES, document, found.place, str(refusal))
        else:
            parsed.add(TENDER_RELEASES, [row])
            parsed.add(TENDER_PARTIES, parties)
    return parsed


def _withheld_key() -> bytes:
    return os.environ.get("SANKOFA_WITHHELD_KEY", "sankofa development").encode()


def _rows(
    document: Document, found: Found, portal: Portal, key: bytes
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    release, observed_on = found.release, document.observed_at.date()
    shared = _shared(document, found, portal)
    parties = Parties(release, portal, key)
    buyer = parties.of(release.get("buyer"))
    row = shared | _tender(members(release.get("tender")), portal, observed_on)
    row |= {
        "tag": _tag(release.get("tag")),
        "buyer_key": buyer.key if buyer else None,
        "release": Served(portal, observed_on, parties).release(release),
        "parties_withheld": parties.withheld(),
        "source_url": _address(portal, shared["ocid"]),
    }
    return row, _party_rows(shared, parties)


def _address(portal: Portal, ocid: str) -> str | None:
    return portal.release_url.format(ocid=quote(ocid, safe="")) if portal.release_url else None


def _shared(document: Document, found: Found, portal: Portal) -> dict[str, Any]:
    """Give what the row of a release and those of its parties have in common."""
    ocid, release_id = text(found.release.get("ocid")), ident(found.release.get("id"))
    if ocid is None or release_id is None:
        raise Refused(f"a release without {'an ocid' if ocid is None else 'an id'}")
    observed_on = document.observed_at.date()
    released_on = day(found.release.get("date"), portal, observed_on)
    return provenance(document, found.place, portal.method) | {
        "license_class": _license(found.licence, portal),
        "available_at": min(released_on or observed_on, observed_on),
        "publication": release_id,
        "ocid": ocid,
        "release_id": release_id,
        "country": portal.country,
        "released_on": released_on,
    }


def _license(stated: str | None, portal: Portal) -> LicenseClass:
    kind = license_of(stated) or portal.license_class
    if kind is None:
        raise Refused(f"no open licence is stated: {stated or 'nothing':.100}")
    if kind not in OPEN_CLASSES:
        raise Refused(f"the licence does not let us pass it on: {stated or kind:.100}")
    return kind


def _tender(tender: dict[str, Any], portal: Portal, latest: date) -> dict[str, Any]:
    value, period = members(tender.get("value")), members(tender.get("tenderPeriod"))
    exact = fitting(amount(value.get("amount"), portal), "tender.value.amount")
    return {
        "category": _code(tender.get("mainProcurementCategory")),
        "tender_status": _code(tender.get("status")),
        "procurement_method": _code(tender.get("procurementMethod")),
        "tender_value": exact,
        "tender_currency": None if exact is None else _code(value.get("currency")),
        "tender_start": day(period.get("startDate"), portal, latest),
        "tender_end": day(period.get("endDate"), portal, latest),
        "number_of_tenderers": count(tender.get("numberOfTenderers"), "tender.numberOfTenderers"),
    }


def _code(value: Any) -> str | None:
    found = text(value)
    return text(clean(found)) if found else None


def _tag(value: Any) -> str | None:
    tags = value if isinstance(value, list) else [value]
    return ",".join(tag for each in tags if (tag := _code(each))) or None


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
