"""Which incoming sightings are new, by comparison with what is held.

A publication may be read many times. The record keeps a reading only where it says
something else than the reading before it. A publication that changed without a new date was
edited silently: what it says now was known from the day on which we read it, not before.

Almost every sighting is either unknown or held once with the same content, which its marks
alone tell. Only the few others are compared reading by reading.
"""

from bisect import bisect_left
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable

from warehouse.record.lookup import SortedMarks
from warehouse.record.store import Record, parquet
from warehouse.record.tables import RecordTable

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Merge:
    """The incoming rows to append, and those that contradict each other, by number."""

    new: pa.Table  # row, available_at, again
    contradictions: list[int]


def merge(record: Record, table: RecordTable, delta: DeltaTable, incoming: pa.Table) -> Merge:
    """Compare marked rows with the files they can touch."""
    files = touched(delta, table, incoming)
    unknown, unsure = _told_by_marks(files, incoming)
    plain = _plain(incoming, unknown)
    if not len(unsure):
        return Merge(plain, [])
    rows = incoming.take(pa.array(unsure)).append_column("row", pa.array(unsure))
    changed, contradictions = _read_by_reading(record, parquet(table.name, files), rows)
    return Merge(pa.concat_tables([plain, changed]), contradictions)


def touched(delta: DeltaTable, table: RecordTable, incoming: pa.Table) -> list[str]:
    """Give the files whose range of the cluster column holds any of the incoming values."""
    values = sorted(incoming[table.cluster].unique().to_pylist())
    files = pa.table(delta.get_add_actions(flatten=True))
    low, high = f"min.{table.cluster}", f"max.{table.cluster}"
    uris = {uri.rsplit("/", 1)[-1]: uri for uri in delta.file_uris()}
    if low not in files.column_names:
        return list(uris.values())
    ranges = zip(*(files[name].to_pylist() for name in ("path", low, high)), strict=True)
    return [
        uris[path.rsplit("/", 1)[-1]] for path, least, most in ranges if _meets(values, least, most)
    ]


def _meets(values: list[str], least: str | None, most: str | None) -> bool:
    if least is None or most is None:
        return True
    place = bisect_left(values, least)
    # A long text is cut in the statistics: what starts like the maximum may be in the file.
    return place < len(values) and (values[place] <= most or values[place].startswith(most))


def _told_by_marks(files: list[str], incoming: pa.Table) -> tuple[Numbers, Numbers]:
    """Give the rows that nothing is held of, and those that marks alone do not settle."""
    index = SortedMarks(_numbers(incoming, "sighting"))
    content, check = _numbers(incoming, "content"), _numbers(incoming, "figure_check")
    times = np.zeros(len(incoming), np.int64)
    same = np.zeros(len(incoming), bool)
    for file in files:
        theirs, ours = index.matches(
            _numbers(pq.read_table(file, columns=["sighting"]), "sighting")
        )
        if len(theirs):
            near = pq.read_table(file, columns=["content", "figure_check"])
            np.add.at(times, ours, 1)
            same[ours] = (_numbers(near, "content")[theirs] == content[ours]) & (
                _numbers(near, "figure_check")[theirs] == check[ours]
            )
    unknown = (times == 0) & ~index.repeated
    held = (times == 1) & same & ~index.repeated
    return np.flatnonzero(unknown), np.flatnonzero(~unknown & ~held)


def _numbers(rows: pa.Table, name: str) -> Numbers:
    return np.asarray(rows[name].combine_chunks().to_numpy(zero_copy_only=False))


def _plain(incoming: pa.Table, rows: Numbers) -> pa.Table:
    available_at = incoming["available_at"].combine_chunks().take(pa.array(rows))
    again = pa.repeat(pa.scalar(False), len(rows))
    return pa.table({"row": pa.array(rows), "available_at": available_at, "again": again})


def _read_by_reading(record: Record, held: str, rows: pa.Table) -> tuple[pa.Table, list[int]]:
    sql = record.sql.cursor()
    sql.execute("SET TimeZone = 'UTC'")
    sql.register("incoming", rows)
    contradictions = sql.sql(_CONTRADICTIONS).to_arrow_table()
    sql.register("contradictions", contradictions)
    sql.register(
        "near",
        sql.sql(
            f"SELECT {_COMPARED} FROM {held} WHERE sighting IN (SELECT sighting FROM incoming)"
        ).to_arrow_table(),
    )
    changed = sql.sql(_CHANGED).to_arrow_table()
    sql.close()
    return changed, list(contradictions["row"].to_pylist())


_COMPARED = "sighting, figure_check, observed_at, content, document, available_at"

_CONTRADICTIONS = """
SELECT DISTINCT one.row
FROM incoming AS one
JOIN incoming AS two
  ON one.sighting = two.sighting AND one.figure_check = two.figure_check
 AND one.document = two.document AND one.observed_at = two.observed_at
 AND one.content <> two.content
"""

_CHANGED = f"""
WITH readings AS (
    SELECT {_COMPARED}, -1 AS row FROM near
    UNION ALL
    SELECT {_COMPARED}, row FROM incoming WHERE row NOT IN (SELECT row FROM contradictions)
),
placed AS (
    SELECT *,
        lag(content) OVER place AS before,
        lag(document) OVER place AS document_before,
        lag(available_at) OVER place AS available_before,
        CASE WHEN lead(row) OVER place = -1 THEN lead(content) OVER place END AS held_after
    FROM readings
    WINDOW place AS (PARTITION BY sighting, figure_check ORDER BY observed_at, row)
)
SELECT row,
    CASE
        WHEN before IS NULL OR available_at IS NULL THEN available_at
        WHEN document_before = document THEN available_before
        ELSE greatest(available_at, CAST(observed_at AS DATE))
    END AS available_at,
    before IS NOT NULL OR held_after IS NOT NULL AS again
FROM placed
WHERE row >= 0
  AND (before IS NULL OR before <> content)
  AND (before IS NOT NULL OR held_after IS NULL OR held_after <> content)
"""
