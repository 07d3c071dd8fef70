"""Any statement over whole tables of a build: they are read into memory first."""

import re
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from typing import Any

from warehouse.publish.tables import MART_TABLES, MartTable
from warehouse.serve.build import Build
from warehouse.serve.engines import SqlRows
from warehouse.serve.rows import fetch_rows

_TABLES = {table.name: table for table in MART_TABLES}
_NAMED = re.compile(r"\b(?:FROM|JOIN)\s+(\w+)", re.IGNORECASE)
# The JSON of rows is read only if a statement needs it.
_ROW = re.compile(r"\brow\b|\*")
# Tables of the search, which lie in the file of `search`, and their columns.
_OF_SEARCH = {"search_keys": ("key", "is_name", "search_row"), "vocabulary": ("word", "uses")}


def query(build: Build, statement: str, *values: object) -> SqlRows:
    """Run a statement; tables have their columns and, if rows are served, ``row``."""
    with closing(sqlite3.connect(":memory:")) as memory:
        for name in dict.fromkeys(_NAMED.findall(statement)):
            if name in _TABLES:
                _copy(build, _TABLES[name], memory, _ROW.search(statement) is not None)
            elif name in _OF_SEARCH:
                (file,) = build.files("search")
                columns = _OF_SEARCH[name]
                rows = file.query(f"SELECT {', '.join(columns)} FROM {name}")
                _insert(memory, name, columns, rows)
        return memory.execute(statement, values).fetchall()


def _copy(build: Build, table: MartTable, memory: sqlite3.Connection, with_row: bool) -> None:
    columns = ["row_number", *table.keys]
    rows = fetch_rows(build, ", ".join(columns), table.name, [])
    # In one table, rows are numbered through.
    numbered = [(number, *row[1:]) for number, row in enumerate(rows, 1)]
    if table.members and with_row:
        bodies = fetch_rows(build, "row", table.name, [])
        columns.append("row")
        numbered = [(*row, body) for row, (body,) in zip(numbered, bodies, strict=True)]
    _insert(memory, table.name, columns, numbered)


def _insert(
    memory: sqlite3.Connection, name: str, columns: Sequence[str], rows: Sequence[tuple[Any, ...]]
) -> None:
    memory.execute(f"CREATE TABLE IF NOT EXISTS {name} ({', '.join(columns)})")
    memory.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * len(columns))})", rows)
