"""What was read but not accepted: rows in quarantine, and documents at which a parser failed."""

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable

from warehouse.record.erase import erasures
from warehouse.record.incoming import RejectedRow
from warehouse.record.relations import sql_text
from warehouse.record.store import (
    COMMIT_ATTEMPTS,
    Record,
    commit_entries,
    last_transaction,
    try_commit_entries,
)
from warehouse.record.tables import RecordTable
from warehouse.shared.data_files import sql_file
from warehouse.shared.errors import WriteConflict
from warehouse.tables.operations import FailureEntry, QuarantineEntry, RetryEntry, RetryOutcome

_SQL = sql_file(__name__, "own_tables")


class QuarantinedRow(QuarantineEntry):
    """One quarantined row; ``became`` is None until its document is read again."""

    became: RetryOutcome | None
    retried_at: datetime | None


@dataclass(frozen=True)
class QuarantineGroup:
    """Quarantined rows of one source and table with one reason; ``open`` were not read since."""

    source: str
    table_name: str
    reason: str
    records: int
    open: int
    documents: int
    last_quarantined_at: datetime
    example: str


def add_to_quarantine(
    record: Record, table: RecordTable, source: str, load_id: str, rejected: Sequence[RejectedRow]
) -> list[str]:
    """Quarantine rows and return the id of each; a row already there is not added again."""
    quarantined_at = datetime.now(UTC)
    ids = _quarantine_ids(table, rejected)
    entries = {
        quarantine_id: QuarantineEntry(
            quarantine_id=quarantine_id,
            table_name=table.name,
            source=source,
            document=row.document,
            source_ref=row.source_ref,
            reason=row.reason_with_row,
            load_id=load_id,
            quarantined_at=quarantined_at,
        )
        for quarantine_id, row in zip(ids, rejected, strict=True)
    }
    for _ in range(COMMIT_ATTEMPTS):
        delta = record.table("quarantine")
        stored = _stored_ids(delta, entries)
        # Before each attempt: one that fails may have failed because of an erasure.
        erased = {entry.document for entry in erasures(record)}
        new = [
            entry
            for entry in entries.values()
            if entry.quarantine_id not in stored and entry.document not in erased
        ]
        # The number makes two loads that quarantine at once conflict. The second compares again,
        # so that no id is stored twice.
        transactions = {"quarantine": last_transaction(delta, "quarantine") + 1}
        if not new or try_commit_entries(record, "quarantine", delta, new, transactions):
            return ids
    raise WriteConflict("the quarantine: other writers kept committing first; run the load again")


def add_retries(record: Record, retries: Sequence[RetryEntry]) -> None:
    """Record what became of quarantined rows whose documents were read again."""
    if retries:
        commit_entries(record, "retries", retries)


def quarantine_groups(
    record: Record, source: str | None = None, reason: str | None = None
) -> list[QuarantineGroup]:
    """Count quarantined rows by source, table and reason, the largest group first."""
    rows, condition = _quarantined(record), _condition(source, reason)
    groups = record.query(
        _SQL.statement("quarantine_groups", quarantined=rows, condition=condition)
    )
    return [QuarantineGroup(**group) for group in groups.to_pylist()]


def quarantined_rows(
    record: Record, source: str | None = None, reason: str | None = None
) -> list[QuarantinedRow]:
    """Return the quarantined rows of a source with a reason, or all, in order of arrival."""
    return _select_rows(record, _condition(source, reason))


def quarantined_with_id(record: Record, beginning: str) -> list[QuarantinedRow]:
    """Return the quarantined rows whose ids begin like this."""
    return _select_rows(record, f"starts_with(quarantine_id, {sql_text(beginning)})")


def _select_rows(record: Record, condition: str) -> list[QuarantinedRow]:
    rows = record.query(
        f"SELECT {', '.join(QuarantinedRow.model_fields)} FROM ({_quarantined(record)}) "
        f"WHERE {condition} ORDER BY quarantined_at, quarantine_id"
    )
    return [QuarantinedRow(**row) for row in rows.to_pylist()]


def _quarantined(record: Record) -> str:
    """Return the query of all quarantined rows, each with its last retry."""
    tables = {name: record.relation(name) for name in ("quarantine", "retries")}
    return _SQL.statement("quarantined", **tables)


def _condition(source: str | None, reason: str | None) -> str:
    conditions = ["TRUE"]
    if source is not None:
        conditions.append(f"source = {sql_text(source)}")
    if reason is not None:
        conditions.append(f"contains(lower(reason), {sql_text(reason.lower())})")
    return " AND ".join(conditions)


def _stored_ids(delta: DeltaTable, entries: dict[str, QuarantineEntry]) -> set[str]:
    """Return the ids already in the quarantine, among those of the same documents."""
    documents = pa.array(sorted({entry.document for entry in entries.values()}))
    stored = delta.to_pyarrow_table(columns=["quarantine_id", "document"])
    return set(stored.filter(pc.is_in(stored["document"], documents))["quarantine_id"].to_pylist())


def _quarantine_ids(table: RecordTable, rejected: Sequence[RejectedRow]) -> list[str]:
    """Return a hash of location and reason for each row; equal ones differ by their order."""
    counts: Counter[str] = Counter()
    ids = []
    for row in rejected:
        text = "\x1f".join((table.name, row.document, row.source_ref, row.reason))
        ids.append(hashlib.sha256(f"{text}\x1f{counts[text]}".encode()).hexdigest()[:32])
        counts[text] += 1
    return ids


# Documents at which a parser raised: a fault of ours, so they stay unread and are tried again.


def add_failures(record: Record, failures: Sequence[FailureEntry]) -> None:
    """Record failed attempts to read documents, but not those at documents erased meanwhile."""
    if not failures:
        return
    # An erasure deletes every file that no commit names: also one whose commit is still to come.
    for _ in range(COMMIT_ATTEMPTS):
        with record.shared():
            # Before each attempt: one that fails may have failed because of an erasure.
            delta = record.table("failures")
            erased = {entry.document for entry in erasures(record)}
            not_erased = [
                failure for failure in failures if failure.document.partition("-")[0] not in erased
            ]
            if not not_erased or try_commit_entries(record, "failures", delta, not_erased, {}):
                return
    raise WriteConflict("failures: other writers kept committing first; run the load again")


def sources_with_failures(record: Record) -> set[str]:
    """Return the sources whose parser ever failed, whether or not it was fixed since."""
    rows = record.query(f"SELECT DISTINCT source FROM {record.relation('failures')}")
    return set(rows["source"].to_pylist())


def last_failures(record: Record, source: str) -> dict[str, FailureEntry]:
    """Return the last failed attempt at each document of a source, by the document's key.

    A document that has been read since is among them: compare with the ledger.
    """
    columns = ", ".join(FailureEntry.model_fields)
    rows = record.query(
        f"SELECT {columns} FROM {record.relation('failures')} WHERE source = {sql_text(source)} "
        "QUALIFY row_number() OVER (PARTITION BY document ORDER BY failed_at DESC) = 1 "
        "ORDER BY failed_at, document"
    ).to_pylist()
    return {row["document"]: FailureEntry(**row) for row in rows}
