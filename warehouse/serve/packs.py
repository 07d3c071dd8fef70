"""Read rows from their packs: runs of rows known on a day, or single rows by number.

``warehouse.publish.packs`` describes the format.
"""

import struct
from collections.abc import Iterator, Sequence
from datetime import date
from functools import cached_property
from typing import overload

import numpy as np
import numpy.typing as npt

from warehouse.publish.row_json import LATEST_DAY
from warehouse.publish.tables import MART_TABLES, SEVERAL_PARTS
from warehouse.serve.build import Build
from warehouse.serve.engines import FileReader
from warehouse.serve.pack_files import PackFile, StoredPack
from warehouse.shared.errors import DamagedFile

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


def is_packed(table: str) -> bool:
    """Return whether the rows of a table lie in packs."""
    return table in PACKED_BY


class Pack:
    """One pack as it was read."""

    __slots__ = ("_all_latest", "_begin", "_data", "count", "file", "first_row")

    def __init__(self, file: FileReader, stored: StoredPack) -> None:
        self.file = file
        self.first_row, _, self._all_latest, self.count, self._data = stored
        # Where the rows begin: the index has three numbers a row, and the end of the last row.
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
        for stored in packs_of(file).of_key(key, skipped):
            pack = Pack(file, stored)
            bounds = pack.latest_on(day, max(0, skipped - pack.first_row + 1))
            if rows.add(pack, bounds, max_rows - len(rows)):
                return rows, True
    return rows, False


def row_of_key(build: Build, table: str, key: str) -> bytes | None:
    """Return the row of a key that has only one."""
    for file in build.files(table):
        row = packs_of(file).row_of_key(key)
        if row is not None:
            return row
    return None


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
        found = packs_of(file).keys_and_parts()
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


def rows_by_number(file: FileReader, numbers: Sequence[int]) -> list[bytes]:
    """Return rows of a file by their numbers; those that lie near each other with one query."""
    rows: list[bytes] = []
    for near in _neighbours(numbers):
        found = packs_of(file).with_rows(near[0], near[-1])
        pack, end = None, 0
        for number in near:
            while number >= end:
                lazy = next(found)
                pack, end = None, lazy.first_row + lazy.row_count
            if pack is None:
                stored = StoredPack(lazy.first_row, False, False, lazy.row_count, lazy.read())
                pack = Pack(file, stored)
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


def packs_of(file: FileReader) -> PackFile:
    """Return the packs of a file of a packed table."""
    if file.packs is None:
        raise DamagedFile(f"the manifest names no packs of {file.label!r}; run `sankofa publish`")
    return file.packs


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
