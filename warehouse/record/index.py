"""A sorted list of the sightings in each data file, to find a few among many.

Data files never change, so neither do their indexes. An index is a copy of four columns, mapped
into memory and written when it is first needed: the folder may be deleted at any time.
"""

from pathlib import Path
from uuid import uuid4

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

IntArray = npt.NDArray[np.int64]

_COLUMNS = ("sighting", "content", "observed_at", "figure_check")
# Three columns of 8 bytes and one of 4, written one after the other.
_ROW_BYTES = 8 + 8 + 8 + 4


class FileIndex:
    """The sightings of one data file in order: content, time of reading, figure check."""

    def __init__(self, folder: Path, data_file: str, rows: int) -> None:
        path = _index_path(folder, data_file)
        # It may be missing, cut short by a power cut, or just now be deleted by a compaction.
        if not path.exists() or path.stat().st_size != rows * _ROW_BYTES:
            write_index(folder, data_file, pq.read_table(data_file, columns=list(_COLUMNS)))
        self.sighting = _map(path, "<i8", 0, rows)
        self.content = _map(path, "<i8", 8 * rows, rows)
        self.observed_at = _map(path, "<i8", 16 * rows, rows)
        self.check = _map(path, "<i4", 24 * rows, rows)

    def find(self, sightings: IntArray) -> tuple[IntArray, IntArray]:
        """Return the first position and the count of each of the sorted sightings."""
        first = np.searchsorted(self.sighting, sightings, "left")
        counts = np.zeros(len(sightings), np.int64)
        # The second search is for the sightings that are in the file; usually few are.
        # A sighting beyond the last one is compared with the last one, to which it is not equal.
        nearest = self.sighting[np.minimum(first, len(self.sighting) - 1)]
        present = np.flatnonzero(nearest == sightings)
        after_last = np.searchsorted(self.sighting, sightings[present], "right")
        counts[present] = after_last - first[present]
        return first, counts


def delete_stale_indexes(folder: Path, data_files: list[str]) -> None:
    """Delete the indexes of files that are no longer part of the table."""
    current = {_index_path(folder, file) for file in data_files}
    for path in folder.glob("*.marks"):
        if path not in current:
            path.unlink(missing_ok=True)


def write_index(folder: Path, data_file: str, rows: pa.Table) -> None:
    """Write the index of a file that contains these rows, in any order."""
    columns = [column_as_numpy(rows, name) for name in _COLUMNS]
    order = np.argsort(columns[0], kind="stable")
    path = _index_path(folder, data_file)
    path.parent.mkdir(parents=True, exist_ok=True)
    # Write to a temporary file, then rename: a reader never sees half an index.
    temporary = path.with_name(f"{path.name}.{uuid4().hex}.part")
    with temporary.open("wb") as stream:
        for column in columns:
            stream.write(np.ascontiguousarray(column[order]).data)
    temporary.replace(path)


def index_differs(folder: Path, data_file: str, other: Path) -> Path | None:
    """Return the index of a file if it is not what its rows give; ``other`` is a folder for that.

    None if it is, or if there is no index yet.
    """
    path = _index_path(folder, data_file)
    if not path.is_file():
        return None
    write_index(other, data_file, pq.read_table(data_file, columns=list(_COLUMNS)))
    return None if path.read_bytes() == _index_path(other, data_file).read_bytes() else path


def column_as_numpy(rows: pa.Table, name: str) -> IntArray:
    """Return a column of hashes, or of timestamps in microseconds, as a NumPy array."""
    column = rows[name].combine_chunks()
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.int64())
    return np.asarray(column.to_numpy(zero_copy_only=False))


def _index_path(folder: Path, data_file: str) -> Path:
    return folder / f"{data_file.rsplit('/', 1)[-1]}.marks"


def _map(path: Path, kind: str, offset: int, rows: int) -> IntArray:
    return np.memmap(path, dtype=kind, mode="r", offset=offset, shape=(rows,))
