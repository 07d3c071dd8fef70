"""Hashes of rows, and a sorted list of them for each data file, to find a few among many.

A figure has a hash of 96 bits in two columns, ``figure`` and ``figure_check``, which distinguishes
it from every other. A ``sighting`` (a figure in one publication) and a ``content`` have 64 bits
each. Comparing and sorting by hashes costs a tenth of doing so by the columns themselves.

The definition is frozen: hashes are stored in every record. A content column that was added later
(``since`` in its declaration) counts only where it has a value, so that rows stored before it have
the hash that they would have today.
"""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from xxhash import xxh3_128_digest

from warehouse.record.tables import RecordTable
from warehouse.shared.settings import cores
from warehouse.tables.column import columns_of

# A sorted list of the sightings in each data file, to find a few among many.
#
# Data files never change, so neither do their indexes. An index is a copy of four columns, mapped
# into memory and written when it is first needed: the folder may be deleted at any time.

IntArray = npt.NDArray[np.int64]

_COLUMNS = ("sighting", "content", "observed_at", "figure_check")
# The suffix of what publications keep in the same folder (``warehouse/publish/stored_sums.py``).
SUMS = ".sums"
# Three columns of 8 bytes and one of 4, written one after the other.
_ROW_BYTES = 8 + 8 + 8 + 4


class FileIndex:
    """The sightings of one data file in order: content, time of reading, figure check."""

    def __init__(self, folder: Path, data_file: str, rows: int) -> None:
        path = _index_path(folder, data_file)
        # It may be missing, cut short by a power cut, or just now be deleted by a compaction.
        if not path.exists() or path.stat().st_size != rows * _ROW_BYTES:
            write_index(folder, data_file, pq.read_table(data_file, columns=list(_COLUMNS)))
        # It stays readable while it is mapped: no file is left open for each of many.
        with pa.memory_map(str(path)) as file:
            mapped = file.read_buffer()
        self.sighting = np.frombuffer(mapped, "<i8", rows, 0)
        self.content = np.frombuffer(mapped, "<i8", rows, 8 * rows)
        self.observed_at = np.frombuffer(mapped, "<i8", rows, 16 * rows)
        self.check = np.frombuffer(mapped, "<i4", rows, 24 * rows)

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


# Of small files a table may have many, each of which every append looks into: they stay mapped.
SMALL_FILE = 4096
small_index = lru_cache(maxsize=1024)(FileIndex)


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


Item = TypeVar("Item")
Result = TypeVar("Result")


def parallel_map(function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """Return the function's results for the items, in their order."""
    with ThreadPoolExecutor(cores()) as threads:
        return list(threads.map(function, items))


Words = npt.NDArray[np.uint64]

# The constants of SplitMix64, and two random ones.
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_NULL = np.uint64(0xA0761D6478BD642F)
_CHECK = np.uint64(0xE7037ED1A0B428DB)
_ROUNDS = (
    (np.uint64(30), np.uint64(0xBF58476D1CE4E5B9)),
    (np.uint64(27), np.uint64(0x94D049BB133111EB)),
)


def add_row_hashes(table: RecordTable, rows: pa.Table) -> pa.Table:
    """Return the rows with the columns figure, figure_check, sighting and content."""
    *identity, publication = _hash_columns(rows, (*table.identity, "publication"))
    firsts, seconds = [first for first, _ in identity], [second for _, second in identity]
    figure, check = parallel_map(_combined, (firsts, seconds))
    sighting = _combined([check, publication[0]])
    # Delta has no unsigned integers, hence the views; the check is the upper half of its word.
    return (
        rows.append_column("figure", pa.array(figure.view(np.int64)))
        .append_column("figure_check", pa.array((check >> np.uint64(32)).astype("u4").view("i4")))
        .append_column("sighting", pa.array(sighting.view(np.int64)))
        .append_column("content", content_hashes(table, rows))
    )


def content_hashes(table: RecordTable, rows: pa.Table) -> pa.Array:
    """Return the hash of each row's content; a withdrawal is a content of its own."""
    declared = columns_of(table.row)
    first_columns = [name for name in table.content if declared[name].since is None]
    # In alphabetical order: their order in the class may change when another one is added.
    later_columns = sorted(set(table.content) - set(first_columns))
    columns = _hash_columns(rows, (*first_columns, "withdrawn"))
    words = _combined([first for first, _ in columns])
    for name in later_columns:
        # With the hash of its name: two columns may have the same value.
        salt = np.frombuffer(xxh3_128_digest(name.encode())[:8], dtype="<u8")
        added = _combined([words, _hash_column(rows[name])[0] ^ salt])
        words = np.where(rows[name].is_valid().to_numpy(), added, words)
    return pa.array(words.view(np.int64))


def _hash_columns(rows: pa.Table, names: tuple[str, ...]) -> list[tuple[Words, Words]]:
    return parallel_map(lambda name: _hash_column(rows[name]), names)


def _combined(columns: list[Words]) -> Words:
    """Fold the words of several columns into one word per row; their order matters."""
    words = np.zeros(len(columns[0]), dtype=np.uint64)
    buffer = np.empty_like(words)
    for column in columns:
        words ^= column
        words += _GOLDEN
        _mix(words, buffer)
    return words


def _mix(words: Words, buffer: Words) -> None:
    """Spread every bit over all others, in place (the finaliser of SplitMix64)."""
    for shift, factor in _ROUNDS:
        words ^= np.right_shift(words, shift, out=buffer)
        words *= factor
    words ^= np.right_shift(words, np.uint64(31), out=buffer)


def _hash_column(values: pa.ChunkedArray) -> tuple[Words, Words]:
    """Return two independent words for each value of a column."""
    array = values.combine_chunks()
    first, second = _hash_texts(array) if pa.types.is_string(array.type) else _hash_numbers(array)
    if array.null_count:
        absent = array.is_null().to_numpy(zero_copy_only=False)
        first, second = np.where(absent, _NULL, first), np.where(absent, _NULL, second)
    return first, second


def _hash_texts(array: pa.Array) -> tuple[Words, Words]:
    # Columns repeat few texts: hash each distinct one once.
    coded = array.dictionary_encode()
    texts = coded.dictionary.cast(pa.binary()).to_pylist()
    digests = b"".join(map(xxh3_128_digest, texts))
    # A column of nulls has an empty dictionary; its codes, set to 0 below, need an entry.
    pairs = np.frombuffer(digests or bytes(16), dtype="<u8").reshape(-1, 2)
    codes = pc.fill_null(coded.indices, 0).to_numpy(zero_copy_only=False)
    return pairs[:, 0].copy()[codes], pairs[:, 1].copy()[codes]


def _hash_numbers(array: pa.Array) -> tuple[Words, Words]:
    # A decimal has two words. Any other value has one, which is then both the first and the last.
    words = _stored_words(array)
    first = words[:, -1] + _GOLDEN
    buffer = np.empty_like(first)
    _mix(first, buffer)
    first ^= words[:, 0]
    _mix(first, buffer)
    second = first ^ _CHECK
    _mix(second, buffer)
    return first, second


def _stored_words(array: pa.Array) -> Words:
    """Return the stored integers of numbers, dates and decimals, as 64-bit words."""
    width = 1
    if pa.types.is_decimal128(array.type):
        width = 2
    elif pa.types.is_date32(array.type):
        # Arrow casts a date32 to 32 bits only.
        array = array.cast(pa.int32()).cast(pa.int64())
    elif not pa.types.is_int64(array.type):
        array = array.cast(pa.int64())
    # A slice shares the buffer of the array it was cut from, hence the offset.
    buffer: Any = array.buffers()[1] or bytes(0)
    words = np.frombuffer(buffer, dtype="<u8", count=(array.offset + len(array)) * width)
    return words.reshape(-1, width)[array.offset :]
