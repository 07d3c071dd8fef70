"""Read rows from their packs: runs of rows known on a day, or single rows by number.

``warehouse.mart.packs`` describes the format.
"""

import struct
from collections.abc import Iterator, Sequence
from datetime import date
from functools import cached_property
from typing import overload

import numpy as np
import numpy.typing as npt

from warehouse.mart.row_json import LATEST_DAY
from warehouse.mart.tables import MART_TABLES
from warehouse.read.engines import SqlRows
from warehouse.read.mart import Build

PACK_TABLES = {table.name: table.packs for table in MART_TABLES if table.packed is not None}
_COLUMNS = "SELECT first_row, has_next, all_latest, row_index, rows"
_EPOCH = date(1970, 1, 1)
_NO_LIMIT = 1 << 31
_INT32 = struct.Struct("<i")
# Runs of rows, as the positions in their pack where they begin and end, alternating.
Bounds = list[int] | npt.NDArray[np.int64]


class Pack:
    """One pack as it was read."""

    __slots__ = ("_all_latest", "_row_index", "count", "first_row", "has_next", "rows")

    def __init__(
        self, first_row: int, has_next: int, all_latest: int, row_index: bytes, rows: bytes
    ) -> None:
        self.first_row, self.has_next, self._all_latest = first_row, has_next, all_latest
        self._row_index, self.rows = row_index, rows
        # The index has three numbers a row, and one more offset, for the end of the last row.
        self.count = len(row_index) // (3 * _INT32.size)

    def row(self, position: int) -> bytes:
        """Return a row by its position in the pack, without its comma."""
        begin, end = self.offsets([position, position + 1])
        return self.rows[begin : end - 1]

    def offsets(self, positions: Bounds) -> list[int]:
        """Return where rows begin in ``rows``."""
        first = 2 * self.count
        # numpy only pays off for many positions; most packs have a single run.
        if isinstance(positions, list):
            return [
                _INT32.unpack_from(self._row_index, _INT32.size * (first + position))[0]
                for position in positions
            ]
        offsets: list[int] = np.frombuffer(self._row_index, "<i4")[first:][positions].tolist()
        return offsets

    def latest_on(self, day: int | None, skip: int) -> Bounds:
        """Return the runs of rows that were the latest known on a day; None means now.

        ``skip`` is how many rows at the beginning are left out.
        """
        if day is None and self._all_latest:
            return [skip, self.count] if skip < self.count else []
        numbers = np.frombuffer(self._row_index, "<i4")
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
            rows, offsets = memoryview(pack.rows), iter(pack.offsets(bounds))
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

    def row_number(self, index: int) -> int:
        """Return the number of a row in its table; the last (-1) is found without a list."""
        if index == -1:
            pack, bounds = self._parts[-1]
            return pack.first_row + int(bounds[-1]) - 1
        pack, position = self._positions[index]
        return pack.first_row + position

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
    build: Build, table: str, key: str, as_of: str | None, limit: int | None, after: int = 0
) -> tuple[PackedRows, bool]:
    """Return the rows of a key that were the latest known on a day, and whether there are more.

    Only rows with a number above ``after`` are returned.
    """
    day = None if as_of is None else (date.fromisoformat(as_of) - _EPOCH).days
    rows, max_rows = PackedRows(), _NO_LIMIT if limit is None else limit
    for pack in _packs(build, PACK_TABLES[table], key, after, limit is None):
        bounds = pack.latest_on(day, max(0, after - pack.first_row + 1))
        if rows.add(pack, bounds, max_rows - len(rows)):
            return rows, True
    return rows, False


def rows_by_number(build: Build, table: str, numbers: Sequence[int]) -> list[bytes]:
    """Return rows by their numbers; neighbours in one pack are read with one query."""
    statement = (
        f"{_COLUMNS} FROM {PACK_TABLES[table]} WHERE first_row <= ? ORDER BY first_row DESC LIMIT 1"
    )
    pack, rows = None, []
    for number in numbers:
        if pack is None or not 0 <= number - pack.first_row < pack.count:
            pack = Pack(*build.query(statement, number)[0])
        rows.append(pack.row(number - pack.first_row))
    return rows


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


def _packs(build: Build, table: str, key: str, after: int, read_all: bool) -> Iterator[Pack]:
    """Yield the packs of a key from the one with the first row after ``after``.

    Packs are read one at a time, since a page rarely needs a second one.
    """
    packs_of_key = f"{_COLUMNS} FROM {table} WHERE pack_key = ?"
    batch: SqlRows = []
    if read_all:
        batch = build.query(f"{packs_of_key} ORDER BY first_row", key)
    elif after:
        containing = f"{packs_of_key} AND first_row <= ? ORDER BY first_row DESC LIMIT 1"
        batch = build.query(containing, key, after + 1)
    if not batch and not read_all:
        # Either there is no cursor, or it points before the first row of this key.
        batch = build.query(f"{packs_of_key} ORDER BY first_row LIMIT 1", key)
    following = f"{packs_of_key} AND first_row > ? ORDER BY first_row LIMIT 1"
    while batch:
        last = Pack(*batch[-1])
        yield from (Pack(*row) for row in batch[:-1])
        yield last
        has_next = last.has_next and not read_all
        batch = build.query(following, key, last.first_row) if has_next else []
