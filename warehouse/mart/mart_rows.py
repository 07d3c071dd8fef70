"""The rows of several files of a table in one stream: encoded, in order, file after file.

One statement encodes them all: a statement for each file would cost more than its rows.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from warehouse.mart.row_json import key_column_kind, key_column_sql, row_json_sql
from warehouse.mart.search_index import TEXT_PREFIX, WRITTEN_TEXTS
from warehouse.mart.tables import Columns, MartTable
from warehouse.record.store import sql_text

# The view of the rows as they come; its column ``file_key`` says in which file each lies.
ROWS, FILE_KEY = "mart_rows", "file_key"
_BATCH = 20_000
# Objects that are stored once in a file: in the order of their owners, those of the newest years
# first. They are cut out as text, since DuckDB's JSON functions read a number as a double; no quote
# stands unescaped inside a string, so that the separator is one.
_OBJECTS = """
CREATE TEMP TABLE placed AS SELECT *, row_number() OVER () AS place FROM mart_rows;
CREATE TEMP TABLE pieces AS
SELECT place, file_key, organisation, period_end, unnest(texts) AS object,
    generate_subscripts(texts, 1) AS position
FROM (
    SELECT place, file_key, organisation, period_end,
        string_split(CAST({member} AS VARCHAR)[{begins}:-3], {separator}) AS texts
    FROM placed WHERE CAST({member} AS VARCHAR) <> '[]'
);
CREATE TEMP TABLE objects AS
SELECT file_key, organisation, object,
    row_number() OVER (PARTITION BY file_key ORDER BY organisation, newest DESC, object) AS number
FROM (SELECT file_key, organisation, object, max(period_end) AS newest FROM pieces GROUP BY ALL);
CREATE TEMP TABLE numbers AS
SELECT place, '[' || string_agg(number, ',' ORDER BY position) || ']' AS numbers
FROM pieces JOIN objects USING (file_key, organisation, object) GROUP BY place;
CREATE TEMP VIEW referring AS
SELECT placed.* EXCLUDE (place) REPLACE (CAST(coalesce(numbers, '[]') AS JSON) AS {member})
FROM placed LEFT JOIN numbers USING (place);
"""
# How every such object begins, and what is between two of them.
_BEGINS = '{"fact_id":'
_SEPARATOR = "}," + _BEGINS


@dataclass(frozen=True)
class EncodedRows:
    """The columns that a table is stored with, its rows, and the objects they share, by file."""

    columns: Columns
    rows: pa.RecordBatchReader
    objects: Mapping[str, pa.RecordBatch]

    def by_file(self) -> Iterator[tuple[str, Iterable[pa.RecordBatch]]]:
        """Yield the key of each file with its rows; read them before the next file."""
        for key, pieces in groupby(_pieces(self.rows), key=itemgetter(0)):
            yield key, (batch for _, batch in pieces)


def encoded_rows(
    sql: duckdb.DuckDBPyConnection, table: MartTable, paths: Sequence[str]
) -> EncodedRows:
    """Return the rows that lie in Parquet files, encoded; the connection must be a fresh one."""
    parquet = ", ".join(map(sql_text, paths))
    source = f"read_parquet([{parquet}], hive_partitioning = false)"
    sql.execute(f"CREATE TEMP VIEW {ROWS} AS FROM {source}")
    rows, objects = ROWS, dict[str, pa.RecordBatch]()
    if table.stored_once:
        rows, objects = "referring", _objects(sql, table)
    # The type of a column decides how its JSON is written.
    types = {name: kind for name, kind, *_ in sql.execute(f"DESCRIBE {rows}").fetchall()}
    columns: Columns = {name: key_column_kind(types, name) for name in table.keys}
    selected = [FILE_KEY]
    selected += [f'{key_column_sql(types, name)} AS "{name}"' for name in table.keys]
    row = row_json_sql(types, table.members, table.inside)
    if table.packed is not None:
        known_from, known_until = table.packed.known
        selected += [f"{known_from} AS known_from", f"{known_until} AS known_until"]
        key = key_column_sql(types, table.packed.by) if table.packed.by else "''"
        parts = ", ".join(key_column_sql(types, name) for name in table.packed.parted_by)
        part = f"CAST(to_json([{parts}]) AS VARCHAR)" if parts else "''"
        # With the comma, any run of rows can be cut out of a pack and sent as it is.
        selected += [f"{key} AS pack_key", f"{part} AS part", f"{row} || ',' AS row"]
    elif table.members:
        columns["row"] = "bytes"
        selected.append(f"{row} AS row")
    texts = WRITTEN_TEXTS.get(table.name, {})
    selected += [f"{text} AS {TEXT_PREFIX}{name}" for name, text in texts.items()]
    statement = f"SELECT {', '.join(selected)} FROM {rows} ORDER BY {FILE_KEY}, {table.order}"
    return EncodedRows(columns, sql.sql(statement).to_arrow_reader(_BATCH), objects)


def _objects(sql: duckdb.DuckDBPyConnection, table: MartTable) -> dict[str, pa.RecordBatch]:
    """Return the objects that rows share, in order; the view of rows with their numbers is made."""
    sql.execute(
        _OBJECTS.format(
            member=table.stored_once, begins=len(_BEGINS) + 2, separator=sql_text(_SEPARATOR)
        )
    )
    row = f"concat({sql_text(_BEGINS)}, object, '}}') AS row"
    statement = f"SELECT {FILE_KEY}, {row} FROM objects ORDER BY {FILE_KEY}, number"
    found = sql.sql(statement).to_arrow_table().combine_chunks()
    return dict(_pieces(found.to_batches()))


def _pieces(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield rows of one file each; those of a file can be several pieces."""
    for batch in batches:
        runs, begin = pc.run_end_encode(batch[FILE_KEY]), 0
        for key, end in zip(runs.values.to_pylist(), runs.run_ends.to_pylist(), strict=True):
            yield key, batch.slice(begin, end - begin)
            begin = end
