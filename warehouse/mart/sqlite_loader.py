"""Write a file of the mart as SQLite; it gets its final name only when it is complete."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Self

import pyarrow as pa
from adbc_driver_sqlite import dbapi

from warehouse.mart.builds import file_of_key, packs_of_key
from warehouse.mart.pack_files import write_packs
from warehouse.mart.tables import ROW_NUMBERS, Columns
from warehouse.steps.files import StoredFile

_TYPES = {
    "text": "TEXT NOT NULL",
    "integer": "INTEGER",
    "real": "REAL",
    "bytes": "BLOB NOT NULL",
}
# No journal and no fsync: nobody reads the partial file, and one left by a crash is deleted.
# A negative cache_size counts KiB; with analysis_limit, ANALYZE reads only a sample of an index.
_PRAGMAS = (
    "page_size = 4096",
    "journal_mode = OFF",
    "synchronous = OFF",
    "locking_mode = EXCLUSIVE",
    "cache_size = -65536",
    "analysis_limit = 1000",
)


class SqliteLoader:
    """Writes the file of one key; it is complete when the context is left without an error."""

    def __init__(self, folder: Path, key: str) -> None:
        self._key = key
        self._target = file_of_key(folder, key)
        self._partial = self._target.with_suffix(".partial")
        self._packs = packs_of_key(folder, key)
        self._partial_packs = self._packs.with_suffix(".partial")

    def __enter__(self) -> Self:
        self._partial.parent.mkdir(parents=True, exist_ok=True)
        self._partial.unlink(missing_ok=True)
        self._partial_packs.unlink(missing_ok=True)
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
            # They are synced to disk before a manifest names them; see ``Builds.add``.
            if self._partial_packs.exists():
                self._partial_packs.replace(self._packs)
            self._partial.replace(self._target)
        else:
            self._partial.unlink(missing_ok=True)
            self._partial_packs.unlink(missing_ok=True)

    def load(
        self,
        table: str,
        columns: Columns,
        rows: pa.RecordBatchReader,
        indexes: Sequence[str],
        primary_key: str = "",
    ) -> None:
        """Create a table, load its rows in order, then create its indexes.

        Rows that are numbered have their number as primary key.
        """
        declared = [f'"{name}" {_TYPES[kind]}' for name, kind in columns.items()]
        first = rows.schema.names[0]
        if first in ROW_NUMBERS:
            declared.insert(0, f"{first} INTEGER PRIMARY KEY")
        if primary_key:
            declared.append(f"PRIMARY KEY ({primary_key})")
        # A table that is its own index, instead of an index beside it with the same columns.
        options = "WITHOUT ROWID" if primary_key else ""
        self._sql.execute(f"CREATE TABLE {table} ({', '.join(declared)}) {options}")
        self._sql.adbc_ingest(table, rows, mode="append")
        # After the rows: sorting them once is cheaper than updating an index row by row.
        for number, index in enumerate(indexes):
            self._sql.execute(f"CREATE INDEX {table}_{number} ON {table} {index}")

    def load_packs(self, packs: pa.RecordBatchReader, by_key: bool) -> None:
        """Write packs into a file of their own; ``by_key``: they are found by keys as well."""
        self._partial_packs.parent.mkdir(exist_ok=True)
        write_packs(self._partial_packs, packs, by_key)

    def load_words(self, rows: pa.RecordBatchReader) -> None:
        """Create the table ``words``: rows found by words of the texts ``name`` and ``more``."""
        # The texts come split into words that the tokenizer leaves as they are.
        self._load_index("words", ("name", "more"), "detail=column, tokenize='ascii'", rows)

    def load_trigrams(self, rows: pa.RecordBatchReader) -> None:
        """Create the table ``trigrams``: rows found by three neighbouring characters."""
        options = "detail=none, tokenize='trigram case_sensitive 1'"
        self._load_index("trigrams", ("text",), options, rows)

    def _load_index(
        self, table: str, columns: Sequence[str], options: str, rows: pa.RecordBatchReader
    ) -> None:
        """Create a full-text index that keeps neither the texts nor their lengths."""
        names = ", ".join(columns)
        self._sql.execute(
            f"CREATE VIRTUAL TABLE {table} USING fts5({names}, content='', columnsize=0, {options})"
        )
        self._sql.execute(f"CREATE TEMP TABLE loaded (row_number INTEGER PRIMARY KEY, {names})")
        self._sql.adbc_ingest("loaded", rows, mode="append", temporary=True)
        self._sql.execute(
            f"INSERT INTO {table} (rowid, {names}) SELECT row_number, {names} FROM temp.loaded "
            "ORDER BY row_number"
        )
        # Merged into one list for each word: nothing is ever added.
        self._sql.execute(f"INSERT INTO {table} ({table}) VALUES ('optimize')")
        self._sql.execute("DROP TABLE temp.loaded")

    def written(self) -> tuple[StoredFile, StoredFile | None]:
        """Return the finished file, and the one with its packs."""
        return _stored(self._target), _stored(self._packs) if self._packs.exists() else None


def _stored(path: Path) -> StoredFile:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return StoredFile(f"{path.parent.name}/{path.name}", digest, path.stat().st_size)
