"""Which files a table has in a build, by what their rows are: a key for each, and rows to write.

A key is made from the rows themselves, not from where they came from: a table that was derived
again and has the same rows keeps its files.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import duckdb
import pyarrow as pa

from warehouse.code_version import code_hash
from warehouse.mart.file_labels import (
    bucket_count,
    bucket_label,
    cell_sql,
    time_labels,
    value_label,
)
from warehouse.mart.tables import MART_SCHEMA_VERSION, Files, MartTable
from warehouse.record.store import sql_text
from warehouse.steps.files import step_key

# Two hashes of 64 bits, of which one is a sum: together they stand for the rows in any order.
_DIGEST = """
SELECT value, part, count(*), concat(sum(hash(served)), '/', bit_xor(hash(served, 1)))
FROM (SELECT served, {value} AS value, {part} AS part FROM ({rows}) AS served)
GROUP BY ALL ORDER BY ALL
"""
_VERSION_OF = "warehouse.mart.mart_files"


@dataclass(frozen=True)
class TableFile:
    """A file that a build needs: its label, its key, and the cells of rows that lie in it."""

    label: str
    key: str
    rows: int
    cells: tuple[tuple[str, str], ...]


def files_of(
    sql: duckdb.DuckDBPyConnection, table: MartTable, larger: float = 1
) -> tuple[TableFile, ...]:
    """Return the files of a table; ``larger`` is how many times as many rows a file may have."""
    value, part = _cell_sql(table.files)
    statement = _DIGEST.format(value=value, part=part, rows=table.rows)
    cells = {(str(v), str(p)): (int(n), str(h)) for v, p, n, h in sql.execute(statement).fetchall()}
    labels = _labels(table.files, {cell: rows for cell, (rows, _) in cells.items()}, larger)
    by_label: dict[str, dict[tuple[str, str], str]] = {}
    for cell, (rows, digest) in cells.items():
        by_label.setdefault(labels[cell], {})[cell] = f"{rows}/{digest}"
    if not by_label and table.files is None:
        # Also without rows: a table in one file is always there.
        by_label = {"": {}}
    version, settings = _version(), {"duckdb": duckdb.__version__}
    return tuple(
        TableFile(
            label,
            step_key(
                f"mart/{table.name}",
                version,
                label,
                {f"{v}/{p}": digest for (v, p), digest in digests.items()},
                settings,
            ),
            sum(cells[cell][0] for cell in digests),
            tuple(digests),
        )
        for label, digests in sorted(by_label.items())
    )


def write_rows(
    sql: duckdb.DuckDBPyConnection, table: MartTable, files: Collection[TableFile], folder: Path
) -> Mapping[str, list[str]]:
    """Write the rows of some files of a table as Parquet; return the paths by key."""
    cells = [(*cell, file.key) for file in files for cell in file.cells]
    if not cells:
        # One file without rows: only the columns.
        folder.mkdir(parents=True, exist_ok=True)
        path = str(folder / "none.parquet")
        sql.execute(f"COPY ({table.rows} LIMIT 0) TO {sql_text(path)} (FORMAT parquet)")
        return {file.key: [path] for file in files}
    names, columns = ("value", "part", "file_key"), zip(*cells, strict=True)
    wanted = pa.table({name: list(rows) for name, rows in zip(names, columns, strict=True)})
    sql.register("wanted_cells", wanted)
    value, part = _cell_sql(table.files)
    try:
        sql.execute(
            f"COPY (SELECT served.*, file_key FROM ({table.rows}) AS served JOIN wanted_cells "
            f"ON wanted_cells.value = {value} AND wanted_cells.part = {part}) "
            f"TO {sql_text(str(folder))} (FORMAT parquet, PARTITION_BY (file_key), "
            "COMPRESSION lz4_raw)"
        )
    finally:
        sql.unregister("wanted_cells")
    return {
        file.key: sorted(map(str, (folder / f"file_key={file.key}").glob("*.parquet")))
        for file in files
    }


def _cell_sql(files: Files | None) -> tuple[str, str]:
    """Return SQL of what decides the file of a row of ``served``: a value, and a part of it."""
    if files is None:
        return "''", "''"
    if files.how == "hash":
        return f"CAST({cell_sql(f'served.{files.by}')} AS VARCHAR)", "''"
    value = f"coalesce(CAST(served.{files.by} AS VARCHAR), '')"
    month = f"coalesce(left(CAST(served.{files.day} AS VARCHAR), 7), '')" if files.day else "''"
    return value, month


def _labels(
    files: Files | None, rows: Mapping[tuple[str, str], int], larger: float
) -> dict[tuple[str, str], str]:
    """Return the label of the file of each cell."""
    if files is None:
        return dict.fromkeys(rows, "")
    max_rows = max(1, int(files.max_rows * larger))
    if files.how == "hash":
        buckets = bucket_count(sum(rows.values()), max_rows)
        return {cell: bucket_label(int(cell[0]), buckets) for cell in rows}
    if not files.day:
        return {cell: value_label(cell[0]) for cell in rows}
    return dict(_labels_by_time(rows, max_rows))


def _labels_by_time(
    rows: Mapping[tuple[str, str], int], max_rows: int
) -> Iterator[tuple[tuple[str, str], str]]:
    months: dict[str, dict[str, int]] = {}
    for (value, month), count in rows.items():
        months.setdefault(value, {})[month] = count
    for value, counts in months.items():
        for month, label in time_labels(value, counts, max_rows).items():
            yield (value, month), label


@cache
def _version() -> str:
    # What a file is made of depends on its rows and on the code that encodes them, no more.
    others = ("warehouse.record", "warehouse.compute", "warehouse.settings")
    return f"{MART_SCHEMA_VERSION} {code_hash(_VERSION_OF, without=others)[:16]}"
