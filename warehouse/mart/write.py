"""One build as one SQLite file: written beside, and in its place only when complete."""

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

from warehouse.mart.audit import audit
from warehouse.mart.pointer import build_file, settle
from warehouse.mart.tables import MART_TABLES, MartTable
from warehouse.mart.vintages import all_vintages
from warehouse.record.store import Record
from warehouse.record.tables import RecordTable
from warehouse.wire import encode

# A number for the form of the file: with another one an unchanged record is published anew.
LAYOUT = 1
_BATCH = 10_000
_COMMON = ("available_at", "superseded_at", "vintage", "withdrawn", "latest")
_INTEGERS = ("vintage", "withdrawn", "latest")


def write_build(
    record: Record, folder: Path, data_version: str, loads: Mapping[str, int], notice: str
) -> Path:
    """Write the complete build of a data_version; no reader sees it before it is complete."""
    place = build_file(folder, data_version)
    beside = place.with_suffix(".partial")
    beside.unlink(missing_ok=True)
    with closing(sqlite3.connect(beside, isolation_level=None)) as mart:
        mart.execute("PRAGMA journal_mode = OFF")
        mart.execute("PRAGMA synchronous = OFF")
        mart.execute("BEGIN")
        _write_about(mart, data_version, loads, notice)
        vintages = partial(_vintages, record, loads)
        for table in MART_TABLES:
            _create(mart, table)
            statement = f"SELECT * FROM ({table.rows(vintages)}) ORDER BY {table.order}"
            _insert(mart, table, _rows(record, table, statement))
        mart.execute("COMMIT")
        mart.execute("ANALYZE")
    settle(beside, place)
    return place


def _vintages(record: Record, loads: Mapping[str, int], table: RecordTable) -> str:
    return all_vintages(table, record.relation(table.name), loads[table.name])


def _write_about(
    mart: sqlite3.Connection, data_version: str, loads: Mapping[str, int], notice: str
) -> None:
    about = {"data_version": data_version, "notice": notice, "made_from": made_from(loads)}
    mart.execute("CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL)")
    mart.executemany("INSERT INTO about VALUES (?, ?)", about.items())


def made_from(loads: Mapping[str, int]) -> str:
    """Say what a build was made from: the last load of each table, and the form it has."""
    return encode({"layout": LAYOUT, "loads": dict(sorted(loads.items()))}).decode()


def _create(mart: sqlite3.Connection, table: MartTable) -> None:
    columns = [f"{name} TEXT" for name in table.keys]
    columns += [f"{name} {'INTEGER' if name in _INTEGERS else 'TEXT'}" for name in _COMMON]
    mart.execute(f"CREATE TABLE {table.name} ({', '.join(columns)}, row BLOB NOT NULL)")
    for number, asked in enumerate(table.indexes):
        mart.execute(f"CREATE INDEX {table.name}_{number} ON {table.name} {asked}")


def _insert(mart: sqlite3.Connection, table: MartTable, rows: Iterator[tuple[Any, ...]]) -> None:
    places = ", ".join("?" * (len(table.keys) + len(_COMMON) + 1))
    mart.executemany(f"INSERT INTO {table.name} VALUES ({places})", rows)


def _rows(record: Record, table: MartTable, statement: str) -> Iterator[tuple[Any, ...]]:
    for batch in record.sql.sql(statement).to_arrow_reader(_BATCH):
        for row in batch.to_pylist():
            audit(table.name, row)
            asked = (_stored(row[name]) or "" for name in table.keys)
            common = (_stored(row[name]) for name in _COMMON)
            yield (*asked, *common, encode(table.shape(row)))


def _stored(value: Any) -> Any:
    return value.isoformat() if isinstance(value, date) else value
