"""Which incoming sightings are new, by comparison with what is held.

A publication may be read many times. The record keeps a reading only where it says
something else than the reading before it. A publication that changed without a new date was
edited silently: what it says now was known from the day on which we read it, not before.

Almost every sighting is either unknown or held once with the same content, which its marks
alone tell. Only the few others are compared reading by reading.
"""

from bisect import bisect_left
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable

from warehouse.errors import BadTable
from warehouse.record.as_of import vintages_query
from warehouse.record.index import FileIndex, IntArray, column_as_numpy
from warehouse.record.parallel import parallel_map
from warehouse.record.row_hashes import content_hashes
from warehouse.record.store import DataFile, Record, parquet_relation
from warehouse.record.tables import RecordTable, unstamped_schema


@dataclass(frozen=True)
class MergeResult:
    """The incoming rows to append, and those that contradict each other, by number."""

    new: pa.Table  # row, available_at, again
    contradictions: list[int]


def merge(
    record: Record,
    table: RecordTable,
    delta: DeltaTable,
    incoming: pa.Table,
    reread: bool = False,
) -> MergeResult:
    """Compare marked rows with the files they can touch.

    ``reread`` says that the documents were read before, by other code: then a reading is held
    only if every column is as it was, not its content alone.
    """
    files = touched_files(record, delta, table, incoming)
    if reread:
        unknown, unsure = np.arange(0), np.arange(len(incoming))
    else:
        unknown, unsure = _told_by_marks(record.index_folder(table.name), files, incoming)
    plain = _plain(incoming, unknown)
    if not len(unsure):
        return MergeResult(plain, [])
    rows = incoming.take(pa.array(unsure)).append_column("row", pa.array(unsure))
    held = parquet_relation(table.name, files)
    compared = tuple(table.row.model_fields) if reread else ()
    changed, contradictions = _read_by_reading(record, held, rows, compared)
    return MergeResult(pa.concat_tables([plain, changed]), contradictions)


def touched_files(
    record: Record, delta: DeltaTable, table: RecordTable, incoming: pa.Table
) -> list[DataFile]:
    """Give the files whose range of the cluster column holds any of the incoming values."""
    values = sorted(incoming[table.cluster].unique().to_pylist())
    low, high = f"min.{table.cluster}", f"max.{table.cluster}"
    return [
        file
        for file in record.files(table.name, delta)
        if _meets(values, file.facts.get(low), file.facts.get(high))
    ]


def _meets(values: list[str], least: str | None, most: str | None) -> bool:
    if least is None or most is None:
        return True
    place = bisect_left(values, least)
    # A long text is cut in the statistics: what starts like the maximum may be in the file.
    return place < len(values) and (values[place] <= most or values[place].startswith(most))


def _told_by_marks(
    folder: Path, files: list[DataFile], incoming: pa.Table
) -> tuple[IntArray, IntArray]:
    """Give the rows that nothing is held of, and those that marks alone do not settle."""
    order = np.argsort(column_as_numpy(incoming, "sighting"))
    names = ("sighting", "content", "observed_at", "figure_check")
    sighting, content, observed_at, check = (
        column_as_numpy(incoming, name)[order] for name in names
    )
    times = np.zeros(len(order), np.int64)
    same = np.zeros(len(order), bool)
    for index, (first, found) in parallel_map(lambda file: _found(folder, file, sighting), files):
        times += found
        here = np.flatnonzero(found)
        place = first[here]
        same[here] = (
            (index.content[place] == content[here])
            & (index.check[place] == check[here])
            & (index.observed_at[place] <= observed_at[here])
        )
    repeated = _repeated(sighting)
    unknown = (times == 0) & ~repeated
    held = (times == 1) & same & ~repeated
    return np.sort(order[unknown]), np.sort(order[~unknown & ~held])


def _found(
    folder: Path, file: DataFile, sighting: IntArray
) -> tuple[FileIndex, tuple[IntArray, IntArray]]:
    try:
        index = FileIndex(folder, file.path, file.rows)
    except FileNotFoundError:
        # A compaction removed it between the look and the opening: it is made again.
        index = FileIndex(folder, file.path, file.rows)
    return index, index.find(sighting)


def _repeated(in_order: IntArray) -> npt.NDArray[np.bool_]:
    repeated = np.zeros(len(in_order), bool)
    next_is_equal = in_order[1:] == in_order[:-1]
    repeated[1:] |= next_is_equal
    repeated[:-1] |= next_is_equal
    return repeated


def _plain(incoming: pa.Table, rows: IntArray) -> pa.Table:
    available_at = incoming["available_at"].combine_chunks().take(pa.array(rows))
    again = pa.repeat(pa.scalar(False), len(rows))
    return pa.table({"row": pa.array(rows), "available_at": available_at, "again": again})


def _read_by_reading(
    record: Record, held: str, rows: pa.Table, compared: tuple[str, ...]
) -> tuple[pa.Table, list[int]]:
    """Compare the readings of each publication; ``compared`` must be equal besides its content."""
    sql = record.sql.cursor()
    sql.register("incoming", rows)
    contradictions = sql.sql(_CONTRADICTIONS).to_arrow_table()
    sql.register("contradictions", contradictions)
    columns = ", ".join(dict.fromkeys((*_COMPARED, *compared)))
    # The day is compared as it would be given now.
    others = [name for name in compared if name != "available_at"]
    same = _EXACT + "".join(
        f" AND near.{name} IS NOT DISTINCT FROM placed.{name}" for name in others
    )
    near = f"SELECT {columns}, load_seq FROM {held} "
    near += "WHERE sighting IN (SELECT sighting FROM incoming)"
    sql.register("near", sql.sql(near).to_arrow_table())
    changed = sql.sql(_CHANGED.format(columns=columns, same=same)).to_arrow_table()
    sql.close()
    return changed, list(contradictions["row"].to_pylist())


_COMPARED = ("sighting", "figure_check", "observed_at", "document", "content", "available_at")
_EXACT = """near.sighting = placed.sighting AND near.figure_check = placed.figure_check
          AND near.observed_at = placed.observed_at AND near.content = placed.content
          AND near.available_at IS NOT DISTINCT FROM placed.known_at"""

_CONTRADICTIONS = """
SELECT DISTINCT one.row
FROM incoming AS one
JOIN incoming AS two
  ON one.sighting = two.sighting AND one.figure_check = two.figure_check
 AND one.observed_at = two.observed_at AND one.document = two.document
 AND one.content <> two.content
"""

# Of documents read at one moment the name decides, of readings of one document the last; the
# reading before an incoming one is the last made before its moment.
_CHANGED = """
WITH came AS (
    SELECT {columns}, row FROM incoming WHERE row NOT IN (SELECT row FROM contradictions)
),
readings AS (
    SELECT {columns}, load_seq, -1 AS row FROM near
    UNION ALL SELECT {columns}, 4611686018427387904 AS load_seq, row FROM came
),
standing AS (
    SELECT * FROM readings
    QUALIFY row_number() OVER (
        PARTITION BY sighting, figure_check, observed_at
        ORDER BY document DESC, load_seq DESC, row DESC) = 1
),
placed AS (
    SELECT came.*, before.content AS content_before,
        CASE WHEN before.content IS NULL OR came.available_at IS NULL THEN came.available_at
             ELSE greatest(came.available_at, CAST(came.observed_at AS DATE)) END AS known_at
    FROM came ASOF LEFT JOIN standing AS before
      ON came.sighting = before.sighting AND came.figure_check = before.figure_check
     AND came.observed_at > before.observed_at
),
new AS (
    SELECT * FROM placed
    WHERE content_before IS DISTINCT FROM content AND NOT EXISTS (
        SELECT 1 FROM near WHERE {same})
    QUALIFY row_number() OVER (
        PARTITION BY sighting, figure_check, observed_at, content ORDER BY row) = 1
)
SELECT row, known_at AS available_at,
    content_before IS NOT NULL OR sighting IN (SELECT sighting FROM near)
        OR count(*) OVER (PARTITION BY sighting, figure_check) > 1 AS again
FROM new
"""


@dataclass(frozen=True)
class CompleteScope:
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
    complete: CompleteScope | None,
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
    held = parquet_relation(table.name, record.files(table.name, delta))
    moment = f"TIMESTAMPTZ '{complete.observed_at.astimezone(UTC).isoformat()}'"
    before = f"(SELECT * FROM {held} WHERE observed_at < {moment})"
    scope = " AND ".join(f"{name} = {_text(value)}" for name, value in complete.scope.items())
    shown = record.query(vintages_query(table, before, columns=schema.names, where=scope or "TRUE"))
    if complete.address is not None:
        there = pc.starts_with(shown["source_ref"], f"{complete.address}#")
        shown = shown.filter(there)
    gone = shown.filter(pc.invert(pc.is_in(shown["figure"], marked["figure"].combine_chunks())))
    # The same look, loaded again, has withdrawn them already.
    done = record.query(f"SELECT sighting FROM {held} WHERE withdrawn AND observed_at = {moment}")
    gone = gone.filter(pc.invert(pc.is_in(gone["sighting"], done["sighting"].combine_chunks())))
    return _withdrawn(table, gone.select(schema.names).cast(schema), complete)


def _withdrawn(table: RecordTable, rows: pa.Table, complete: CompleteScope) -> pa.Table:
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
    marks = content_hashes(table, rows)
    return rows.set_column(place, rows.schema.field(place), marks)


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
