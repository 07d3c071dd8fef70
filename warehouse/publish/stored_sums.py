"""What each data file of the record has of each key: its rows, and the sum of their hashes.

A data file never changes, so it is read for this once. Sums add up to the fingerprint of any
partition, and say which files have rows of it: a publication reads those, and no others.
They are a copy that may be deleted at any time, next to the indexes of the files.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from uuid import uuid4

import duckdb

from warehouse.record.integrity import require_intact_files
from warehouse.record.relations import sql_text
from warehouse.record.row_index import SUMS
from warehouse.record.store import DataFile, Record
from warehouse.record.tables import RecordTable, record_schema
from warehouse.shared.files import check_of_file

# Files that one statement reads: to plan it takes about a millisecond for each.
_FILES = 64


@dataclass
class StoredSums:
    """The sums of the files of a table as it is now, by the columns of a key and by load."""

    sql: duckdb.DuckDBPyConnection
    record: Record
    table: RecordTable
    keys: Sequence[str]

    @cached_property
    def relation(self) -> str:
        """The relation: ``file``, the keys, ``load_seq``, ``rows`` and ``total``.

        Files that have no sums yet are checked and read.
        """
        known, kept = self._known()
        new = [file for name, file in self._files.items() if name not in known]
        if kept is None or new or known - self._files.keys():
            self._write(kept, new)
            _, kept = self._known()
        return f"read_parquet({sql_text(str(kept))})"

    def rows(self, names: Iterable[str]) -> str:
        """Return the relation of the rows of the files with these names, once they are checked."""
        files = [self._files[name] for name in sorted(names)]
        require_intact_files(self.record, self.table.name, files)
        return self.record.relation(self.table.name, files=files)

    @cached_property
    def _files(self) -> dict[str, DataFile]:
        # Listed once: files that a load merges meanwhile stay where they are for some hours.
        return {_name(file): file for file in self.record.files(self.table.name)}

    def _known(self) -> tuple[set[str], Path | None]:
        """Return the files whose sums are kept, and where; none if what is kept is damaged."""
        for path in self._folder.glob(f"{self._version}.*{SUMS}"):
            if check_of_file(path).xxh3 == path.name.split(".")[1]:
                listed = f"SELECT DISTINCT file FROM read_parquet({sql_text(str(path))})"
                return {file for (file,) in self.sql.execute(listed).fetchall()}, path
        return set(), None

    def _write(self, kept: Path | None, new: Sequence[DataFile]) -> None:
        """Write the sums of all files anew: those that are kept, and those of new files."""
        require_intact_files(self.record, self.table.name, new)
        empty = self._summed("", self.record.relation(self.table.name, files=()))
        self.sql.execute(f"CREATE OR REPLACE TEMP TABLE file_sums AS {empty}")
        if kept is not None:
            current = ", ".join(map(sql_text, self._files)) or "''"
            rows = f"FROM read_parquet({sql_text(str(kept))}) WHERE file IN ({current})"
            self.sql.execute(f"INSERT INTO file_sums {rows}")
        for first in range(0, len(new), _FILES):
            summed = [
                self._summed(_name(file), self.record.relation(self.table.name, files=[file]))
                for file in new[first : first + _FILES]
            ]
            self.sql.execute(f"INSERT INTO file_sums {' UNION ALL '.join(summed)}")
        self._folder.mkdir(parents=True, exist_ok=True)
        written = self._folder / f"{uuid4().hex}.part"
        self.sql.execute(f"COPY file_sums TO {sql_text(str(written))} (FORMAT parquet)")
        self.sql.execute("DROP TABLE file_sums")
        target = self._folder / f"{self._version}.{check_of_file(written).xxh3}{SUMS}"
        for old in {*self._folder.glob(f"*{SUMS}")} - {target}:
            old.unlink(missing_ok=True)
        written.replace(target)

    def _summed(self, file: str, rows: str) -> str:
        keys = ", ".join(self.keys)
        # Parquet has no integers of 128 bits, in which DuckDB adds up hashes.
        return (
            f"SELECT {sql_text(file)} AS file, {keys}, load_seq, count(*) AS rows, "
            f"CAST(sum(hash({', '.join(hashed_columns(self.table))})) AS DECIMAL(38, 0)) AS total "
            f"FROM {rows} GROUP BY ALL"
        )

    @property
    def _folder(self) -> Path:
        return self.record.index_folder(self.table.name)

    @property
    def _version(self) -> str:
        """Of what decides the sums: the keys, what is hashed, and DuckDB, whose hash it is."""
        parts = [duckdb.__version__, *self.keys, "of", *hashed_columns(self.table)]
        return hashlib.sha256(" ".join(parts).encode()).hexdigest()[:12]


def _name(file: DataFile) -> str:
    return file.path.rsplit("/", 1)[-1]


def hashed_columns(table: RecordTable) -> list[str]:
    """Return the columns whose values decide all others of a stored row.

    Its hashes cover what identifies it and its content.
    """
    covered = {*table.identity, *table.content}
    return [name for name in record_schema(table).names if name not in covered]
