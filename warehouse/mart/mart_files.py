"""Write one file of the mart: the rows of a table that lie together, with packs and search index.

A file is a pure function of its rows. It is named by a key of them (``changed_files``), so that a
build takes over the files whose rows did not change.
"""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, closing
from pathlib import Path
from typing import Protocol

import duckdb
import numpy as np
import pyarrow as pa

from warehouse.compute.task import Task
from warehouse.mart.builds import is_postgres_url, sqlite_folder
from warehouse.mart.packs import PACK_COLUMNS, PACK_INDEXES, Packer
from warehouse.mart.row_json import key_column_kind, key_column_sql, row_json_sql
from warehouse.mart.search_index import (
    NAMES,
    NAMES_SCHEMA,
    WORDS,
    WORDS_SCHEMA,
    names,
    words_of_names,
    words_of_releases,
)
from warehouse.mart.tables import MART_TABLES, Columns, MartTable
from warehouse.record.store import sql_text
from warehouse.steps.files import BuildFile

TABLES = {table.name: table for table in MART_TABLES}
_BATCH = 20_000
_ARROW_TYPES = {
    "text": pa.string(),
    "integer": pa.int32(),
    "real": pa.float64(),
    "bytes": pa.binary(),
}
_ROWS = "mart_rows"
# Objects that are stored once: in the order of their owners, those of the newest years first. They
# are cut out as text, since DuckDB's JSON functions read a number as a double; no quote stands
# unescaped inside a string, so that the separator is one.
_OBJECTS = """
CREATE TEMP TABLE placed AS SELECT *, row_number() OVER () AS place FROM mart_rows;
CREATE TEMP TABLE pieces AS
SELECT place, organisation, period_end, unnest(texts) AS object,
    generate_subscripts(texts, 1) AS position
FROM (
    SELECT place, organisation, period_end,
        string_split(CAST({member} AS VARCHAR)[{begins}:-3], {separator}) AS texts
    FROM placed WHERE CAST({member} AS VARCHAR) <> '[]'
);
CREATE TEMP TABLE objects AS
SELECT organisation, object,
    row_number() OVER (ORDER BY organisation, newest DESC, object) AS number
FROM (SELECT organisation, object, max(period_end) AS newest FROM pieces GROUP BY ALL);
CREATE TEMP TABLE numbers AS
SELECT place, '[' || string_agg(number, ',' ORDER BY position) || ']' AS numbers
FROM pieces JOIN objects USING (organisation, object) GROUP BY place;
CREATE TEMP VIEW referring AS
SELECT placed.* EXCLUDE (place) REPLACE (CAST(coalesce(numbers, '[]') AS JSON) AS {member})
FROM placed LEFT JOIN numbers USING (place);
"""
# How every such object begins, and what is between two of them.
_BEGINS = '{"fact_id":'
_SEPARATOR = "}," + _BEGINS


_OBJECTS_IN_A_PACK = 32


class Loader(Protocol):
    """Writes one file; it is complete when its context is left without an error."""

    def load(
        self, table: str, columns: Columns, rows: pa.RecordBatchReader, indexes: Sequence[str]
    ) -> None:
        """Create a table, load its rows in order, then create its indexes."""

    def written(self) -> tuple[str, str, int]:
        """Return path, SHA-256 and size of the finished file."""


def loader_at(url: str | Path, key: str) -> AbstractContextManager[Loader]:
    """Return the loader of a file at a mart URL; each engine's driver is imported on demand."""
    if is_postgres_url(url):
        from warehouse.mart.postgres_loader import PostgresLoader

        return PostgresLoader(str(url), key)
    from warehouse.mart.sqlite_loader import SqliteLoader

    return SqliteLoader(sqlite_folder(url), key)


def write_task(task: Task, sql: duckdb.DuckDBPyConnection) -> list[BuildFile]:
    """Write several files of a table: its inputs are the rows of each, by key."""
    files = []
    for key, paths in task.inputs.items():
        # A connection for each file: the tables it makes are temporary, and go with it.
        with closing(sql.cursor()) as own:
            url, table = task.settings["url"], TABLES[task.settings["table"]]
            files.append(write_mart_file(own, url, table, task.settings["labels"][key], key, paths))
    return files


def write_mart_file(
    sql: duckdb.DuckDBPyConnection,
    url: str,
    table: MartTable,
    label: str,
    key: str,
    paths: Sequence[str],
) -> BuildFile:
    """Write one file from its rows in Parquet files.

    Run again, it writes the same; under its name there is never half a file.
    """
    parquet = ", ".join(map(sql_text, paths))
    sql.execute(f"CREATE TEMP VIEW {_ROWS} AS FROM read_parquet([{parquet}])")
    loader = loader_at(url, key)
    with loader as file, tempfile.TemporaryDirectory(prefix="sankofa-packs-") as folder:
        count = _write_rows(sql, table, file, Path(folder))
        _write_search(sql, table, file)
    path, sha256, size = file.written()
    return BuildFile("mart", table.name, label, path, key, sha256, count, size)


def _write_rows(
    sql: duckdb.DuckDBPyConnection, table: MartTable, file: Loader, folder: Path
) -> int:
    rows = _ROWS
    if table.stored_once:
        rows = _write_objects(sql, table, file, folder)
    # The type of a column decides how its JSON is written.
    types = {name: kind for name, kind, *_ in sql.execute(f"DESCRIBE {rows}").fetchall()}
    columns: Columns = {name: key_column_kind(types, name) for name in table.keys}
    selected = [f'{key_column_sql(types, name)} AS "{name}"' for name in table.keys]
    row = row_json_sql(types, table.members, table.inside)
    if table.packed is not None:
        known_from, known_until = table.packed.known
        selected += [f"{known_from} AS known_from", f"{known_until} AS known_until"]
        # With the comma, any run of rows can be cut out of a pack and sent as it is.
        selected.append(f"{row} || ',' AS row")
    elif table.members:
        columns["row"] = "bytes"
        selected.append(f"{row} AS row")
    statement = f"SELECT {', '.join(selected)} FROM {rows} ORDER BY {table.order}"
    if table.packed is None:
        file.load(table.name, columns, _numbered(sql, statement, columns), table.indexes)
    else:
        packer = Packer(folder / "packs.arrow", table.packed.max_rows, table.packed.compressed)
        # The order matters: the packs are complete once the rows of the table have been streamed.
        numbered = _numbered(sql, statement, columns, packer, table.packed.by)
        file.load(table.name, columns, numbered, table.indexes)
        indexes = PACK_INDEXES if table.packed.by else ()
        file.load(table.packs, PACK_COLUMNS, packer.packs(), indexes)
    ((count,),) = sql.execute(f"SELECT count(*) FROM {_ROWS}").fetchall()
    return int(count)


def _write_objects(
    sql: duckdb.DuckDBPyConnection, table: MartTable, file: Loader, folder: Path
) -> str:
    """Write the objects that rows share, and return the view of rows that have their numbers."""
    sql.execute(
        _OBJECTS.format(
            member=table.stored_once, begins=len(_BEGINS) + 2, separator=sql_text(_SEPARATOR)
        )
    )
    row = f"concat({sql_text(_BEGINS)}, object, '}},') AS row"
    statement = f"SELECT 0 AS known_from, 0 AS known_until, {row} FROM objects ORDER BY number"
    packer = Packer(folder / "objects.arrow", _OBJECTS_IN_A_PACK)
    for _ in _numbered(sql, statement, {}, packer):
        pass
    file.load(f"{table.objects}_packs", PACK_COLUMNS, packer.packs(), ())
    return "referring"


def _write_search(sql: duckdb.DuckDBPyConnection, table: MartTable, file: Loader) -> None:
    if table.name == "entities":
        entity_names = names(sql, _ROWS, table.order)
        columns: Columns = {"folded": "text", "country": "text", "entity_row": "integer"}
        rows = pa.RecordBatchReader.from_batches(NAMES_SCHEMA, entity_names.to_batches())
        file.load(NAMES, columns, rows, ("(folded, entity_row)",))
        batches = words_of_names(entity_names)
    elif table.name == "tender_releases":
        batches = words_of_releases(sql, _ROWS, table.order)
    else:
        return
    columns = {"field": "text", "word": "text", "row_numbers": "bytes"}
    rows = pa.RecordBatchReader.from_batches(WORDS_SCHEMA, batches)
    file.load(WORDS, columns, rows, ("(field, word)",))


def _numbered(
    sql: duckdb.DuckDBPyConnection,
    statement: str,
    columns: Columns,
    packer: Packer | None = None,
    packed_by: str = "",
) -> pa.RecordBatchReader:
    """Stream the rows of a statement, numbered from 1.

    Rows that are packed go to the packer; only their key columns are streamed.
    """
    typed_columns = [(name, _ARROW_TYPES[kind]) for name, kind in columns.items()]
    schema = pa.schema([("row_number", pa.int64()), *typed_columns])

    def batches() -> Iterator[pa.RecordBatch]:
        first = 1
        for batch in sql.sql(statement).to_arrow_reader(_BATCH):
            numbers = pa.array(np.arange(first, first + batch.num_rows))
            if packer is not None:
                keys = batch[packed_by] if packed_by else pa.repeat("", batch.num_rows)
                days = (batch["known_from"].to_numpy(), batch["known_until"].to_numpy())
                packer.add(first, keys, days, batch["row"].cast(pa.binary()))
            first += batch.num_rows
            typed = [batch[name].cast(arrow_type) for name, arrow_type in typed_columns]
            yield pa.RecordBatch.from_arrays([numbers, *typed], schema=schema)

    return pa.RecordBatchReader.from_batches(schema, batches())
