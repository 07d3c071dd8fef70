"""What the record writes about itself: the load ledger and the quarantine.

The rows of a load and its entry in the ledger are two commits. The first carries the entry
in its own metadata, so that a process killed between the two leaves nothing unknown: the
next writer settles the ledger from the commits.
"""

import hashlib
import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from importlib.metadata import version

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable
from deltalake.exceptions import CommitFailedError

from warehouse.errors import WriteConflict
from warehouse.record.rows import Rejected
from warehouse.record.schema import arrow_schema
from warehouse.record.store import Record, commit, loaded
from warehouse.record.tables import RecordTable
from warehouse.tables import LoadEntry, Quarantined

ENTRY = "sankofa.load"
TRIES = 50


def settle(record: Record, table: RecordTable) -> None:
    """Write the entries of loads that were committed and not yet entered."""
    delta = record.table(table.name)
    _enter(record, table.name, lambda done: _entries(delta, done, loaded(delta)))


def enter(record: Record, entry: LoadEntry) -> None:
    """Write the entry of one load; one that appended is entered once, by whoever comes first."""

    def missing(done: int) -> list[LoadEntry]:
        return [entry] if entry.load_seq > done or not _committed(entry) else []

    _enter(record, entry.table_name, missing)


def read_documents(record: Record, source: str, table: RecordTable) -> set[str]:
    """Give the documents of a source that this version of the code has loaded into a table."""
    held = record.table("loads").to_pyarrow_table(
        columns=["documents", "source", "table_name", "code_version"]
    )
    mine = pc.and_(
        pc.and_(pc.equal(held["source"], source), pc.equal(held["table_name"], table.name)),
        pc.equal(held["code_version"], code_version()),
    )
    return set(held.filter(mine)["documents"].combine_chunks().flatten().to_pylist())


def code_version() -> str:
    """Name the code that reads documents; a new one reads them all again."""
    return version("sankofa")


def quarantine(
    record: Record, table: RecordTable, source: str, load_id: str, rejected: Sequence[Rejected]
) -> None:
    """Keep what could not be read; the same refusal of the same place is kept once."""
    now = datetime.now(UTC)
    rows = {
        key: Quarantined(
            quarantine_id=key,
            table_name=table.name,
            source=source,
            document=each.document,
            source_ref=each.source_ref,
            reason=each.words,
            load_id=load_id,
            quarantined_at=now,
        )
        for each in rejected
        for key in [_refusal(table, each)]
    }
    for _ in range(TRIES):
        delta = record.table("quarantine")
        held = _held(record, delta, rows)
        new = [row for key, row in rows.items() if key not in held]
        if not new or _committed_rows(delta, new, {"quarantine": loaded(delta, "quarantine") + 1}):
            record.keep_small("quarantine")
            return
    raise WriteConflict("the quarantine: other writers kept winning; run the load again")


def _enter(record: Record, name: str, missing: Callable[[int], list[LoadEntry]]) -> None:
    for _ in range(TRIES):
        ledger = record.table("loads")
        done = loaded(ledger, name)
        entries = missing(done)
        # The entry of a load that found all held may be older than the newest entered.
        newest = max([done, *(entry.load_seq for entry in entries)])
        if not entries or _committed_rows(ledger, entries, {name: newest}):
            record.keep_small("loads")
            return
    raise WriteConflict("the ledger: other writers kept winning; run the load again")


def _committed_rows(
    delta: DeltaTable, rows: Sequence[LoadEntry] | Sequence[Quarantined], marks: dict[str, int]
) -> bool:
    schema = arrow_schema(type(rows[0]))
    try:
        commit(delta, pa.Table.from_pylist([row.model_dump() for row in rows], schema), marks)
    except CommitFailedError:
        return False
    return True


def _committed(entry: LoadEntry) -> bool:
    return entry.appended + entry.withdrawn > 0


def _entries(delta: DeltaTable, done: int, newest: int) -> list[LoadEntry]:
    if newest <= done:
        return []
    said = [json.loads(each[ENTRY]) for each in delta.history() if ENTRY in each]
    entries = [LoadEntry.model_validate(each) for each in said]
    return sorted((e for e in entries if e.load_seq > done), key=lambda e: e.load_seq)


def _held(record: Record, delta: DeltaTable, rows: dict[str, Quarantined]) -> set[str]:
    """Give the refusals held already, among those of the documents concerned."""
    documents = pa.array(sorted({row.document for row in rows.values()}))
    held = delta.to_pyarrow_table(columns=["quarantine_id", "document"])
    return set(held.filter(pc.is_in(held["document"], documents))["quarantine_id"].to_pylist())


def _refusal(table: RecordTable, each: Rejected) -> str:
    text = "\x1f".join((table.name, each.document, each.source_ref, each.reason))
    return hashlib.sha256(text.encode()).hexdigest()[:32]
