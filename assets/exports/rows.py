"""The rows of a file in their order: read as they are staged, or sorted."""

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from assets.exports.artifacts import Part
from assets.exports.parquet import BATCH
from warehouse.mart.snapshot import Snapshot


def rows_of(
    part: Part, snapshot: Snapshot, sql: duckdb.DuckDBPyConnection
) -> Iterator[pa.RecordBatch]:
    """Give the rows of a part; those that are staged in its order are not sorted again."""
    if part.keeps is None or snapshot.order(part.keeps) != part.staged_sort:
        yield from sql.sql(f"{part.statement} ORDER BY {', '.join(part.sort)}").to_arrow_reader(
            BATCH
        )
    elif part.relation == f"SELECT * FROM {part.keeps}":
        yield from _columns(snapshot.path(part.keeps), part)
    else:
        yield from sql.sql(part.statement).to_arrow_reader(BATCH)


def _columns(path: Path, part: Part) -> Iterator[pa.RecordBatch]:
    """Read columns of a staged table without the engine, which would copy each text again."""
    staged, shown = zip(*((each.sql, each.name) for each in part.columns), strict=True)
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(BATCH, columns=list(staged)):
            yield pa.RecordBatch.from_arrays([batch[name] for name in staged], shown)
