"""Rows of a table in packs: many rows that are asked for together, as one piece of bytes.

A pack holds neighbours of one name, each row followed by a comma, so that any run of rows can
be cut out and sent as it lies. Beside them stand three numbers a row: the day from which it was
known, the day from which it was not the latest any more, and where it begins.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from warehouse.mart.row_json import LATEST_DAY, NEVER_DAY
from warehouse.mart.tables import Columns

_DAY = f"coalesce(date_diff('day', DATE '1970-01-01', {{}}), {NEVER_DAY})"
KNOWN_FROM = f"""CAST(CASE WHEN withdrawn THEN {LATEST_DAY}
    ELSE {_DAY.format("available_at")} END AS INTEGER)"""
KNOWN_UNTIL = f"""CAST(CASE WHEN latest THEN {LATEST_DAY} WHEN withdrawn THEN 0
    ELSE {_DAY.format("superseded_at")} END AS INTEGER)"""

PACK_COLUMNS: Columns = {
    "name": "text",
    "more": "integer",
    "whole": "integer",
    "spans": "bytes",
    "rows": "bytes",
}
PACK_INDEXES = ("(name, place)",)
_SCHEMA = pa.schema(
    [
        ("place", pa.int64()),
        ("name", pa.string()),
        ("more", pa.int32()),
        ("whole", pa.int32()),
        ("spans", pa.binary()),
        ("rows", pa.binary()),
    ]
)
_AT_ONCE = 32
Days = npt.NDArray[np.int32]
Written = tuple[int, str, int, int, bytes, bytes]


@dataclass
class _Pack:
    """A pack while it is filled: its first place, and pieces of whole batches."""

    place: int
    name: str
    pieces: list[tuple[Days, Days, Days, bytes]]
    count: int = 0

    def written(self, more: bool) -> Written:
        """Give the row of the pack: whether more of the name follow, whether all are the latest."""
        known = [np.concatenate([piece[at] for piece in self.pieces]) for at in (0, 1)]
        sizes = np.concatenate([piece[2] for piece in self.pieces])
        begins = np.concatenate([[0], np.cumsum(sizes)])
        spans = np.concatenate([*known, begins]).astype("<i4").tobytes()
        whole = bool((known[1] == LATEST_DAY).all())
        rows = b"".join(piece[3] for piece in self.pieces)
        return self.place, self.name, int(more), int(whole), spans, rows


class Packer:
    """Packs the rows of a table while they pass, into a file beside."""

    def __init__(self, path: Path, most: int) -> None:
        self._path, self._most = path, most
        self._writer = pa.ipc.new_file(
            str(path), _SCHEMA, options=pa.ipc.IpcWriteOptions(compression="lz4")
        )
        self._open: _Pack | None = None
        self._done: list[Written] = []

    def take(self, place: int, names: pa.Array, known: tuple[Days, Days], rows: pa.Array) -> None:
        """Take the next rows, the first of them at ``place``; each ends with a comma."""
        offsets = np.frombuffer(rows.buffers()[1], np.int32)[rows.offset :][: len(rows) + 1]
        data = memoryview(rows.buffers()[2] or b"")
        runs, begin = pc.run_end_encode(names), 0
        for name, end in zip(runs.values.to_pylist(), runs.run_ends.to_pylist(), strict=True):
            while begin < end:
                pack = self._filling(place + begin, name)
                to = min(end, begin + self._most - pack.count)
                piece = offsets[begin : to + 1]
                held = bytes(data[int(piece[0]) : int(piece[-1])])
                days = (known[0][begin:to], known[1][begin:to])
                pack.pieces.append((*days, np.diff(piece), held))
                pack.count += to - begin
                begin = to

    def packs(self) -> pa.RecordBatchReader:
        """Give every pack, once the last row was taken."""
        if self._open is not None:
            self._done.append(self._open.written(more=False))
        self._write()
        self._writer.close()

        def batches() -> Iterator[pa.RecordBatch]:
            with pa.memory_map(str(self._path)) as file, pa.ipc.open_file(file) as held:
                for number in range(held.num_record_batches):
                    yield held.get_batch(number)
            self._path.unlink()

        return pa.RecordBatchReader.from_batches(_SCHEMA, batches())

    def _filling(self, place: int, name: str) -> _Pack:
        """Give the pack that the row at a place belongs to."""
        pack = self._open
        if pack is not None and pack.name == name and pack.count < self._most:
            return pack
        if pack is not None:
            self._done.append(pack.written(more=pack.name == name))
            if len(self._done) >= _AT_ONCE:
                self._write()
        self._open = pack = _Pack(place, name, [])
        return pack

    def _write(self) -> None:
        if self._done:
            columns = [
                pa.array(each, field.type)
                for each, field in zip(zip(*self._done, strict=True), _SCHEMA, strict=True)
            ]
            self._writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=_SCHEMA))
            self._done = []
