"""Public procurement: releases as portals publish them, and the parties they name."""

from datetime import date
from decimal import Decimal
from typing import Literal

from warehouse.tables.column import column
from warehouse.tables.sighting import EvidencedSighting

# The codes of OCDS and its profiles. A portal may declare further words for its parties.
Role = Literal[
    "buyer",
    "procuringEntity",
    "supplier",
    "tenderer",
    "funder",
    "enquirer",
    "payer",
    "payee",
    "reviewBody",
    "interestedParty",
    "invitedTenderer",
    "candidate",
    "administrativeEntity",
    "centralPurchasingBody",
    "contractImplementationManager",
    "mediationBody",
    "processContactPoint",
    "reviewContactPoint",
    "informationService",
    "privateParty",
    "leadBank",
    "lender",
    "equityInvestor",
    "notifiedPotentialSupplier",
    "wholesaleBuyer",
]


class TenderRelease(EvidencedSighting):
    """One OCDS release, as a portal showed it."""

    ocid: str = column("TenderRelease.ocid", identity=1)
    release_id: str = column("TenderRelease.release_id", identity=2)
    country: str = column("TenderRelease.country", after="tag")
    released_on: date | None = column("TenderRelease.released_on", content=True, shown_as="date")
    released_at: str | None = column("TenderRelease.released_at", None)
    tag: str | None = column("TenderRelease.tag", content=True)
    category: str | None = column("TenderRelease.category")
    tender_status: str | None = column("TenderRelease.tender_status", appears="file")
    procurement_method: str | None = column("TenderRelease.procurement_method", appears="file")
    buyer_key: str | None = column("TenderRelease.buyer_key", appears="table")
    tender_value: Decimal | None = column("TenderRelease.tender_value", appears="file")
    tender_currency: str | None = column("TenderRelease.tender_currency", appears="file")
    tender_start: date | None = column("TenderRelease.tender_start", appears="file")
    tender_end: date | None = column("TenderRelease.tender_end", appears="file")
    number_of_tenderers: int | None = column("TenderRelease.number_of_tenderers", appears="file")
    release: str | None = column("TenderRelease.release", content=True, appears="file")
    joint_bids: int | None = column("TenderRelease.joint_bids", None, appears="file")
    numbers_as_text: int | None = column("TenderRelease.numbers_as_text", None, appears="file")
    parties_withheld: int = column("TenderRelease.parties_withheld")
    withheld_names: str | None = column("TenderRelease.withheld_names", None, appears="table")
    source_url: str | None = column("TenderRelease.source_url", part="origin")


class TenderReleaseVintage(TenderRelease):
    """A release with what only a comparison with the releases before it shows."""

    implausible: list[str] | None = column("TenderReleaseVintage.implausible", None)


class TenderParty(EvidencedSighting):
    """One party in one role in one release; a withheld party has a keyed hash instead of a name."""

    ocid: str = column("TenderParty.ocid", identity=1, appears="file")
    release_id: str = column("TenderParty.release_id", identity=2, appears="file")
    country: str = column("TenderParty.country")
    party_key: str = column("TenderParty.party_key", identity=3, appears="table")
    role: str = column("TenderParty.role", identity=4)
    name: str | None = column("TenderParty.name", content=True)
    identifier_scheme: str | None = column(
        "TenderParty.identifier_scheme", content=True, appears="file"
    )
    identifier_id: str | None = column("TenderParty.identifier_id", content=True, appears="file")
    org_evidence: str | None = column("TenderParty.org_evidence", content=True)
    released_on: date | None = column("TenderParty.released_on", appears="file")
