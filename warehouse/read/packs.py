"""Read rows from their packs: runs of rows known on a day, or single rows by number.

``warehouse.mart.packs`` describes the format.
"""

import struct
import threading
from collections.abc import Iterator, Sequence
from datetime import date
from functools import cached_property
from typing import overload

import numpy as np
import numpy.typing as npt
import zstandard

from warehouse.mart.row_json import LATEST_DAY
from warehouse.mart.tables import FILES_SINCE, MART_TABLES
from warehouse.read.engines import FileReader, SqlRows
from warehouse.read.mart import Build

# Which tables are packed, and since which schema version; objects that rows share are, too.
_PACKED_BEFORE = ("fundamentals", "tender_releases", "macro_series")
_PACKED = {
    *(table.name for table in MART_TABLES if table.packed is not None),
    *(table.objects for table in MART_TABLES if table.stored_once),
}
_COLUMNS = "first_row, has_next, all_latest, row_count, packed"
_COLUMNS_BEFORE = "first_row, has_next, all_latest, row_index, rows"
_EPOCH = date(1970, 1, 1)
_NO_LIMIT = 1 << 31
_INT32 = struct.Struct("<i")
# The column whose value all rows of a pack share, for tables whose packs are read by it.
PACKED_BY = {table.name: table.packed.by for table in MART_TABLES if table.packed is not None}
# The label of a file, and the number of a row in it.
After = tuple[str, int] | None
# Runs of rows, as the positions in their pack where they begin and end, alternating.
Bounds = list[int] | npt.NDArray[np.int64]
# Decompressors are not safe to share among threads.
_thread = threading.local()


def is_packed(build: Build, table: str) -> bool:
    """Return whether the rows of a table lie in packs."""
    return table in (_PACKED if build.schema_version >= FILES_SINCE else _PACKED_BEFORE)


def _decompress(packed: bytes) -> bytes:
    decompressor = _thread.__dict__.get("decompressor")
    if decompressor is None:
        _thread.decompressor = decompressor = zstandard.ZstdDecompressor()
    data: bytes = decompressor.decompress(packed)
    return data


class Pack:
    """One pack as it was read."""

    __slots__ = ("_all_latest", "_begin", "_data", "count", "file", "first_row", "has_next")

    def __init__(
        self,
        file: FileReader,
        first_row: int,
        has_next: int,
        all_latest: int,
        counted: int | bytes,
        packed: bytes,
    ) -> None:
        self.file, self.first_row = file, first_row
        self.has_next, self._all_latest = has_next, all_latest
        # The index has three numbers a row, and one more offset, for the end of the last row.
        if isinstance(counted, int):
            # No day number looks like the beginning of a compressed pack.
            is_compressed = packed[: len(zstandard.FRAME_HEADER)] == zstandard.FRAME_HEADER
            self._data = _decompress(packed) if is_compressed else packed
            self.count = counted
        else:
            # Before version 9 the index was a column of its own.
            self._data = counted + packed
            self.count = len(counted) // (3 * _INT32.size)
        # Where the rows begin.
        self._begin = _INT32.size * (3 * self.count + 1)

    def row(self, position: int) -> bytes:
        """Return a row by its position in the pack, without its comma."""
        begin, end = self.offsets([position, position + 1])
        return self._data[begin : end - 1]

    @property
    def view(self) -> memoryview:
        """The bytes that ``offsets`` counts in."""
        return memoryview(self._data)

    def offsets(self, positions: Bounds) -> list[int]:
        """Return where rows begin in ``view``."""
        first, begin = 2 * self.count, self._begin
        # numpy only pays off for many positions; most packs have a single run.
        if isinstance(positions, list):
            return [
                begin + _INT32.unpack_from(self._data, _INT32.size * (first + position))[0]
                for position in positions
            ]
        offsets: list[int] = (self._numbers()[first:][positions] + begin).tolist()
        return offsets

    def _numbers(self) -> npt.NDArray[np.int32]:
        return np.frombuffer(self._data, "<i4", 3 * self.count + 1)

    def latest_on(self, day: int | None, skip: int) -> Bounds:
        """Return the runs of rows that were the latest known on a day; None means now.

        ``skip`` is how many rows at the beginning are left out.
        """
        if day is None and self._all_latest:
            return [skip, self.count] if skip < self.count else []
        numbers = self._numbers()
        known_until = numbers[self.count : 2 * self.count]
        # One False on both sides, so that a change marks the beginning and the end of every run.
        is_latest = np.zeros(self.count + 2, np.bool_)
        if day is None:
            np.equal(known_until, LATEST_DAY, out=is_latest[1:-1])
        else:
            # Half-open: on the day a vintage is superseded, the next one is the latest.
            known_from = numbers[: self.count]
            np.logical_and(known_from <= day, known_until > day, out=is_latest[1:-1])
        # One more than skip, because of the False in front.
        is_latest[: skip + 1] = False
        bounds: Bounds = np.flatnonzero(is_latest[1:] != is_latest[:-1])
        return bounds


class PackedRows(Sequence[bytes]):
    """Rows that are still in their packs; to send them all, use ``runs`` and split nothing."""

    def __init__(self) -> None:
        self._parts: list[tuple[Pack, Bounds]] = []
        self._count = 0

    def add(self, pack: Pack, bounds: Bounds, limit: int) -> bool:
        """Add the rows of some runs, at most ``limit``; return whether any were left out."""
        if isinstance(bounds, list):
            count = sum(bounds[1::2]) - sum(bounds[::2])
        else:
            count = int((bounds[1::2] - bounds[::2]).sum())
        if count > limit:
            self.add(pack, _shortened(bounds, limit), limit)
            return True
        if count:
            self._parts.append((pack, bounds))
            self._count += count
        return False

    def runs(self) -> list[memoryview]:
        """Return chunks that concatenate to comma-separated rows, without copying them."""
        chunks: list[memoryview] = []
        for pack, bounds in self._parts:
            rows, offsets = pack.view, iter(pack.offsets(bounds))
            chunks += [rows[begin:end] for begin, end in zip(offsets, offsets, strict=True)]
        if chunks:
            # The last row ends with a comma too.
            chunks[-1] = chunks[-1][:-1]
        return chunks

    @cached_property
    def _rows(self) -> list[bytes]:
        return [pack.row(position) for pack, position in self._positions]

    @cached_property
    def _positions(self) -> list[tuple[Pack, int]]:
        return [
            (pack, position)
            for pack, bounds in self._parts
            for begin, end in _pairs(bounds)
            for position in range(begin, end)
        ]

    def place(self, index: int) -> tuple[FileReader, int]:
        """Return the file of a row and its number there; the last (-1) is found without a list."""
        if index == -1:
            pack, bounds = self._parts[-1]
            return pack.file, pack.first_row + int(bounds[-1]) - 1
        pack, position = self._positions[index]
        return pack.file, pack.first_row + position

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> bytes: ...

    @overload
    def __getitem__(self, index: slice) -> list[bytes]: ...

    def __getitem__(self, index: int | slice) -> bytes | list[bytes]:
        return self._rows[index]

    def __eq__(self, other: object) -> bool:
        return self._rows == (other._rows if isinstance(other, PackedRows) else other)

    __hash__ = None  # type: ignore[assignment]


def latest_rows(
    build: Build, table: str, key: str, as_of: str | None, limit: int | None, after: After = None
) -> tuple[PackedRows, bool]:
    """Return the rows of a key that were the latest known on a day, and whether there are more.

    ``after`` is a file and a row number in it: only what follows is returned. The files of a key
    follow each other.
    """
    day = None if as_of is None else (date.fromisoformat(as_of) - _EPOCH).days
    rows, max_rows = PackedRows(), _NO_LIMIT if limit is None else limit
    files = build.files_with(table, PACKED_BY[table], key)
    begun = after is None
    for file in build.files(table) if files is None else files:
        if not begun and after is not None and file.label != after[0]:
            continue
        skipped = 0 if begun or after is None else after[1]
        begun = True
        for pack in _packs(build, file, table, key, skipped, limit is None):
            bounds = pack.latest_on(day, max(0, skipped - pack.first_row + 1))
            if rows.add(pack, bounds, max_rows - len(rows)):
                return rows, True
    return rows, False


def files_with_key(build: Build, table: str, key: str) -> int:
    """Return how many files have packs of a key; of several, the rows must be merged."""
    files = build.files_with(table, PACKED_BY[table], key)
    if files is not None or len(build.files(table)) == 1:
        return 1
    statement = "SELECT 1 FROM {table} WHERE pack_key = ? LIMIT 1"
    return sum(
        bool(file.query(statement.replace("{table}", f"{file.prefix}{table}_packs"), key))
        for file in build.files(table)
    )


def rows_by_number(
    build: Build, file: FileReader, table: str, numbers: Sequence[int]
) -> list[bytes]:
    """Return rows of a file by their numbers; neighbours in one pack are read with one query."""
    statement = (
        f"SELECT {_columns(build)} FROM {file.prefix}{table}_packs "
        "WHERE first_row <= ? ORDER BY first_row DESC LIMIT 1"
    )
    pack, rows = None, []
    for number in numbers:
        if pack is None or not 0 <= number - pack.first_row < pack.count:
            pack = Pack(file, *file.query(statement, number)[0])
        rows.append(pack.row(number - pack.first_row))
    return rows


def _columns(build: Build) -> str:
    return _COLUMNS if build.schema_version >= FILES_SINCE else _COLUMNS_BEFORE


def _pairs(bounds: Bounds) -> list[tuple[int, int]]:
    positions = [int(position) for position in bounds]
    return list(zip(positions[::2], positions[1::2], strict=True))


def _shortened(bounds: Bounds, limit: int) -> Bounds:
    """Return the runs of the first ``limit`` rows."""
    shortened: list[int] = []
    for begin, end in _pairs(bounds):
        if limit > 0:
            shortened += (begin, min(end, begin + limit))
        limit -= end - begin
    return shortened


def _packs(
    build: Build, file: FileReader, table: str, key: str, after: int, read_all: bool
) -> Iterator[Pack]:
    """Yield the packs of a key from the one with the first row after ``after``.

    Packs are read one at a time, since a page rarely needs a second one.
    """
    packs_of_key = f"SELECT {_columns(build)} FROM {file.prefix}{table}_packs WHERE pack_key = ?"
    batch: SqlRows = []
    if read_all:
        batch = file.query(f"{packs_of_key} ORDER BY first_row", key)
    elif after:
        containing = f"{packs_of_key} AND first_row <= ? ORDER BY first_row DESC LIMIT 1"
        batch = file.query(containing, key, after + 1)
    if not batch and not read_all:
        # Either there is no cursor, or it points before the first row of this key.
        batch = file.query(f"{packs_of_key} ORDER BY first_row LIMIT 1", key)
    following = f"{packs_of_key} AND first_row > ? ORDER BY first_row LIMIT 1"
    while batch:
        last = Pack(file, *batch[-1])
        yield from (Pack(file, *row) for row in batch[:-1])
        yield last
        has_next = last.has_next and not read_all
        batch = file.query(following, key, last.first_row) if has_next else []
