"""The one writer of the record.

Typed Arrow rows come in. Rows the record already has are skipped, new ones are appended, and what
the publisher took back is withdrawn by appending, all in one commit. Loading the same rows again
appends nothing, so a load that was killed at any point is simply run again.
"""

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable

from warehouse.record import ledger
from warehouse.record.erase import erasures
from warehouse.record.incoming import CheckedRows, RejectedRow, check_rows
from warehouse.record.merge import (
    CompleteScope,
    Rereading,
    merge,
    retractions,
    with_days,
    withdrawals,
)
from warehouse.record.quarantine import add_to_quarantine
from warehouse.record.row_index import add_row_hashes, write_index
from warehouse.record.store import COMMIT_ATTEMPTS, Record, commit, last_transaction
from warehouse.record.tables import RecordTable, record_schema, unstamped_schema
from warehouse.shared.code_version import release
from warehouse.shared.errors import WriteConflict
from warehouse.tables.operations import LoadEntry


@dataclass(frozen=True)
class Load:
    """Source, documents and id of a load, and the version of the parser that read them.

    A load has one id for all tables that it touches.

    ``quarantine_ids`` collects the ids of all rows it quarantines, new in the quarantine or not.
    """

    source: str
    documents: tuple[str, ...]
    load_id: str = field(
        default_factory=lambda: f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{uuid4().hex[:8]}"
    )
    parser_version: str | None = None
    quarantine_ids: set[str] = field(default_factory=set, compare=False)


def prepare(table: RecordTable, incoming: pa.Table) -> CheckedRows:
    """Check and hash the rows of a load: all that does not depend on what is stored."""
    checked = check_rows(table, incoming)
    rows, shown = (add_row_hashes(table, part) for part in (checked.rows, checked.shown))
    return replace(checked, rows=rows, shown=shown)


def append(
    record: Record,
    table: RecordTable,
    incoming: pa.Table | CheckedRows,
    load: Load,
    *,
    rejected: Sequence[RejectedRow] = (),
    complete: CompleteScope | None = None,
    reread: Rereading | None = None,
    enter: bool = True,
) -> LoadEntry:
    """Append the rows that are new; return the ledger entry with the counts.

    In the entry, read = appended + held + quarantined. ``rejected`` are rows the parser could not
    read; they are quarantined and counted. ``complete`` means that the publisher showed all it
    has of a scope: figures of the scope that were not shown are withdrawn, unless a row was
    quarantined of which it is not known which figure it is about. ``reread`` means that other
    code has read these documents before: rows that now differ in any column are replaced, and
    rows that are no longer read are retracted. Without ``enter``, it is for the caller to write
    the entry to the ledger.
    """
    prepared = incoming if isinstance(incoming, CheckedRows) else prepare(table, incoming)
    rows, shown = prepared.rows, prepared.shown
    # A row we could not read may be one of the figures that seem to be missing.
    unread = any(not row.partial for row in rejected)
    if unread or len(shown) < len(prepared.rejected):
        complete = None
    refused = [*rejected, *prepared.rejected]
    if reread is not None:
        reread.add(table, rows)
    for attempt in range(COMMIT_ATTEMPTS):
        # The lock orders the threads of this process. Another process is noticed at the commit.
        with record.shared(), record.write_lock:
            # The table first: an erasure that is entered later makes the commit to it fail.
            delta = record.table(table.name)
            kept, all_rejected = _not_erased(record, rows, refused)
            entry = _try_append(
                record, table, delta, kept, shown, load, all_rejected, complete, reread
            )
            if entry is not None:
                if enter:
                    ledger.write_missing_entries(record, [table], [entry])
                return entry
        # Writers that lost to each other must not try again in step.
        time.sleep(random.uniform(0, 0.02 * (attempt + 1)))  # noqa: S311
    raise WriteConflict(
        f"{table.name}: other writers kept committing first; nothing was written, "
        "run the load again"
    )


def _not_erased(
    record: Record, rows: pa.Table, rejected: list[RejectedRow]
) -> tuple[pa.Table, list[RejectedRow]]:
    """Leave out what was read from a document that has been erased since."""
    erased = {entry.document for entry in erasures(record)}
    if not erased:
        return rows, rejected
    is_erased = pc.is_in(rows["document"], pa.array(sorted(erased)))
    return rows.filter(pc.invert(is_erased)), [
        row for row in rejected if row.document not in erased
    ]


def _try_append(
    record: Record,
    table: RecordTable,
    delta: DeltaTable,
    rows: pa.Table,
    shown: pa.Table,
    load: Load,
    rejected: list[RejectedRow],
    complete: CompleteScope | None,
    reread: Rereading | None,
) -> LoadEntry | None:
    """Compare with the current table and commit; None if another writer committed first."""
    load_seq = last_transaction(delta)
    # First: what is taken back is no earlier reading of what is read in another document.
    retracted = retractions(record, table, delta, reread)
    result = merge(record, table, delta, rows, None if reread is None else retracted)
    rejected = [*rejected, *_contradictory(rows, result.contradictions)]
    if rejected:
        # Before the commit: a load killed in between is run again and finds these ids stored.
        ids = add_to_quarantine(record, table, load.source, load.load_id, rejected)
        load.quarantine_ids.update(ids)
    # Of figures with two contents it is not known what the publisher shows.
    if result.contradictions:
        complete = None
    withdrawn = withdrawals(record, table, delta, rows, shown, complete)
    appended = pa.concat_tables([_new_rows(table, rows, result.new), withdrawn, retracted])
    # Contradictory rows are among the checked rows and among the rejected ones: count them once.
    read = len(rows) + len(rejected) - len(result.contradictions)
    entry = LoadEntry(
        load_id=load.load_id,
        table_name=table.name,
        # A load that appends nothing makes no commit, so it takes no number.
        load_seq=load_seq + 1 if len(appended) else load_seq,
        source=load.source,
        documents=list(load.documents),
        read=read,
        appended=len(result.new),
        held=read - len(result.new) - len(rejected),
        quarantined=len(rejected),
        withdrawn=len(withdrawn),
        retracted=len(retracted),
        code_version=release(),
        loaded_at=datetime.now(UTC),
        parser_version=load.parser_version,
    )
    if not len(appended):
        return entry
    file = commit(
        record,
        table.name,
        delta,
        _stamped(table, appended, entry),
        {"append": entry.load_seq},
        # The entry travels in the commit too: see the ledger.
        {ledger.ENTRY_KEY: entry.model_dump_json()},
    )
    if file is None:
        return None
    # Index the new file while its rows are in memory.
    write_index(record.index_folder(table.name), file.path, appended)
    return entry


def _new_rows(table: RecordTable, rows: pa.Table, new: pa.Table) -> pa.Table:
    rows = rows.take(new["row"]).drop_columns(["incoming_row"])
    rows = with_days(rows, new)
    return rows.append_column("again", new["again"]).cast(unstamped_schema(table))


def _stamped(table: RecordTable, appended: pa.Table, entry: LoadEntry) -> pa.Table:
    """Add the load's id and number; sort so that later comparisons read few row groups."""
    count = len(appended)
    stamped = appended.append_column(
        "load_id", pa.repeat(pa.scalar(entry.load_id), count)
    ).append_column("load_seq", pa.repeat(pa.scalar(entry.load_seq, pa.int64()), count))
    ordered = stamped.sort_by([(table.cluster, "ascending"), ("figure", "ascending")])
    return ordered.cast(record_schema(table))


def _contradictory(rows: pa.Table, row_numbers: list[int]) -> list[RejectedRow]:
    columns = rows.select(["document", "source_ref", "incoming_row"])
    return [
        RejectedRow(
            row["document"],
            row["source_ref"],
            "the document states the same figure of the same publication with two contents, and "
            "nothing in it says which of them counts",
            row["incoming_row"],
        )
        for row in columns.take(pa.array(row_numbers, pa.int64())).to_pylist()
    ]
