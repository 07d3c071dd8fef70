"""What the record writes about itself: loads, the quarantine, retries, published versions."""

from datetime import datetime
from decimal import Decimal
from typing import Literal

from sqlmodel import SQLModel

from warehouse.tables.sighting import column


class LoadEntry(SQLModel):
    """One load into one table: read = appended + held + quarantined."""

    load_id: str = column("Id of the load.", "20261114T021000-3f9a")
    table_name: str = column("Table of the record.", "fundamentals")
    load_seq: int = column("The table's sequence number after this load.", 12)
    source: str = column("Key of the source.", "sec-companyfacts")
    documents: list[str] = column(
        "Key of each document read: its SHA-256 and a mark of its address.", ["9f86d0…"]
    )
    read: int = column("Records read.", 200)
    appended: int = column("Sightings appended.", 20)
    held: int = column("Records recognised as held.", 178)
    quarantined: int = column("Records quarantined.", 2)
    withdrawn: int = column("Figures withdrawn by appending, beside what was read.", 0)
    code_version: str = column("Version of the code that read them.", "0.1.0")
    loaded_at: datetime = column("When the load was committed, in UTC.", "2026-11-14T02:10:04Z")


class QuarantineEntry(SQLModel):
    """One record that was read and not understood, with where it is and why."""

    quarantine_id: str = column(
        "Hash of table, place and reason: the same refusal is kept once.",
        "5d41402abc4b2a76b9719d911017c592",
    )
    table_name: str = column("Table it was meant for.", "fundamentals")
    source: str = column("Key of the source.", "sec-companyfacts")
    document: str = column("SHA-256 of the document.", "9f86d0…")
    source_ref: str = column(
        "Document plus location of the record.", "https://example.org/facts.json#/facts/3"
    )
    reason: str = column("Why, in words.", "period_end: 2922-12-31 is not a date we can believe")
    load_id: str = column("Load that met it first.", "20261114T021000-3f9a")
    quarantined_at: datetime = column("When it was quarantined, in UTC.", "2026-11-14T02:10:04Z")


RetryOutcome = Literal["read", "refused again", "refused otherwise", "not landed"]


class RetryEntry(SQLModel):
    """What became of one quarantined record when its document was read again."""

    quarantine_id: str = column("The quarantined record.", "5d41402abc4b2a76b9719d911017c592")
    became: RetryOutcome = column("What became of it.", "read")
    code_version: str = column("Version of the code that read it again.", "0.1.0")
    retried_at: datetime = column("When it was read again, in UTC.", "2026-11-14T02:10:04Z")


class VersionEntry(SQLModel):
    """How much of one table a published data_version had seen."""

    data_version: str = column("YYYYMMDD.n, rising.", "20261114.3")
    table_name: str = column("Table of the record.", "fundamentals")
    load_seq: int = column("Last sequence number it had seen.", 12)
    published_at: datetime = column("When it was published, in UTC.", "2026-11-14T02:20:00Z")


QualityStatus = Literal["PASS", "FAIL", "UNMEASURED"]


class QualityMetric(SQLModel):
    """One measurement of one dataset in one publication; what was not measured says so."""

    sku: str = column("Dataset: AF-FUND, AF-TENDER or AF-MACRO.", "AF-FUND")
    dimension: str = column("completeness, uniqueness, freshness, coverage …", "completeness")
    metric: str = column("What is measured.", "provenance_complete")
    scope: str = column("Of what: a table, a source, a country.", "fundamentals")
    value: Decimal | None = column(
        "What was measured; null where nothing was, served as UNMEASURED.", Decimal(1)
    )
    unit: str = column("share, days, rows …", "share")
    floor: Decimal | None = column("The least (or most) that passes; null where none is set.", 1)
    status: QualityStatus = column("PASS, FAIL, or UNMEASURED, which is never a pass.", "PASS")
    n_checked: int | None = column("Rows looked at.", 1000)
    n_passed: int | None = column("Rows that passed.", 1000)
    measured_at: datetime = column("When, in UTC.", "2026-11-14T02:20:00Z")
    data_version: str = column("Publication it was measured for.", "20261114.3")
