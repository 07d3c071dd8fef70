"""What the record keeps about itself: loads, failures, quarantine, versions, quality, withheld.

The names of columns and the words of ``RetryOutcome`` and ``WithheldBy`` are stored in every
record.
"""

from datetime import datetime
from decimal import Decimal
from typing import Literal

from sqlmodel import SQLModel

from warehouse.tables.column import column


class LoadEntry(SQLModel):
    """The ledger entry of one load into one table: read = appended + held + quarantined."""

    load_id: str = column("Id of the load.", "20261114T021000-3f9a")
    table_name: str = column("Table of the record.", "fundamentals")
    load_seq: int = column("The table's sequence number after this load.", 12)
    source: str = column("Key of the source.", "sec-companyfacts")
    documents: list[str] = column(
        "Key of each document read: its SHA-256, a hash of its URL, and when it was observed.",
        ["9f86d0…"],
    )
    read: int = column("Records read.", 200)
    appended: int = column("Sightings appended.", 20)
    held: int = column("Records that the table had already.", 178)
    quarantined: int = column("Records quarantined.", 2)
    withdrawn: int = column("Figures withdrawn, in addition to what was read.", 0)
    code_version: str = column("Version of the code that read them.", "1.0.0")
    loaded_at: datetime = column("When the load was committed, in UTC.", "2026-11-14T02:10:04Z")
    parser_version: str | None = column("Version of the parser that read the documents.", "1", None)
    retracted: int | None = column(
        "Rows of an earlier reading of the documents that newer code no longer reads.",
        0,
        None,
    )


class FailureEntry(SQLModel):
    """One attempt to read a document at which the parser raised; the document stays unread."""

    document: str = column(
        "Key of the document: its SHA-256, a hash of its URL, and when it was observed.", "9f86d0…"
    )
    source: str = column("Key of the source.", "sec-companyfacts")
    url: str = column("URL of the document.", "https://example.org/facts.json")
    parser_version: str = column("Version of the parser that raised.", "1")
    error: str = column("Class of the exception.", "KeyError")
    message: str | None = column(
        "Its message; null if documents of the source can hold personal data.", "'facts'"
    )
    location: str = column(
        "Where in our code it was raised.", "assets/filings/companyfacts.py:88 in parse"
    )
    appended: int = column("Sightings of the document that had been appended by then.", 0)
    code_version: str = column("Version of the release that raised.", "1.0.0")
    failed_at: datetime = column("When it was raised, in UTC.", "2026-11-14T02:10:04Z")


class QuarantineEntry(SQLModel):
    """One row that was read but not accepted, with its location and the reason."""

    quarantine_id: str = column(
        "Hash of table, location and reason: the same rejection is stored once.",
        "5d41402abc4b2a76b9719d911017c592",
    )
    table_name: str = column("Table it was meant for.", "fundamentals")
    source: str = column("Key of the source.", "sec-companyfacts")
    document: str = column("SHA-256 of the document.", "9f86d0…")
    source_ref: str = column(
        "Document and location of the row.", "https://example.org/facts.json#/facts/3"
    )
    reason: str = column(
        "Why it was not accepted.",
        "period_end: 2922-12-31 is not a date between 1800-01-01 and 2199-12-31",
    )
    load_id: str = column("The first load that read it.", "20261114T021000-3f9a")
    quarantined_at: datetime = column("When it was quarantined, in UTC.", "2026-11-14T02:10:04Z")


RetryOutcome = Literal[
    "read", "refused again", "refused otherwise", "not landed", "failed", "body removed"
]


class RetryEntry(SQLModel):
    """What became of one quarantined row when its document was read again."""

    quarantine_id: str = column("The quarantined row.", "5d41402abc4b2a76b9719d911017c592")
    became: RetryOutcome = column("What became of it.", "read")
    code_version: str = column("Version of the code that read it again.", "1.0.0")
    retried_at: datetime = column("When it was read again, in UTC.", "2026-11-14T02:10:04Z")


class VersionEntry(SQLModel):
    """How much of one table a published data_version includes."""

    data_version: str = column("YYYYMMDD.n, increasing.", "20261114.3")
    table_name: str = column("Table of the record.", "fundamentals")
    load_seq: int = column("Number of the last load it includes.", 12)
    published_at: datetime = column("When it was published, in UTC.", "2026-11-14T02:20:00Z")


WithheldKind = Literal["party", "document", "row"]
WithheldBy = Literal["name", "party_key", "service_id", "document", "sighting", "process"]


class WithheldEntry(SQLModel):
    """A tombstone: what no later build may contain; or its release, entered after it."""

    withheld_id: str = column(
        "Hash of what is withheld: the same thing has one id.", "5d41402abc4b2a76b9719d911017c592"
    )
    kind: WithheldKind = column("What an operator withheld.", "party")
    by: WithheldBy = column("How it is recognised in the rows of the record.", "name")
    subject: str = column(
        "What it is recognised by. The name or the key of a party is a keyed hash, so that the "
        "list of withheld people names none of them.",
        "9f86d081884c7d659a2feaa0c55ad015",
    )
    key_check: str | None = column(
        "Identifies the key of the hash; null if nothing is hashed.", "1b4f0e98"
    )
    why: str = column("Reason that the operator gave.", "reported as a private person")
    who: str = column("User who entered it.", "operator")
    released: bool = column("True if this entry releases what an earlier one withheld.", False)
    entered_at: datetime = column("When it was entered, in UTC.", "2026-11-14T02:10:04Z")


class ErasedEntry(SQLModel):
    """A document whose bytes were removed, with or without its rows; nothing of its content."""

    document: str = column("SHA-256 of the document.", "9f86d0…")
    source: str = column("Key of the source.", "za-etenders")
    first_observed_at: datetime = column(
        "When we first read it: documents observed from then on are read again.",
        "2026-11-14T02:10:00Z",
    )
    data_versions: list[str] = column(
        "Versions that contained rows of it, and were withdrawn.", ["20261114.3"]
    )
    why: str = column("Reason that the operator gave.", "request of the person concerned")
    who: str = column("User who erased it.", "operator")
    erased_at: datetime = column("When it was erased, in UTC.", "2026-11-14T02:10:04Z")
    kept_days: int | None = column(
        "Days after which its body alone was removed, and its rows stay; null if all was erased.",
        90,
    )


QualityStatus = Literal["PASS", "FAIL", "UNMEASURED"]


class QualityMetric(SQLModel):
    """One quality measurement of one dataset in one build, against its floor."""

    sku: str = column("Dataset: AF-FUND, AF-TENDER or AF-MACRO.", "AF-FUND", identity=2)
    dimension: str = column(
        "completeness, uniqueness, freshness, coverage …", "completeness", identity=3
    )
    metric: str = column("What is measured.", "provenance_complete", identity=4)
    scope: str = column(
        "What it is measured on: a table, a source, a country.", "fundamentals", identity=5
    )
    value: Decimal | None = column(
        "Measured value; null if there is none, served as UNMEASURED.", Decimal(1)
    )
    unit: str = column("share, days, rows …", "share")
    floor: Decimal | None = column("Threshold, a minimum or a maximum; null if none is set.", 1)
    status: QualityStatus = column("PASS, FAIL, or UNMEASURED, which is never a pass.", "PASS")
    n_checked: int | None = column("Rows checked.", 1000)
    n_passed: int | None = column("Rows that passed.", 1000)
    measured_at: datetime = column("When it was measured, in UTC.", "2026-11-14T02:20:00Z")
    data_version: str = column("Build it was measured for.", "20261114.3", identity=1)
