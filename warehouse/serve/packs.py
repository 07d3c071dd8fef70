"""Read rows from their packs: those of a key that were known on a day, or single rows by number.

``warehouse.publish.packs`` describes the format.
"""

from collections.abc import Iterator, Sequence
from datetime import date
from functools import cached_property
from itertools import chain, pairwise, repeat
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from warehouse.publish.packs import FRAMES, HEAD, HEAD_NUMBERS, NO_DAYS, PACKS, Int32s, opened_frame
from warehouse.publish.row_json import LATEST_DAY
from warehouse.publish.tables import MART_TABLES
from warehouse.serve.build import Build
from warehouse.serve.engines import FileReader
from warehouse.shared.errors import DatastoreUnavailable

_EPOCH = date(1970, 1, 1)
_NO_LIMIT = 1 << 31
# The column whose value all rows of a pack share, for tables whose packs are read by it.
PACKED_BY = {table.name: table.packed.by for table in MART_TABLES if table.packed.by}
_PACKINGS = {table.name: table.packed for table in MART_TABLES}
# Packs that are read with one query.
_MOST_AT_ONCE = 32
# The label of a file, and the number of a row in it.
After = tuple[str, int] | None
# Rows of a pack, as positions in the order in which they are served.
Positions = range | npt.NDArray[np.int64]

_OF_KEY = f"""SELECT first_row, head, body FROM {PACKS} WHERE key = ? AND first_row > ?
ORDER BY first_row LIMIT ?"""
_WITH_ROWS = f"""SELECT first_row, head, body FROM {PACKS} WHERE first_row IN (
SELECT (SELECT max(first_row) FROM {PACKS} WHERE first_row <= value) FROM json_each(?))
ORDER BY first_row DESC"""
_FRAMES = f"""SELECT body FROM {FRAMES} WHERE first_place >= ? AND first_place <= ?
ORDER BY first_place"""


class Pack:
    """One pack as it was read; its frames are decompressed when they are needed."""

    __slots__ = (
        *("_current", "_first_frame", "_frame_rows", "_head", "_newest", "_numbers", "_offsets"),
        *("count", "file", "first_row"),
    )

    def __init__(self, file: FileReader, first_row: int, head: bytes, body: bytes) -> None:
        self.file, self.first_row, self._head, self._first_frame = file, first_row, head, body
        self.count, self._current, self._frame_rows, self._newest = HEAD.unpack_from(head)
        self._numbers: Int32s = np.frombuffer(head, "<i4")
        self._offsets = self._numbers[-self.count - 1 :]

    def _days(self, number: int) -> Int32s:
        """Return one of the three numbers that the head has of each row."""
        begin = HEAD_NUMBERS + number * self.count
        return self._numbers[begin : begin + self.count]

    def latest_on(self, day: int | None, skip: int) -> Positions:
        """Return the rows that were the latest known on a day, except the first; None means now."""
        if self._current == self.count and (day is None or day >= self._newest):
            return range(min(skip, self.count), self.count)
        known_until = self._days(1)
        if day is None:
            is_latest = known_until == LATEST_DAY
        else:
            # Half-open: on the day a vintage is superseded, the next one is the latest.
            is_latest = (self._days(0) <= day) & (known_until > day)
        positions: npt.NDArray[np.int64] = is_latest.nonzero()[0]
        return positions[positions.searchsorted(skip) :] if skip else positions

    def runs(self, positions: Positions) -> list[memoryview]:
        """Return the rows at some positions, each with its comma, as few pieces."""
        if isinstance(positions, range):
            begins, ends = [positions.start], [positions.stop]
        else:
            places = self._places(positions)
            breaks = (np.diff(places) != 1).nonzero()[0]
            begins = [int(places[0]), *places[breaks + 1].tolist()]
            ends = [*(places[breaks] + 1).tolist(), int(places[-1]) + 1]
        first, frames = self._frames(min(begins), max(ends))
        size, offset_of = self._frame_rows, self._offsets.item
        pieces: list[memoryview] = []
        for begin, end in zip(begins, ends, strict=True):
            while begin < end:
                number = begin // size
                until = min(end, (number + 1) * size)
                base, rows = frames[number - first]
                pieces.append(rows[offset_of(begin) - base : offset_of(until) - base])
                begin = until
        return pieces

    def rows(self, positions: Positions) -> list[bytes]:
        """Return rows by their positions, without their commas."""
        if not len(positions):
            return []
        places = self._places(np.asarray(positions)).tolist()
        first, frames = self._frames(min(places), max(places) + 1)
        offsets, size, rows = self._offsets.tolist(), self._frame_rows, list[bytes]()
        for place in places:
            base, frame = frames[place // size - first]
            rows.append(bytes(frame[offsets[place] - base : offsets[place + 1] - base - 1]))
        return rows

    def _places(self, positions: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        # Without days, or if all rows are current, rows lie as they are served.
        if self._current in (NO_DAYS, self.count):
            return positions
        return self._days(2)[positions]

    def _frames(self, begin: int, end: int) -> tuple[int, list[tuple[int, memoryview]]]:
        """Return the frames of places, each with the offset where it begins, and their first."""
        size = self._frame_rows
        if self.count <= size:
            # Most packs have one frame.
            rows = _rows_of(self._first_frame, self._offsets.item(self.count), self._head)
            return 0, [(0, memoryview(rows))]
        first, last = begin // size, (end - 1) // size
        bodies = [self._first_frame] if first == 0 else []
        if last:
            places = self.first_row + max(first, 1) * size, self.first_row + last * size
            bodies += [body for (body,) in self.file.query(_FRAMES, *places)]
        if len(bodies) != last - first + 1:
            raise DatastoreUnavailable("a frame of the build is missing; run `sankofa verify`")
        bounds = self._offsets[first * size : (last + 1) * size : size].tolist()
        bounds.append(self._offsets.item(min((last + 1) * size, self.count)))
        sizes = (end - begin for begin, end in pairwise(bounds))
        heads = chain([self._head if first == 0 else b""], repeat(b""))
        frames = [memoryview(rows) for rows in map(_rows_of, bodies, sizes, heads)]
        return first, list(zip(bounds, frames, strict=False))


def _rows_of(frame: bytes, size: int, head: bytes) -> bytes:
    try:
        return opened_frame(frame, size, head)
    except ValueError as error:
        raise DatastoreUnavailable(
            f"a frame of the build cannot be read ({error}); run `sankofa verify`"
        ) from error


class PackedRows(Sequence[bytes]):
    """Rows that are still in their packs; to send them all, use ``runs`` and split nothing."""

    def __init__(self) -> None:
        self._parts: list[tuple[Pack, Positions]] = []
        self._count = 0

    def add(self, pack: Pack, positions: Positions, limit: int) -> bool:
        """Add rows of a pack, at most ``limit``; return whether any were left out."""
        if len(within := positions[:limit]):
            self._parts.append((pack, within))
            self._count += len(within)
        return len(positions) > limit

    def runs(self) -> list[memoryview]:
        """Return chunks that concatenate to comma-separated rows, without copying them."""
        chunks = [piece for pack, positions in self._parts for piece in pack.runs(positions)]
        if chunks:
            # The last row ends with a comma too.
            chunks[-1] = chunks[-1][:-1]
        return chunks

    @cached_property
    def _rows(self) -> list[bytes]:
        return [row for pack, positions in self._parts for row in pack.rows(positions)]

    def place(self, index: int) -> tuple[FileReader, int]:
        """Return the file of a row and its number there."""
        index = index if index >= 0 else self._count + index
        for pack, positions in self._parts:
            if index < len(positions):
                return pack.file, pack.first_row + int(positions[index])
            index -= len(positions)
        raise IndexError(index)

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
) -> tuple[PackedRows, bool]:
    """Return the rows of a key that were the latest known on a day, and whether there are more.

    ``after`` is a file and a row number in it: only what follows is returned.
    """
    day = None if as_of is None else (date.fromisoformat(as_of) - _EPOCH).days
    packing, rows = _PACKINGS[table], PackedRows()
    max_rows = _NO_LIMIT if limit is None else limit
    # Enough for a page, unless rows of them are superseded: it begins and ends within packs.
    at_once = min(max_rows // packing.max_rows + 2, _MOST_AT_ONCE)
    files = build.files_with(table, packing.by, key)
    if after is not None:
        files = files[[file.label for file in files].index(after[0]) :]
    for file in files:
        skipped = after[1] if after is not None and file.label == after[0] else 0
        # A pack with the row after it begins at most so many rows before.
        begin = max(0, skipped + 1 - packing.max_rows)
        for pack in _packs_of_key(file, key, begin, at_once):
            positions = pack.latest_on(day, max(0, skipped - pack.first_row + 1))
            if rows.add(pack, positions, max_rows - len(rows)):
                return rows, True
    return rows, False


def _packs_of_key(file: FileReader, key: str, begin: int, at_once: int) -> Iterator[Pack]:
    """Yield the packs of a key that begin after a row."""
    while found := file.query(_OF_KEY, key, begin, at_once):
        for first_row, head, body in found:
            yield Pack(file, first_row, head, body)
        if len(found) < at_once:
            return
        begin = found[-1][0]


def row_of_key(build: Build, table: str, key: str) -> bytes | None:
    """Return the row of a key that has only one."""
    for file in build.files_with(table, _PACKINGS[table].by, key):
        for _, head, body in file.query(_OF_KEY, key, 0, 1):
            # The last number of a head is where its last row ends.
            return _rows_of(body, int.from_bytes(head[-4:], "little"), head)[:-1]
    return None


def rows_by_number(file: FileReader, numbers: Sequence[int]) -> list[bytes]:
    """Return rows of a file by their numbers."""
    rows: dict[int, bytes] = {}
    remaining = sorted(set(numbers))
    # The packs with the last rows come first.
    for first_row, head, body in file.query(_WITH_ROWS, str(remaining)):
        positions = list[int]()
        while remaining and remaining[-1] >= first_row:
            positions.append(remaining.pop() - first_row)
        found = Pack(file, first_row, head, body).rows(np.array(positions))
        rows |= zip((first_row + position for position in positions), found, strict=True)
    return [rows[number] for number in numbers]
