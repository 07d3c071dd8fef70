"""Read rows from their packs: runs of rows known on a day, or single rows by number.

``warehouse.mart.packs`` describes the format.
"""

import struct
import threading
from collections.abc import Iterator, Sequence
from datetime import date
from functools import cached_property, lru_cache
from typing import overload

import numpy as np
import numpy.typing as npt
import zstandard

from warehouse.mart.row_json import LATEST_DAY
from warehouse.mart.tables import FILES_SINCE, MART_TABLES, SEVERAL_PARTS
from warehouse.read.engines import FileReader, SqlRows
from warehouse.read.mart import Build

# Which tables are packed, and were before a build was a manifest of files.
_PACKED = {table.name for table in MART_TABLES if table.packed is not None}
_PACKED_BEFORE = ("fundamentals", "tender_releases", "macro_series")
_COLUMNS = "first_row, has_next, all_latest, row_count, packed"
_COLUMNS_BEFORE = "first_row, has_next, all_latest, row_index, rows"
_EPOCH = date(1970, 1, 1)
_NO_LIMIT = 1 << 31
_INT32 = struct.Struct("<i")
_TWO_INT32 = struct.Struct("<2i")
# Rows that are no further apart are read with one query: a pack that is not needed is not
# decompressed, and costs less than another query.
_NEAR = 64
# The column whose value all rows of a pack share, for tables whose packs are read by it.
PACKED_BY = {table.name: table.packed.by for table in MART_TABLES if table.packed is not None}
# The label of a file, and the number of a row in it.
After = tuple[str, int] | None
# Runs of rows, as the positions in their pack where they begin and end, alternating.
Bounds = list[int] | npt.NDArray[np.int64]
# Decompressors are not safe to share among threads.
_thread = threading.local()
# Decompressed packs that are kept: the newest rows are asked for most. Few, since a pack of large
# releases has some hundred kilobytes.
_KEPT = 128


def is_packed(build: Build, table: str) -> bool:
    """Return whether the rows of a table lie in packs."""
    return table in (_PACKED if build.schema_version >= FILES_SINCE else _PACKED_BEFORE)


@lru_cache(_KEPT)
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
            self.count = _count(counted)
        # Where the rows begin.
        self._begin = _INT32.size * (3 * self.count + 1)

    def row(self, position: int) -> bytes:
        """Return a row by its position in the pack, without its comma."""
        place = _INT32.size * (2 * self.count + position)
        begin, end = _TWO_INT32.unpack_from(self._data, place)
        return self._data[self._begin + begin : self._begin + end - 1]

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
    build: Build,
    table: str,
    key: str,
    as_of: str | None,
    limit: int | None,
    after: After = None,
) -> tuple[PackedRows, bool] | None:
    """Return the rows of a key that were the latest known on a day, and whether there are more.

    ``after`` is a file and a row number in it: only what follows is returned. None if the rows of
    the key lie in several files and have to be merged.
    """
    files = _files_with_key(build, table, key)
    if files is None:
        return None
    day = None if as_of is None else (date.fromisoformat(as_of) - _EPOCH).days
    rows, max_rows = PackedRows(), _NO_LIMIT if limit is None else limit
    begun = after is None
    for file in files:
        if not begun and after is not None and file.label != after[0]:
            continue
        skipped = 0 if begun or after is None else after[1]
        begun = True
        for pack in _packs(build, file, table, key, skipped, limit is None):
            bounds = pack.latest_on(day, max(0, skipped - pack.first_row + 1))
            if rows.add(pack, bounds, max_rows - len(rows)):
                return rows, True
    return rows, False


def _files_with_key(build: Build, table: str, key: str) -> Sequence[FileReader] | None:
    """Return the files with packs of a key, as they follow each other; None if they do not."""
    files = build.files_with(table, PACKED_BY[table], key)
    if files is not None:
        return files
    if len(build.files(table)) == 1:
        return build.files(table)
    by_key = build.made_once(f"keys of {table}", lambda: _files_by_key(build, table))
    return by_key.get(key, ())


def _files_by_key(build: Build, table: str) -> dict[str, Sequence[FileReader] | None]:
    files: dict[str, list[FileReader]] = {}
    parts: dict[str, set[str]] = {}
    for file in build.files(table):
        statement = f"SELECT DISTINCT pack_key, part FROM {file.prefix}{table}_packs"
        found = file.query(statement)
        for key, part in found:
            parts.setdefault(key, set()).add(part)
        for key in {key for key, _ in found}:
            files.setdefault(key, []).append(file)
    return {
        key: having if len(having) == 1 or _is_one(parts[key]) else None
        for key, having in files.items()
    }


def _is_one(parts: set[str]) -> bool:
    return len(parts) == 1 and SEVERAL_PARTS not in parts


def rows_by_number(
    build: Build, file: FileReader, table: str, numbers: Sequence[int]
) -> list[bytes]:
    """Return rows of a file by their numbers; those that lie near each other with one query."""
    packs = f"{file.prefix}{table}_packs"
    statement = (
        f"SELECT {_columns(build)} FROM {packs} WHERE first_row <= ? AND "
        f"first_row >= (SELECT max(first_row) FROM {packs} WHERE first_row <= ?) ORDER BY first_row"
    )
    rows: list[bytes] = []
    for near in _neighbours(numbers):
        found = iter(file.query(statement, near[-1], near[0]))
        pack, end = None, 0
        for number in near:
            while number >= end:
                row = next(found)
                pack, end = None, row[0] + _count(row[3])
            pack = Pack(file, *row) if pack is None else pack
            rows.append(pack.row(number - pack.first_row))
    return rows


def _neighbours(numbers: Sequence[int]) -> Iterator[Sequence[int]]:
    """Yield runs of ascending numbers that are near each other."""
    begin = 0
    for position in range(1, len(numbers) + 1):
        is_end = position == len(numbers)
        if is_end or not 0 <= numbers[position] - numbers[position - 1] <= _NEAR:
            yield numbers[begin:position]
            begin = position


def _count(counted: int | bytes) -> int:
    """Return the number of rows of a pack; before version 9, from its index."""
    return counted if isinstance(counted, int) else len(counted) // (3 * _INT32.size)


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
