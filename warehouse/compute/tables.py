"""Tables as Parquet files, for statements that read a whole table of the record."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import duckdb
import pyarrow as pa


@dataclass(frozen=True)
class TableFiles:
    """A table: its files, some of which may lack columns of its schema. Those are null."""

    schema: pa.Schema
    paths: Sequence[str]


@dataclass(frozen=True)
class Scatter:
    """Rows to be written to Parquet files in ``folder/partition=<name>/``, by that column.

    ``statement`` is SQL of DuckDB. It can be run on ``sql``; elsewhere it needs the files that
    ``tables`` returns for the tables it names.
    """

    statement: str
    folder: str
    sql: duckdb.DuckDBPyConnection
    tables: Callable[[], Mapping[str, TableFiles]]
