"""Write a build as one SQLite file, which gets its final name only when it is complete."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

import pyarrow as pa
from adbc_driver_sqlite import dbapi

from warehouse.mart.sqlite_builds import build_file, move_into_place
from warehouse.mart.tables import ROW_NUMBERS, Columns

_TYPES = {"text": "TEXT NOT NULL", "integer": "INTEGER", "bytes": "BLOB NOT NULL"}
# No journal and no fsync: nobody reads the partial file, and one left by a crash is deleted.
# A negative cache_size counts KiB; with analysis_limit, ANALYZE reads only a sample of an index.
_PRAGMAS = (
    "page_size = 8192",
    "journal_mode = OFF",
    "synchronous = OFF",
    "locking_mode = EXCLUSIVE",
    "cache_size = -65536",
    "analysis_limit = 1000",
)


class SqliteLoader:
    """Writes the file of one data_version; implements ``warehouse.mart.write.Loader``."""

    def __init__(self, folder: Path, data_version: str) -> None:
        self._target = build_file(folder, data_version)
        self._partial = self._target.with_suffix(".partial")

    def __enter__(self) -> Self:
        self._partial.parent.mkdir(parents=True, exist_ok=True)
        self._partial.unlink(missing_ok=True)
        self._mart = dbapi.connect(str(self._partial), autocommit=True)
        self._sql = self._mart.cursor()
        for pragma in _PRAGMAS:
            self._sql.execute(f"PRAGMA {pragma}")
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if error is None:
            # Statistics for the query planner.
            self._sql.execute("ANALYZE")
        self._sql.close()
        self._mart.close()
        if error is None:
            move_into_place(self._partial, self._target)
        else:
            self._partial.unlink(missing_ok=True)

    def write_metadata(self, metadata: Mapping[str, str]) -> None:
        """Write the metadata of the build."""
        self._sql.execute("CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL)")
        rows = pa.table({"name": list(metadata), "value": list(metadata.values())})
        self._sql.adbc_ingest("about", rows, mode="append")

    def load(
        self, table: str, columns: Columns, rows: pa.RecordBatchReader, indexes: Sequence[str]
    ) -> None:
        """Create a table, load its rows in order, then create its indexes."""
        declared = [f'"{name}" {_TYPES[kind]}' for name, kind in columns.items()]
        first = rows.schema.names[0]
        if first in ROW_NUMBERS:
            declared.insert(0, f"{first} INTEGER PRIMARY KEY")
        self._sql.execute(f"CREATE TABLE {table} ({', '.join(declared)})")
        self._sql.adbc_ingest(table, rows, mode="append")
        # After the rows: sorting them once is cheaper than updating an index row by row.
        for number, index in enumerate(indexes):
            self._sql.execute(f"CREATE INDEX {table}_{number} ON {table} {index}")
