"""The one writer of the record.

Typed Arrow in; what is held is recognised, what is new is appended, what the publisher took
back is withdrawn by appending, in one commit; the counts add up. Loading the same again
appends nothing, so that a load killed at any point is simply run again.
"""

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from uuid import uuid4

import pyarrow as pa
from deltalake.exceptions import CommitFailedError

from warehouse.errors import WriteConflict
from warehouse.record import ledger
from warehouse.record.incoming import RejectedRow, check_rows
from warehouse.record.index import write_index
from warehouse.record.merge import CompleteScope, merge, withdrawals
from warehouse.record.row_hashes import add_row_hashes
from warehouse.record.store import Record, commit, last_transaction
from warehouse.record.tables import RecordTable, record_schema, unstamped_schema
from warehouse.tables import LoadEntry


def _new_load_id() -> str:
    return f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{uuid4().hex[:8]}"


@dataclass(frozen=True)
class Load:
    """Who loads what: one id for all tables that a load touches.

    ``refused`` gathers the ids of all that it quarantines, whether they were held before or not.
    """

    source: str
    documents: tuple[str, ...]
    load_id: str = field(default_factory=_new_load_id)
    refused: set[str] = field(default_factory=set, compare=False)


def append(
    record: Record,
    table: RecordTable,
    incoming: pa.Table,
    load: Load,
    *,
    rejected: Sequence[RejectedRow] = (),
    complete: CompleteScope | None = None,
    reread: bool = False,
) -> LoadEntry:
    """Append what is new of ``incoming`` and answer with read = appended + held + quarantined.

    ``rejected`` is what the parser could not read; it is quarantined and counted. ``complete``
    says that the publisher showed all it has of a scope: what is held of it and was not
    shown is withdrawn, unless anything of this load was quarantined. ``reread`` says that
    other code read these documents before: what it took otherwise, in any column, is replaced.
    """
    good, refused = check_rows(table, incoming)
    rows = add_row_hashes(table, good)
    for attempt in range(ledger.COMMIT_ATTEMPTS):
        with record.writing:
            entry = _try(record, table, rows, load, [*rejected, *refused], complete, reread)
            if entry is not None:
                ledger.add_entry(record, table, entry)
                record.keep_small(table.name)
                return entry
        time.sleep(random.uniform(0, 0.02 * (attempt + 1)))  # noqa: S311
    raise WriteConflict(
        f"{table.name}: other writers kept winning; nothing was written, run the load again"
    )


def _try(
    record: Record,
    table: RecordTable,
    rows: pa.Table,
    load: Load,
    rejected: list[RejectedRow],
    complete: CompleteScope | None,
    reread: bool,
) -> LoadEntry | None:
    """Compare with the table as it is now and commit; None if another writer came first."""
    delta = record.table(table.name)
    seq = last_transaction(delta)
    result = merge(record, table, delta, rows, reread)
    rejected = [*rejected, *_contradictory(rows, result.contradictions)]
    if rejected:
        ids = ledger.quarantine(record, table, load.source, load.load_id, rejected)
        load.refused.update(ids)
    gone = withdrawals(record, table, delta, rows, None if rejected else complete)
    fresh = pa.concat_tables([_appended(table, rows, result.new), gone])
    read = len(rows) + len(rejected) - len(result.contradictions)
    entry = LoadEntry(
        load_id=load.load_id,
        table_name=table.name,
        load_seq=seq + 1 if len(fresh) else seq,
        source=load.source,
        documents=list(load.documents),
        read=read,
        appended=len(result.new),
        held=read - len(result.new) - len(rejected),
        quarantined=len(rejected),
        withdrawn=len(gone),
        code_version=ledger.code_version(),
        loaded_at=datetime.now(UTC),
    )
    if not len(fresh):
        return entry
    before = {file.path for file in record.files(table.name, delta)}
    try:
        commit(
            delta,
            _stamped(table, fresh, entry),
            {"append": entry.load_seq},
            {ledger.ENTRY_KEY: entry.model_dump_json()},
        )
    except CommitFailedError:
        return None
    written = {file.path for file in record.files(table.name, delta)} - before
    if len(written) == 1:
        write_index(record.index_folder(table.name), written.pop(), fresh)
    return entry


def _appended(table: RecordTable, rows: pa.Table, new: pa.Table) -> pa.Table:
    rows = rows.take(new["row"]).drop_columns(["came_as"])
    place = rows.schema.get_field_index("available_at")
    rows = rows.set_column(place, rows.schema.field(place), new["available_at"])
    return rows.append_column("again", new["again"]).cast(unstamped_schema(table))


def _stamped(table: RecordTable, fresh: pa.Table, entry: LoadEntry) -> pa.Table:
    """Add the load, and sort so that a later comparison reads few row groups."""
    stamped = fresh.append_column(
        "load_id", pa.repeat(pa.scalar(entry.load_id), len(fresh))
    ).append_column("load_seq", pa.repeat(pa.scalar(entry.load_seq, pa.int64()), len(fresh)))
    in_order = stamped.sort_by([(table.cluster, "ascending"), ("figure", "ascending")])
    return in_order.cast(record_schema(table))


def _contradictory(rows: pa.Table, numbers: list[int]) -> list[RejectedRow]:
    places = rows.select(["document", "source_ref", "came_as"]).take(pa.array(numbers, pa.int64()))
    return [
        RejectedRow(
            place["document"],
            place["source_ref"],
            "one reading of the publication gives two contents for one figure",
            place["came_as"],
        )
        for place in places.to_pylist()
    ]
