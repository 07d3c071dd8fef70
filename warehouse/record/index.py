"""A sorted list of the sightings in each data file, so that a few are found among many.

Data files never change, so neither does the index of one. It is a copy of four columns,
made when it is first needed and mapped into memory; the folder may be deleted at any time.
"""

from pathlib import Path
from uuid import uuid4

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

IntArray = npt.NDArray[np.int64]

_COLUMNS = ("sighting", "content", "observed_at", "figure_check")
_ROW = 8 + 8 + 8 + 4


class FileIndex:
    """The sightings of one data file in order: content, time of reading, check of the figure."""

    def __init__(self, folder: Path, data_file: str, rows: int) -> None:
        path = _place(folder, data_file)
        # It may be missing, cut short by a power cut, or just now be removed by a compaction.
        if not path.exists() or path.stat().st_size != rows * _ROW:
            write_index(folder, data_file, pq.read_table(data_file, columns=list(_COLUMNS)))
        self.sighting = _map(path, "<i8", 0, rows)
        self.content = _map(path, "<i8", 8 * rows, rows)
        self.observed_at = _map(path, "<i8", 16 * rows, rows)
        self.check = _map(path, "<i4", 24 * rows, rows)

    def find(self, sightings: IntArray) -> tuple[IntArray, IntArray]:
        """Give for sorted sightings the place of the first, and how many there are."""
        first = np.searchsorted(self.sighting, sightings, "left")
        times = np.zeros(len(sightings), np.int64)
        here = np.flatnonzero(self.sighting[np.minimum(first, len(self.sighting) - 1)] == sightings)
        times[here] = np.searchsorted(self.sighting, sightings[here], "right") - first[here]
        return first, times


def delete_stale_indexes(folder: Path, data_files: list[str]) -> None:
    """Remove the indexes of files that are no longer part of the table."""
    current = {_place(folder, file) for file in data_files}
    for path in folder.glob("*.marks"):
        if path not in current:
            path.unlink(missing_ok=True)


def write_index(folder: Path, data_file: str, rows: pa.Table) -> None:
    """Write the index of a file that holds these rows, in any order.

    It is written beside and then moved: a reader never meets half an index.
    """
    columns = [column_as_numpy(rows, name) for name in _COLUMNS]
    order = np.argsort(columns[0], kind="stable")
    path = _place(folder, data_file)
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f"{path.name}.{uuid4().hex}.part")
    with beside.open("wb") as stream:
        for column in columns:
            stream.write(np.ascontiguousarray(column[order]).data)
    beside.replace(path)


def column_as_numpy(rows: pa.Table, name: str) -> IntArray:
    """Give a column of marks, or of moments in microseconds, as NumPy has it."""
    column = rows[name].combine_chunks()
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.int64())
    return np.asarray(column.to_numpy(zero_copy_only=False))


def _place(folder: Path, data_file: str) -> Path:
    return folder / f"{data_file.rsplit('/', 1)[-1]}.marks"


def _map(path: Path, kind: str, offset: int, rows: int) -> IntArray:
    return np.memmap(path, dtype=kind, mode="r", offset=offset, shape=(rows,))
