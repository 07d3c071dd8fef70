"""Rows out of their packs: whole runs of those known on a day, or single ones by their place."""

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
_COLUMNS = "SELECT place, more, whole, spans, rows"
_EPOCH = date(1970, 1, 1)
_EVERY = 1 << 31
_NUMBER = struct.Struct("<i")
# Where runs begin and end, one after the other, by the numbers of rows in their pack.
Bounds = list[int] | npt.NDArray[np.int64]


class Pack:
    """One pack as it was read."""

    __slots__ = ("_spans", "_whole", "count", "more", "place", "rows")

    def __init__(self, place: int, more: int, whole: int, spans: bytes, rows: bytes) -> None:
        self.place, self.more, self._whole = place, more, whole
        self._spans, self.rows = spans, rows
        self.count = len(spans) // (3 * _NUMBER.size)

    def row(self, number: int) -> bytes:
        """Give a row by its number in the pack."""
        begin, end = self.begins([number, number + 1])
        return self.rows[begin : end - 1]

    def begins(self, numbers: Bounds) -> list[int]:
        """Say where rows begin."""
        first = 2 * self.count
        if isinstance(numbers, list):
            return [_NUMBER.unpack_from(self._spans, 4 * (first + each))[0] for each in numbers]
        begins: list[int] = np.frombuffer(self._spans, "<i4")[first:][numbers].tolist()
        return begins

    def known(self, day: int | None, skipped: int) -> Bounds:
        """Give the runs of rows that were the latest known on a day, or are so now."""
        if day is None and self._whole:
            return [skipped, self.count] if skipped < self.count else []
        numbers = np.frombuffer(self._spans, "<i4")
        until = numbers[self.count : 2 * self.count]
        flags = np.zeros(self.count + 2, np.bool_)
        if day is None:
            np.equal(until, LATEST_DAY, out=flags[1:-1])
        else:
            np.logical_and(numbers[: self.count] <= day, until > day, out=flags[1:-1])
        flags[: skipped + 1] = False
        bounds: Bounds = np.flatnonzero(flags[1:] != flags[:-1])
        return bounds


class PackedRows(Sequence[bytes]):
    """Rows that were not cut apart yet; whoever only sends them takes ``runs``."""

    def __init__(self) -> None:
        self._parts: list[tuple[Pack, Bounds]] = []
        self._count = 0

    def take(self, pack: Pack, bounds: Bounds, most: int) -> bool:
        """Add at most so many of the rows of some runs; tell whether any is left."""
        if isinstance(bounds, list):
            count = sum(bounds[1::2]) - sum(bounds[::2])
        else:
            count = int((bounds[1::2] - bounds[::2]).sum())
        if count > most:
            self.take(pack, _first(bounds, most), most)
            return True
        if count:
            self._parts.append((pack, bounds))
            self._count += count
        return False

    def runs(self) -> list[memoryview]:
        """Give neighbours in one piece; every row but the last has its comma."""
        written: list[memoryview] = []
        for pack, bounds in self._parts:
            rows, ends = memoryview(pack.rows), iter(pack.begins(bounds))
            written += [rows[begin:end] for begin, end in zip(ends, ends, strict=True)]
        if written:
            written[-1] = written[-1][:-1]
        return written

    @cached_property
    def _rows(self) -> list[bytes]:
        return [pack.row(number) for pack, number in self._numbers]

    @cached_property
    def _numbers(self) -> list[tuple[Pack, int]]:
        return [
            (pack, number)
            for pack, bounds in self._parts
            for begin, end in _pairs(bounds)
            for number in range(begin, end)
        ]

    def place(self, at: int) -> int:
        """Give the place of a row."""
        if at == -1:
            pack, bounds = self._parts[-1]
            return pack.place + int(bounds[-1]) - 1
        pack, number = self._numbers[at]
        return pack.place + number

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, at: int) -> bytes: ...

    @overload
    def __getitem__(self, at: slice) -> list[bytes]: ...

    def __getitem__(self, at: int | slice) -> bytes | list[bytes]:
        return self._rows[at]

    def __eq__(self, other: object) -> bool:
        return self._rows == (other._rows if isinstance(other, PackedRows) else other)

    __hash__ = None  # type: ignore[assignment]


def latest_rows(
    build: Build, table: str, name: str, as_of: str | None, limit: int | None, after: int = 0
) -> tuple[PackedRows, bool]:
    """Give the rows of a name known on a day, in their order, and whether there are more."""
    day = None if as_of is None else (date.fromisoformat(as_of) - _EPOCH).days
    rows, most = PackedRows(), _EVERY if limit is None else limit
    for pack in _packs(build, PACK_TABLES[table], name, after, limit is None):
        bounds = pack.known(day, max(0, after - pack.place + 1))
        if rows.take(pack, bounds, most - len(rows)):
            return rows, True
    return rows, False


def _pairs(bounds: Bounds) -> list[tuple[int, int]]:
    plain = [int(each) for each in bounds]
    return list(zip(plain[::2], plain[1::2], strict=True))


def _first(bounds: Bounds, most: int) -> Bounds:
    """Give the runs of the first rows only."""
    kept: list[int] = []
    for begin, end in _pairs(bounds):
        if most > 0:
            kept += (begin, min(end, begin + most))
        most -= end - begin
    return kept


def rows_by_number(build: Build, table: str, places: Sequence[int]) -> list[bytes]:
    """Give rows by their places; those that lie in one pack follow each other."""
    asked = f"{_COLUMNS} FROM {PACK_TABLES[table]} WHERE place <= ? ORDER BY place DESC LIMIT 1"
    pack, rows = None, []
    for place in places:
        if pack is None or not 0 <= place - pack.place < pack.count:
            pack = Pack(*build.rows(asked, place)[0])
        rows.append(pack.row(place - pack.place))
    return rows


def _packs(build: Build, packs: str, name: str, after: int, every: bool) -> Iterator[Pack]:
    """Read the packs of a name from the one in which rows after ``after`` begin, one at a time."""
    columns = f"{_COLUMNS} FROM {packs} WHERE name = ?"
    held: SqlRows = []
    if every:
        held = build.rows(f"{columns} ORDER BY place", name)
    elif after:
        asked = f"{columns} AND place <= ? ORDER BY place DESC LIMIT 1"
        held = build.rows(asked, name, after + 1)
    if not held and not every:
        # Either there is no cursor, or it stands before the first row of this name.
        held = build.rows(f"{columns} ORDER BY place LIMIT 1", name)
    while held:
        last = Pack(*held[-1])
        yield from (Pack(*each) for each in held[:-1])
        yield last
        held = _following(build, columns, name, last) if last.more and not every else []


def _following(build: Build, columns: str, name: str, last: Pack) -> SqlRows:
    return build.rows(f"{columns} AND place > ? ORDER BY place LIMIT 1", name, last.place)
