"""What a publisher took back: known only from a look at all it has of a scope."""

from dataclasses import dataclass
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable

from warehouse.errors import BadTable
from warehouse.record.as_of import known
from warehouse.record.marks import content_marks
from warehouse.record.schema import unstamped_schema
from warehouse.record.store import Record, parquet
from warehouse.record.tables import RecordTable


@dataclass(frozen=True)
class Complete:
    """All that a publisher has of a scope, as one document showed it.

    ``scope`` names identity columns. With ``address``, only what was last read from that
    address belongs to it.
    """

    scope: dict[str, str]
    observed_at: datetime
    document: str
    source_ref: str
    address: str | None = None


def withdrawals(
    record: Record,
    table: RecordTable,
    delta: DeltaTable,
    marked: pa.Table,
    complete: Complete | None,
) -> pa.Table:
    """Give a withdrawing row for each figure of the scope that is no longer shown.

    Only what had been read before the look can be missing from it. An empty look withdraws
    nothing: a source that answers with nothing has failed, it has not taken all back.
    """
    schema = unstamped_schema(table)
    if complete is None or not len(marked):
        return schema.empty_table()
    outside = set(complete.scope) - set(table.identity)
    if outside:
        raise BadTable(f"{table.name}: {sorted(outside)[0]!r} does not identify a figure")
    held = parquet(table.name, record.files(table.name, delta))
    moment = f"TIMESTAMPTZ '{complete.observed_at.astimezone(UTC).isoformat()}'"
    before = f"(SELECT * FROM {held} WHERE observed_at < {moment})"
    scope = " AND ".join(f"{name} = {_text(value)}" for name, value in complete.scope.items())
    shown = record.query(known(table, before, columns=schema.names, where=scope or "TRUE"))
    if complete.address is not None:
        there = pc.starts_with(shown["source_ref"], f"{complete.address}#")
        shown = shown.filter(there)
    gone = shown.filter(pc.invert(pc.is_in(shown["figure"], marked["figure"].combine_chunks())))
    # The same look, loaded again, has withdrawn them already.
    done = record.query(f"SELECT sighting FROM {held} WHERE withdrawn AND observed_at = {moment}")
    gone = gone.filter(pc.invert(pc.is_in(gone["sighting"], done["sighting"].combine_chunks())))
    return _withdrawn(table, gone.select(schema.names).cast(schema), complete)


def _withdrawn(table: RecordTable, rows: pa.Table, complete: Complete) -> pa.Table:
    observed_at = pa.scalar(complete.observed_at, pa.timestamp("us", "UTC"))
    day = pa.scalar(complete.observed_at.astimezone(UTC).date(), pa.date32())
    seen = pc.if_else(rows["available_at"].is_valid(), day, pa.scalar(None, pa.date32()))
    changes = {
        "available_at": seen,
        "observed_at": pa.repeat(observed_at, len(rows)),
        "document": pa.repeat(pa.scalar(complete.document), len(rows)),
        "source_ref": pa.repeat(pa.scalar(complete.source_ref), len(rows)),
        "withdrawn": pa.repeat(pa.scalar(True), len(rows)),
        "again": pa.repeat(pa.scalar(True), len(rows)),
        **{name: pa.nulls(len(rows), rows.schema.field(name).type) for name in table.content},
    }
    for name, values in changes.items():
        place = rows.schema.get_field_index(name)
        rows = rows.set_column(place, rows.schema.field(place), values)
    place = rows.schema.get_field_index("content")
    marks = content_marks(table, rows)
    return rows.set_column(place, rows.schema.field(place), marks)


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
