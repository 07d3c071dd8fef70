"""Read packs from a table of the database: in PostgreSQL, and in builds made before version 12."""

from collections.abc import Iterator
from functools import lru_cache, partial

from warehouse.mart.tables import FILES_SINCE
from warehouse.read.engines import FileReader, SqlRows
from warehouse.read.mart import Build
from warehouse.read.pack_files import INDEX_OF_ONE, LazyPack, StoredPack, decompress

_COLUMNS = "first_row, has_next, all_latest, row_count, packed"
# Before version 9 the index was a column of its own, of three 32-bit numbers a row.
_COLUMNS_BEFORE = "first_row, has_next, all_latest, row_index, rows"
_BYTES_A_ROW = 12
# Decompressed packs that are kept: the newest rows are asked for most.
_decompress = lru_cache(128)(decompress)


class PackTable:
    """The packs of one table of a file."""

    def __init__(self, build: Build, file: FileReader, table: str) -> None:
        self._file, self._table = file, f"{file.prefix}{table}_packs"
        self._columns = _COLUMNS if build.schema_version >= FILES_SINCE else _COLUMNS_BEFORE

    def keys_and_parts(self) -> list[tuple[str, str]]:
        """Return every key, with the part of the file that its rows lie in."""
        return [(key, part) for key, part in self._query("SELECT DISTINCT pack_key, part FROM {}")]

    def of_key(self, key: str, after: int = 0) -> Iterator[StoredPack]:
        """Yield the packs of a key, from the one with the first row after ``after``."""
        of_key = f"SELECT {self._columns} FROM {{}} WHERE pack_key = ?"
        found: SqlRows = []
        if after:
            containing = f"{of_key} AND first_row <= ? ORDER BY first_row DESC LIMIT 1"
            found = self._query(containing, key, after + 1)
        # Either there is no cursor, or it points before the first row of this key.
        found = found or self._query(f"{of_key} ORDER BY first_row LIMIT 1", key)
        following = f"{of_key} AND first_row > ? ORDER BY first_row LIMIT 1"
        while found:
            pack = _stored(*found[0])
            yield pack
            found = self._query(following, key, pack.first_row) if pack.has_next else []

    def row_of_key(self, key: str) -> bytes | None:
        """Return the row of a key that has only one; None if there is no such key."""
        return next((pack.data[INDEX_OF_ONE:-1] for pack in self.of_key(key)), None)

    def with_rows(self, first: int, last: int) -> Iterator[LazyPack]:
        """Yield the packs that have rows from ``first`` to ``last``."""
        found = self._query(
            f"SELECT {self._columns} FROM {{0}} WHERE first_row <= ? AND first_row >= "
            "(SELECT max(first_row) FROM {0} WHERE first_row <= ?) ORDER BY first_row",
            last,
            first,
        )
        for row in found:
            yield LazyPack(row[0], _count(row[3]), partial(_data, row[3], row[4]))

    def _query(self, statement: str, *values: object) -> SqlRows:
        return self._file.query(statement.format(self._table), *values)


def _stored(
    first_row: int, has_next: int, all_latest: int, counted: int | bytes, packed: bytes
) -> StoredPack:
    data = _data(counted, packed)
    return StoredPack(first_row, bool(has_next), bool(all_latest), _count(counted), data)


def _count(counted: int | bytes) -> int:
    return counted if isinstance(counted, int) else len(counted) // _BYTES_A_ROW


def _data(counted: int | bytes, packed: bytes) -> bytes:
    return _decompress(packed) if isinstance(counted, int) else counted + packed
