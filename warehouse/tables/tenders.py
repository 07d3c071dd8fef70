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

    ocid: str = column(
        "Open Contracting process id, as published.", "ocds-9t57fa-100001", identity=1
    )
    release_id: str = column(
        "Id of the release within its process.", "ocds-9t57fa-100001-tender", identity=2
    )
    country: str = column("ISO 3166-1 alpha-2 code of the portal's country.", "ZA", after="tag")
    released_on: date | None = column(
        "Day of the release in UTC, from the moment that the portal states.",
        "2026-03-02",
        content=True,
        shown_as="date",
    )
    released_at: str | None = column(
        "Date and time of the release exactly as the portal writes them.",
        "2026-03-02T09:30:00+02:00",
        None,
    )
    tag: str | None = column("OCDS release tags, joined by a comma.", "tender", content=True)
    category: str | None = column("Category as published by the portal.", "works")
    tender_status: str | None = column("OCDS status of the tender.", "active", appears="file")
    procurement_method: str | None = column("OCDS procurement method.", "open", appears="file")
    buyer_key: str | None = column(
        "Key of the buyer among the release's parties.", "ZA-NT-0042", appears="table"
    )
    tender_value: Decimal | None = column(
        "Estimated value; null if the portal does not state one.",
        Decimal("1500000.00"),
        appears="file",
    )
    tender_currency: str | None = column(
        "ISO 4217 code of the estimated value.", "ZAR", appears="file"
    )
    tender_start: date | None = column(
        "First day of the submission period, as the portal writes it.", "2026-03-02", appears="file"
    )
    tender_end: date | None = column(
        "Last day of the submission period, as the portal writes it.", "2026-04-02", appears="file"
    )
    number_of_tenderers: int | None = column(
        "Number of tenderers as stated; null if the portal does not state it.", 3, appears="file"
    )
    release: str | None = column(
        "The members of the release that may be served, as JSON with exact digits; "
        "personal data and contacts are removed.",
        '{"tender":{"title":"Road works"}}',
        content=True,
        appears="file",
    )
    joint_bids: int | None = column(
        "Number of tenderers listed, if one of them is several firms, whose bid counts once; "
        "null if each is one party.",
        None,
        None,
        appears="file",
    )
    numbers_as_text: int | None = column(
        "Amounts and other numbers that the portal writes as text and that were read.",
        0,
        None,
        appears="file",
    )
    parties_withheld: int = column("Parties not established to be organisations.", 0)
    withheld_names: str | None = column(
        "Names of these parties, encrypted: no text of the process may contain one.",
        None,
        None,
        appears="table",
    )
    source_url: str | None = column(
        "Address of the release at the portal.",
        "https://example.org/ocds/releases/100001",
        part="origin",
    )


class TenderReleaseVintage(TenderRelease):
    """A release with what only a comparison with the releases before it shows."""

    implausible: list[str] | None = column(
        "Paths of the numbers in the release that cannot be: a count of tenderers above 1,000, an "
        "amount that is not positive or far above all others of its portal. They are as the "
        "portal states them, and count in no panel and no fact. Null if there are none.",
        ["awards[0].value.amount"],
        None,
    )


class TenderParty(EvidencedSighting):
    """One party in one role in one release; a withheld party has a keyed hash instead of a name."""

    ocid: str = column("Open Contracting process id.", "ocds-9t57fa-1", identity=1, appears="file")
    release_id: str = column(
        "Id of the release that names the party.",
        "ocds-9t57fa-1-award",
        identity=2,
        appears="file",
    )
    country: str = column("ISO 3166-1 alpha-2 code of the portal's country.", "ZA")
    party_key: str = column(
        "The party's key: its identifier, its portal id, or the keyed hash of a withheld one.",
        "ZA-CIP:2001/123456/07",
        identity=3,
        appears="table",
    )
    role: str = column("buyer, supplier, tenderer …", "buyer", identity=4)
    name: str | None = column(
        "Name as published; null if the party is withheld.",
        "Mzansi Fictional Roads (Pty) Ltd",
        content=True,
    )
    identifier_scheme: str | None = column(
        "Scheme of the identifier.", "ZA-CIP", content=True, appears="file"
    )
    identifier_id: str | None = column(
        "Identifier in that scheme.", "2001/123456/07", content=True, appears="file"
    )
    org_evidence: str | None = column(
        "Evidence that it is an organisation; null if withheld.",
        "legal_form:(pty) ltd",
        content=True,
    )
    released_on: date | None = column("Day of the release in UTC.", "2026-03-02", appears="file")
