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

    load_id: str = column("LoadEntry.load_id")
    table_name: str = column("LoadEntry.table_name")
    load_seq: int = column("LoadEntry.load_seq")
    source: str = column("LoadEntry.source")
    documents: list[str] = column("LoadEntry.documents")
    read: int = column("LoadEntry.read")
    appended: int = column("LoadEntry.appended")
    held: int = column("LoadEntry.held")
    quarantined: int = column("LoadEntry.quarantined")
    withdrawn: int = column("LoadEntry.withdrawn")
    code_version: str = column("LoadEntry.code_version")
    loaded_at: datetime = column("LoadEntry.loaded_at")
    parser_version: str | None = column("LoadEntry.parser_version", None)
    retracted: int | None = column("LoadEntry.retracted", None)


class FailureEntry(SQLModel):
    """One attempt to read a document at which the parser raised; the document stays unread."""

    document: str = column("FailureEntry.document")
    source: str = column("FailureEntry.source")
    url: str = column("FailureEntry.url")
    parser_version: str = column("FailureEntry.parser_version")
    error: str = column("FailureEntry.error")
    message: str | None = column("FailureEntry.message")
    location: str = column("FailureEntry.location")
    appended: int = column("FailureEntry.appended")
    code_version: str = column("FailureEntry.code_version")
    failed_at: datetime = column("FailureEntry.failed_at")


class QuarantineEntry(SQLModel):
    """One row that was read but not accepted, with its location and the reason."""

    quarantine_id: str = column("QuarantineEntry.quarantine_id")
    table_name: str = column("QuarantineEntry.table_name")
    source: str = column("QuarantineEntry.source")
    document: str = column("QuarantineEntry.document")
    source_ref: str = column("QuarantineEntry.source_ref")
    reason: str = column("QuarantineEntry.reason")
    load_id: str = column("QuarantineEntry.load_id")
    quarantined_at: datetime = column("QuarantineEntry.quarantined_at")


RetryOutcome = Literal[
    "read", "refused again", "refused otherwise", "not landed", "failed", "body removed"
]


class RetryEntry(SQLModel):
    """What became of one quarantined row when its document was read again."""

    quarantine_id: str = column("RetryEntry.quarantine_id")
    became: RetryOutcome = column("RetryEntry.became")
    code_version: str = column("RetryEntry.code_version")
    retried_at: datetime = column("RetryEntry.retried_at")


class VersionEntry(SQLModel):
    """How much of one table a published data_version includes."""

    data_version: str = column("VersionEntry.data_version")
    table_name: str = column("VersionEntry.table_name")
    load_seq: int = column("VersionEntry.load_seq")
    published_at: datetime = column("VersionEntry.published_at")


WithheldKind = Literal["party", "document", "row"]
WithheldBy = Literal["name", "party_key", "service_id", "document", "sighting", "process"]


class WithheldEntry(SQLModel):
    """A tombstone: what no later build may contain; or its release, entered after it."""

    withheld_id: str = column("WithheldEntry.withheld_id")
    kind: WithheldKind = column("WithheldEntry.kind")
    by: WithheldBy = column("WithheldEntry.by")
    subject: str = column("WithheldEntry.subject")
    key_check: str | None = column("WithheldEntry.key_check")
    why: str = column("WithheldEntry.why")
    who: str = column("WithheldEntry.who")
    released: bool = column("WithheldEntry.released")
    entered_at: datetime = column("WithheldEntry.entered_at")


class ErasedEntry(SQLModel):
    """A document whose bytes were removed, with or without its rows; nothing of its content."""

    document: str = column("ErasedEntry.document")
    source: str = column("ErasedEntry.source")
    first_observed_at: datetime = column("ErasedEntry.first_observed_at")
    data_versions: list[str] = column("ErasedEntry.data_versions")
    why: str = column("ErasedEntry.why")
    who: str = column("ErasedEntry.who")
    erased_at: datetime = column("ErasedEntry.erased_at")
    kept_days: int | None = column("ErasedEntry.kept_days")


QualityStatus = Literal["PASS", "FAIL", "UNMEASURED"]


class QualityMetric(SQLModel):
    """One quality measurement of one dataset in one build, against its floor."""

    sku: str = column("QualityMetric.sku", identity=2)
    dimension: str = column("QualityMetric.dimension", identity=3)
    metric: str = column("QualityMetric.metric", identity=4)
    scope: str = column("QualityMetric.scope", identity=5)
    value: Decimal | None = column("QualityMetric.value")
    unit: str = column("QualityMetric.unit")
    floor: Decimal | None = column("QualityMetric.floor")
    status: QualityStatus = column("QualityMetric.status")
    n_checked: int | None = column("QualityMetric.n_checked")
    n_passed: int | None = column("QualityMetric.n_passed")
    measured_at: datetime = column("QualityMetric.measured_at")
    data_version: str = column("QualityMetric.data_version", identity=1)
