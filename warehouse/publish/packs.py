"""Rows of a mart table in packs: many rows that are read together, as one BLOB.

A pack holds neighbouring rows, mostly of one key (an issuer, a country, a series). It is an
index and the rows, compressed together with Zstandard unless they are short. Each row ends with
a comma, so that any run of rows can be cut out and sent as it is. The index has three numbers
for each row: the day from which it was known, the day from which it was no longer the latest,
and its offset; and then the end of the last row. Packs lie in a file of their own
(``pack_files``).
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import zstandard

from warehouse.publish.row_json import LATEST_DAY
from warehouse.publish.tables import SEVERAL_PARTS

# Higher levels make packs no smaller, since rows repeat each other, and slower to read.
_LEVEL = 1
# A smaller pack is stored as it is: there is little to gain.
_SMALLEST_COMPRESSED = 2_048
Days = npt.NDArray[np.int32]
# First row, key, whether another of the key follows, whether all rows are the latest, number of
# rows, part, bytes.
PackRow = tuple[int, str, bool, bool, int, str, bytes]


@dataclass
class _OpenPack:
    """A pack while it is filled; a slice is (known from, known until, row sizes, row bytes)."""

    first_row: int
    key: str
    slices: list[tuple[Days, Days, Days, bytes]]
    count: int = 0
    parts: set[str] = field(default_factory=set)

    def finish(self, has_next: bool, compress: Callable[[bytes], bytes]) -> PackRow:
        """Return the table row of the pack; ``has_next``: another pack of its key follows."""
        known_from, known_until, sizes = (
            np.concatenate([part[column] for part in self.slices]) for column in (0, 1, 2)
        )
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        row_index = np.concatenate([known_from, known_until, offsets]).astype("<i4").tobytes()
        all_latest = bool((known_until == LATEST_DAY).all())
        packed = b"".join([row_index, *(part[3] for part in self.slices)])
        if len(packed) >= _SMALLEST_COMPRESSED:
            packed = compress(packed)
        part = self.parts.pop() if len(self.parts) == 1 else SEVERAL_PARTS
        return self.first_row, self.key, has_next, all_latest, self.count, part, packed


class Packer:
    """Packs the rows of a table as they stream past."""

    def __init__(self, max_rows: int) -> None:
        self._max_rows = max_rows
        self._compress = zstandard.ZstdCompressor(level=_LEVEL).compress
        self._open: _OpenPack | None = None
        self._finished: list[PackRow] = []

    def add(
        self,
        first_row: int,
        keys: pa.Array,
        days: tuple[Days, Days],
        rows: pa.Array,
        parts: pa.Array | None = None,
    ) -> None:
        """Add rows, the first with the number ``first_row``; ``days``: known from, known until.

        ``parts`` divide the rows of a key: those of one part follow each other.
        """
        # Slices of the Arrow buffers: copying each row to Python costs more than all the rest.
        # Buffer 1 of a binary array has its offsets, in 32 bits; buffer 2 its bytes.
        offsets = np.frombuffer(rows.buffers()[1], np.int32)[rows.offset :][: len(rows) + 1]
        data = memoryview(rows.buffers()[2] or b"")
        runs, begin = pc.run_end_encode(keys), 0
        for key, run_end in zip(runs.values.to_pylist(), runs.run_ends.to_pylist(), strict=True):
            while begin < run_end:
                pack = self._pack_for(first_row + begin, key)
                end = min(run_end, begin + self._max_rows - pack.count)
                bounds = offsets[begin : end + 1]
                # A copy: a view would keep the whole batch in memory until the pack is full.
                body = bytes(data[int(bounds[0]) : int(bounds[-1])])
                spans = (days[0][begin:end], days[1][begin:end])
                pack.slices.append((*spans, np.diff(bounds), body))
                pack.count += end - begin
                ends = () if parts is None else (parts[begin], parts[end - 1])
                pack.parts.update(part.as_py() for part in ends)
                begin = end

    def packs(self) -> list[PackRow]:
        """Return every pack; call it once, after the last row was added."""
        if self._open is not None:
            self._finished.append(self._open.finish(False, self._compress))
        return self._finished

    def _pack_for(self, row_number: int, key: str) -> _OpenPack:
        """Return the open pack if it takes a row of this key; otherwise start the next one."""
        pack = self._open
        if pack is not None and pack.key == key and pack.count < self._max_rows:
            return pack
        if pack is not None:
            self._finished.append(pack.finish(pack.key == key, self._compress))
        self._open = pack = _OpenPack(row_number, key, [])
        return pack
