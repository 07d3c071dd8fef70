"""What the record writes about itself: the load ledger and the quarantine.

The rows of a load and its entry in the ledger are two commits. The first carries the entry
in its own metadata, so that a process killed between the two leaves nothing unknown: the
next writer settles the ledger from the commits.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable
from deltalake.exceptions import CommitFailedError

from warehouse.errors import WriteConflict
from warehouse.record.incoming import RejectedRow
from warehouse.record.store import Record, commit, last_transaction
from warehouse.record.tables import RecordTable, arrow_schema
from warehouse.tables import LoadEntry, QuarantineEntry, RetryEntry

ENTRY_KEY = "sankofa.load"
COMMIT_ATTEMPTS = 50


def write_missing_entries(record: Record, table: RecordTable) -> None:
    """Write the entries of all loads that were committed and are not entered yet.

    The mark of the ledger says up to which load everything is entered; of two that settle at
    once the second finds it done.
    """
    for _ in range(COMMIT_ATTEMPTS):
        delta, ledger = record.table(table.name), record.table("loads")
        newest, done = last_transaction(delta), last_transaction(ledger, table.name)
        if newest <= done or _committed_rows(
            ledger, _entries(delta, done, newest), {table.name: newest}
        ):
            return
    raise WriteConflict("the ledger: other writers kept winning; run the load again")


def add_entry(record: Record, table: RecordTable, entry: LoadEntry) -> None:
    """Enter a load; one that appended is entered from its own commit, with any before it."""
    write_missing_entries(record, table)
    if not entry.appended + entry.withdrawn:
        _committed_rows(record.table("loads"), [entry], {})
    record.keep_small("loads")


def loaded_documents(record: Record, source: str, table: RecordTable) -> tuple[set[str], set[str]]:
    """Give the documents loaded into a table by this version of the code, and by any."""
    held = record.table("loads").to_pyarrow_table(
        columns=["documents", "source", "table_name", "code_version"]
    )
    mine = pc.and_(pc.equal(held["source"], source), pc.equal(held["table_name"], table.name))
    entries = held.filter(mine)
    now = entries.filter(pc.equal(entries["code_version"], code_version()))
    read = [
        set(each["documents"].combine_chunks().flatten().to_pylist()) for each in (now, entries)
    ]
    return read[0], read[1]


def code_version() -> str:
    """Name the code that reads documents; a new one reads them all again."""
    return version("sankofa")


def quarantine(
    record: Record, table: RecordTable, source: str, load_id: str, rejected: Sequence[RejectedRow]
) -> list[str]:
    """Keep what could not be read and give the id of each; the same refusal is kept once."""
    now = datetime.now(UTC)
    keys = _refusals(table, rejected)
    rows = {
        key: QuarantineEntry(
            quarantine_id=key,
            table_name=table.name,
            source=source,
            document=each.document,
            source_ref=each.source_ref,
            reason=each.words,
            load_id=load_id,
            quarantined_at=now,
        )
        for key, each in zip(keys, rejected, strict=True)
    }
    for _ in range(COMMIT_ATTEMPTS):
        delta = record.table("quarantine")
        held = _held(delta, rows)
        new = [row for key, row in rows.items() if key not in held]
        if not new or _committed_rows(
            delta, new, {"quarantine": last_transaction(delta, "quarantine") + 1}
        ):
            record.keep_small("quarantine")
            return keys
    raise WriteConflict("the quarantine: other writers kept winning; run the load again")


def add_retries(record: Record, rows: Sequence[RetryEntry]) -> None:
    """Keep what became of quarantined records that were read again."""
    if rows:
        _committed_rows(record.table("retries"), rows, {})
        record.keep_small("retries")


def _committed_rows(
    delta: DeltaTable,
    rows: Sequence[LoadEntry] | Sequence[QuarantineEntry] | Sequence[RetryEntry],
    marks: dict[str, int],
) -> bool:
    schema = arrow_schema(type(rows[0]))
    try:
        commit(delta, pa.Table.from_pylist([row.model_dump() for row in rows], schema), marks)
    except CommitFailedError:
        return False
    return True


def _entries(delta: DeltaTable, done: int, newest: int) -> list[LoadEntry]:
    """Give what the commits say of the loads after ``done``, looking back as far as needed."""
    look = 2 * (newest - done) + 4
    while True:
        history = delta.history(look)
        said = [json.loads(each[ENTRY_KEY]) for each in history if ENTRY_KEY in each]
        entries = [LoadEntry.model_validate(each) for each in said]
        found = [entry for entry in entries if done < entry.load_seq <= newest]
        if len(found) == newest - done or len(history) < look:
            return sorted(found, key=lambda entry: entry.load_seq)
        look *= 4


def _held(delta: DeltaTable, rows: dict[str, QuarantineEntry]) -> set[str]:
    """Give the refusals held already, among those of the documents concerned."""
    documents = pa.array(sorted({row.document for row in rows.values()}))
    held = delta.to_pyarrow_table(columns=["quarantine_id", "document"])
    return set(held.filter(pc.is_in(held["document"], documents))["quarantine_id"].to_pylist())


def _refusals(table: RecordTable, rejected: Sequence[RejectedRow]) -> list[str]:
    """Name each refusal by its place and reason; equal ones are told apart by their order."""
    times: Counter[str] = Counter()
    keys = []
    for each in rejected:
        text = "\x1f".join((table.name, each.document, each.source_ref, each.reason))
        keys.append(hashlib.sha256(f"{text}\x1f{times[text]}".encode()).hexdigest()[:32])
        times[text] += 1
    return keys
