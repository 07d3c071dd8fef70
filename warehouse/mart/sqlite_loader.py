"""A build as one SQLite file: written beside, and in its place only when complete."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

import pyarrow as pa
from adbc_driver_sqlite import dbapi

from warehouse.mart.sqlite_builds import build_file, move_into_place
from warehouse.mart.tables import Columns

_TYPES = {"text": "TEXT NOT NULL", "integer": "INTEGER", "bytes": "BLOB NOT NULL"}
# The file is nobody's until it is settled: a half-written one is thrown away.
_PRAGMAS = (
    "page_size = 8192",
    "journal_mode = OFF",
    "synchronous = OFF",
    "locking_mode = EXCLUSIVE",
    "cache_size = -65536",
    "analysis_limit = 1000",
)


class SqliteLoader:
    """Writes the file of one data_version."""

    def __init__(self, folder: Path, data_version: str) -> None:
        self._place = build_file(folder, data_version)
        self._beside = self._place.with_suffix(".partial")

    def __enter__(self) -> Self:
        self._beside.parent.mkdir(parents=True, exist_ok=True)
        self._beside.unlink(missing_ok=True)
        self._mart = dbapi.connect(str(self._beside), autocommit=True)
        self._sql = self._mart.cursor()
        for pragma in _PRAGMAS:
            self._sql.execute(f"PRAGMA {pragma}")
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if error is None:
            self._sql.execute("ANALYZE")
        self._sql.close()
        self._mart.close()
        if error is None:
            move_into_place(self._beside, self._place)
        else:
            self._beside.unlink(missing_ok=True)

    def tell(self, about: Mapping[str, str]) -> None:
        """Keep what the build says of itself."""
        self._sql.execute("CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL)")
        told = pa.table({"name": list(about), "value": list(about.values())})
        self._sql.adbc_ingest("about", told, mode="append")

    def load(
        self, table: str, columns: Columns, rows: pa.RecordBatchReader, indexes: Sequence[str]
    ) -> None:
        """Make a table of rows, in their order, and then its indexes."""
        declared = [f'"{name}" {_TYPES[kind]}' for name, kind in columns.items()]
        if "place" in rows.schema.names:
            declared.insert(0, "place INTEGER PRIMARY KEY")
        self._sql.execute(f"CREATE TABLE {table} ({', '.join(declared)})")
        self._sql.adbc_ingest(table, rows, mode="append")
        for number, asked in enumerate(indexes):
            self._sql.execute(f"CREATE INDEX {table}_{number} ON {table} {asked}")
