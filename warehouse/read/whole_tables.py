"""Any statement over whole tables of a build: they are read into memory first.

For tests, commands and people who look into a build. Requests read the files that they need.
"""

import re
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from typing import Any

from warehouse.mart.tables import FILES_SINCE, MART_TABLES, MartTable
from warehouse.read.engines import SqlRows, translate_errors
from warehouse.read.mart import Build
from warehouse.read.rows import fetch_rows

_TABLES = {table.name: table for table in MART_TABLES}
_NAMED = re.compile(r"\b(?:FROM|JOIN)\s+(\w+)", re.IGNORECASE)
# The JSON of rows is read only if a statement needs it.
_ROW = re.compile(r"\brow\b|\*")
# Tables that lie in the file of another one: before version 11, names and words.
_BESIDE = {
    "names": ("entities",),
    "words": ("entities", "tender_releases"),
    "search_keys": ("search",),
    "vocabulary": ("search",),
}


def query_whole_tables(build: Build, statement: str, values: Sequence[object]) -> SqlRows:
    """Run a statement; tables have their columns and, if rows are served, ``row``.

    In a build of one file it runs there.
    """
    if build.schema_version < FILES_SINCE:
        (file,) = build.files("countries")
        return file.run(_NAMED.sub(rf"FROM {file.prefix}\1", statement), values)
    with translate_errors(sqlite3.Error), closing(sqlite3.connect(":memory:")) as memory:
        for name in dict.fromkeys(_NAMED.findall(statement)):
            if name in _TABLES:
                _copy(build, _TABLES[name], memory, _ROW.search(statement) is not None)
            elif name in _BESIDE:
                _copy_beside(build, name, memory)
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


def _copy_beside(build: Build, name: str, memory: sqlite3.Connection) -> None:
    for file in (file for owner in _BESIDE[name] for file in build.files(owner)):
        columns = _columns(name)
        rows = file.query(f"SELECT {', '.join(columns)} FROM {file.prefix}{name}")
        _insert(memory, name, columns, rows)


def _columns(name: str) -> list[str]:
    if name == "names":
        return ["folded", "country", "entity_row"]
    if name == "words":
        return ["field", "word", "row_numbers"]
    if name == "search_keys":
        return ["key", "is_name", "search_row"]
    return ["word", "uses"]


def _insert(
    memory: sqlite3.Connection, name: str, columns: Sequence[str], rows: Sequence[tuple[Any, ...]]
) -> None:
    memory.execute(f"CREATE TABLE IF NOT EXISTS {name} ({', '.join(columns)})")
    memory.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * len(columns))})", rows)
