"""Which incoming sightings are new, by comparison with what is held.

A publication may be read many times. The record keeps a reading only where it says
something else than the reading before it. A publication that changed without a new date was
edited silently: what it says now was known from the day on which we read it, not before.

Almost every sighting is either unknown or held once with the same content, which its marks
alone tell. Only the few others are compared reading by reading.
"""

from bisect import bisect_left
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from deltalake import DeltaTable

from warehouse.record.index import FileIndex, Numbers, numbers
from warehouse.record.parallel import each
from warehouse.record.store import DataFile, Record, parquet
from warehouse.record.tables import RecordTable


@dataclass(frozen=True)
class Merge:
    """The incoming rows to append, and those that contradict each other, by number."""

    new: pa.Table  # row, available_at, again
    contradictions: list[int]


def merge(
    record: Record,
    table: RecordTable,
    delta: DeltaTable,
    incoming: pa.Table,
    reread: bool = False,
) -> Merge:
    """Compare marked rows with the files they can touch.

    ``reread`` says that the documents were read before, by other code: then a reading is held
    only if every column is as it was, not its content alone.
    """
    files = touched(record, delta, table, incoming)
    if reread:
        unknown, unsure = np.arange(0), np.arange(len(incoming))
    else:
        unknown, unsure = _told_by_marks(record.index_folder(table.name), files, incoming)
    plain = _plain(incoming, unknown)
    if not len(unsure):
        return Merge(plain, [])
    rows = incoming.take(pa.array(unsure)).append_column("row", pa.array(unsure))
    held = parquet(table.name, files)
    compared = tuple(table.row.model_fields) if reread else ()
    changed, contradictions = _read_by_reading(record, held, rows, compared)
    return Merge(pa.concat_tables([plain, changed]), contradictions)


def touched(
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
) -> tuple[Numbers, Numbers]:
    """Give the rows that nothing is held of, and those that marks alone do not settle."""
    order = np.argsort(numbers(incoming, "sighting"))
    names = ("sighting", "content", "observed_at", "figure_check")
    sighting, content, observed_at, check = (numbers(incoming, name)[order] for name in names)
    times = np.zeros(len(order), np.int64)
    same = np.zeros(len(order), bool)
    for index, (first, found) in each(lambda file: _found(folder, file, sighting), files):
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
    folder: Path, file: DataFile, sighting: Numbers
) -> tuple[FileIndex, tuple[Numbers, Numbers]]:
    try:
        index = FileIndex(folder, file.path, file.rows)
    except FileNotFoundError:
        # A compaction removed it between the look and the opening: it is made again.
        index = FileIndex(folder, file.path, file.rows)
    return index, index.find(sighting)


def _repeated(in_order: Numbers) -> npt.NDArray[np.bool_]:
    repeated = np.zeros(len(in_order), bool)
    next_is_equal = in_order[1:] == in_order[:-1]
    repeated[1:] |= next_is_equal
    repeated[:-1] |= next_is_equal
    return repeated


def _plain(incoming: pa.Table, rows: Numbers) -> pa.Table:
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
