"""How DuckDB reads rows: the process's reader of local files, relations over Parquet, tables."""

from collections.abc import Iterable, Sequence
from functools import cache

import duckdb
import pyarrow as pa

from warehouse.shared.file_store import FileStore
from warehouse.shared.settings import spill_folder


@cache
def local_reader() -> duckdb.DuckDBPyConnection:
    """Return the DuckDB that reads local files, one for all records of this process.

    To open one takes longer than most queries of a load.
    """
    return open_reader()


def open_reader() -> duckdb.DuckDBPyConnection:
    """Open a DuckDB that spills to disk rather than take all memory."""
    # No query relies on the order of rows in a file, and keeping it would take memory.
    connection = duckdb.connect(
        config={"preserve_insertion_order": False, "temp_directory": spill_folder()}
    )
    # vintages_query casts timestamps to days, and those are days in UTC.
    connection.execute("SET GLOBAL TimeZone = 'UTC'")
    return connection


def register_store(connection: duckdb.DuckDBPyConnection, store: FileStore) -> None:
    """Let a DuckDB connection read and write a store through fsspec."""
    # DuckDB's own extension for object stores is not to be had for this version.
    protocol = store.url().split("://")[0]
    if not store.is_local and protocol not in connection.list_filesystems():
        connection.register_filesystem(store.files)


def parquet_relation(schema: pa.Schema, paths: Sequence[str], *, uniform: bool) -> str:
    """Return the SQL relation over files of a table; without files, an empty one.

    Unless the files are ``uniform``, some may lack columns of the schema: those are null.
    """
    if not paths:
        return empty_relation(schema)
    if uniform:
        return relation_of_files(paths)
    # DuckDB has to read the footer of every file first. The empty relation adds the columns that
    # none of these files has, with their types.
    return (
        f"(SELECT {', '.join(schema.names)} FROM ({empty_relation(schema)} UNION ALL BY NAME "
        f"SELECT * FROM {relation_of_files(paths, ', union_by_name = true')}))"
    )


def relation_of_files(paths: Iterable[str], options: str = "") -> str:
    """Return the SQL relation over files, of which there must be one."""
    # The wildcard of ``read_parquet`` is escaped.
    escaped = ", ".join(sql_text(path.replace("*", "[*]")) for path in paths)
    return f"read_parquet([{escaped}]{options})"


def empty_relation(schema: pa.Schema) -> str:
    """Return the SQL relation of a table without rows."""
    columns = ", ".join(f"NULL::{_sql_type(column.type)} AS {column.name}" for column in schema)
    return f"(SELECT {columns} WHERE FALSE)"


def sql_text(value: str) -> str:
    """Return a text as an SQL literal."""
    return "'" + value.replace("'", "''") + "'"


def create_table(
    sql: duckdb.DuckDBPyConnection, name: str, rows: pa.Table, kind: str = "TABLE"
) -> None:
    """Create a table of rows, in place of one of that name."""
    sql.register("given_rows", rows)
    sql.execute(f"CREATE OR REPLACE {kind} {name} AS FROM given_rows")
    sql.unregister("given_rows")


@cache
def _sql_type(kind: pa.DataType) -> str:
    return str(duckdb.from_arrow(pa.table({"x": pa.nulls(0, kind)})).types[0])
