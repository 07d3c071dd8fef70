"""Rows of a table as JSON, in packs: the one form in which builds have rows.

Every file of a table has them next to the columns that rows are found by (docs/build-format.md):

- ``packs``: a pack is the rows of one key, such as an issuer or a series, or neighbouring rows of
  a list. Its ``head`` says how many rows it has, when each was known, and where it lies.
- ``frames``: its rows, those that are the latest now in front and superseded ones behind, as many
  in a frame as are mostly read together. The first frame lies in the pack itself.

Each row ends with a comma, so that any run of rows can be cut out and sent as it is. Numbers are
little-endian and have 32 bits. A frame is a check of its bytes and an LZ4 block, or the rows
themselves if that is no shorter. Nothing here imports Arrow: readers know the format from this
module.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from struct import Struct
from typing import NamedTuple

import lz4.block
import numpy as np
import numpy.typing as npt
from xxhash import xxh3_64

from warehouse.publish.row_json import LATEST_DAY
from warehouse.publish.tables import Packing

PACKS, FRAMES = "packs", "frames"
# What a head begins with: the number of rows, how many of them are the latest now (NO_DAYS if rows
# have no days), the rows of a frame, and the day from which all of them were known.
#
# Then, if rows have days, three numbers for each row as it is served: the days from which it was
# known and from which it was no longer the latest, and its place. Then the offset of each place,
# and the end of the last one.
HEAD = Struct("<4i")
HEAD_NUMBERS = HEAD.size // 4
NO_DAYS = -1
# The bytes of the check of a frame.
_CHECK = 8
Int32s = npt.NDArray[np.int32]


class PackRow(NamedTuple):
    """A row of ``packs``."""

    first_row: int
    key: str
    head: bytes
    body: bytes


class FrameRow(NamedTuple):
    """A row of ``frames``; the places of a file are numbered like its rows."""

    first_place: int
    body: bytes


def opened_frame(frame: bytes, size: int, head: bytes = b"") -> bytes:
    """Return the rows of a frame, which have so many bytes; raise ``ValueError`` for damage.

    A reader maps its files: what overwrites one that is open is found here and nowhere else.
    """
    check = xxh3_64(head)
    check.update(memoryview(frame)[_CHECK:])
    if check.digest() != frame[:_CHECK]:
        raise ValueError("its check does not fit")
    if len(frame) == size + _CHECK:
        return frame[_CHECK:]
    rows: bytes = lz4.block.decompress(memoryview(frame)[_CHECK:], uncompressed_size=size)
    return rows


def sealed_frame(rows: bytes, head: bytes = b"") -> bytes:
    """Return rows as a frame; the first of a pack vouches for its head as well."""
    # Takes five times as long as without, saves a sixth, and is read in four fifths of the time.
    frame: bytes = lz4.block.compress(
        rows, mode="high_compression", compression=3, store_size=False
    )
    frame = frame if len(frame) < len(rows) else rows
    return xxh3_64(head + frame).digest() + frame


class Slice(NamedTuple):
    """Rows that follow each other: their bytes, the size of each, and both days of each."""

    body: bytes | memoryview
    sizes: Int32s
    known_from: Int32s
    known_until: Int32s


@dataclass
class _OpenPack:
    """A pack while it is filled."""

    first_row: int
    key: str
    slices: list[Slice] = field(default_factory=list)
    count: int = 0


class Packer:
    """Packs the rows of a file as they stream past."""

    def __init__(self, packing: Packing) -> None:
        self._max_rows, self._frame_rows = packing.max_rows, packing.frame_rows
        self._has_days = packing.known is not None
        self._open: _OpenPack | None = None
        self.packs: list[PackRow] = []
        self.frames: list[FrameRow] = []

    def add(self, first_row: int, runs: Sequence[tuple[str, int]], rows: Slice) -> None:
        """Add rows, the first with the number ``first_row``; ``runs``: each key and its end."""
        body, begin = memoryview(rows.body), 0
        offsets = np.concatenate([[0], np.cumsum(rows.sizes, dtype=np.int64)])
        for key, run_end in runs:
            while begin < run_end:
                pack = self._pack_for(first_row + begin, key)
                end = min(run_end, begin + self._max_rows - pack.count)
                # A copy: a view would keep the whole batch in memory until the pack is full.
                own = bytes(body[int(offsets[begin]) : int(offsets[end])])
                pack.slices.append(Slice(own, *(column[begin:end] for column in rows[1:])))
                pack.count += end - begin
                begin = end

    def finish(self) -> None:
        """Write the last pack; call it once, after the last row was added."""
        if self._open is not None:
            self._write(self._open)
            self._open = None

    def _pack_for(self, row_number: int, key: str) -> _OpenPack:
        """Return the open pack if it takes a row of this key; otherwise start the next one."""
        pack = self._open
        if pack is not None and pack.key == key and pack.count < self._max_rows:
            return pack
        self.finish()
        self._open = pack = _OpenPack(row_number, key)
        return pack

    def _write(self, pack: _OpenPack) -> None:
        sizes, known_from, known_until = (
            np.concatenate([part[column] for part in pack.slices]) for column in (1, 2, 3)
        )
        rows = b"".join([part.body for part in pack.slices])
        current, newest, days = NO_DAYS, 0, list[Int32s]()
        if self._has_days:
            is_current = known_until == LATEST_DAY
            current, newest = int(is_current.sum()), int(known_from.max())
            # Those that are the latest now as they are served, then those superseded last.
            order = np.argsort(-known_until.astype(np.int64), kind="stable")
            if current < pack.count:
                rows, sizes = _in_order(rows, sizes, order), sizes[order]
            places = np.empty(pack.count, np.int32)
            places[order] = np.arange(pack.count)
            days = [known_from, known_until, places]
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        numbers = np.concatenate([*days, offsets]).astype("<i4")
        head = HEAD.pack(pack.count, current, self._frame_rows, newest) + numbers.tobytes()
        first, *others = _frames(rows, offsets[:: self._frame_rows].tolist())
        self.packs.append(PackRow(pack.first_row, pack.key, head, sealed_frame(first, head)))
        self.frames += [
            FrameRow(pack.first_row + number * self._frame_rows, sealed_frame(rows_of_frame))
            for number, rows_of_frame in enumerate(others, 1)
        ]


def _frames(rows: bytes, begins: Sequence[int]) -> list[bytes]:
    """Return rows, cut where frames begin."""
    bounds = [*(begin for begin in begins if begin < len(rows)), len(rows)]
    return [rows[begin:end] for begin, end in pairwise(bounds)]


def _in_order(rows: bytes, sizes: Int32s, order: npt.NDArray[np.int64]) -> bytes:
    """Return rows in another order."""
    ends = np.cumsum(sizes, dtype=np.int64)
    bounds = zip((ends - sizes)[order].tolist(), ends[order].tolist(), strict=True)
    return b"".join([rows[begin:end] for begin, end in bounds])
