"""Write a Parquet file as a stream of sorted rows, hashing it on the way."""

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import date, datetime
from typing import BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from assets.exports.file_columns import FileColumn
from warehouse.shared.file_store import FileStore

GROUP = 100_000
# Small enough that no text column of a batch exceeds the 2 GiB that Arrow's offsets can address.
BATCH = 10 * 2_048
# A function that sees the rows of a file while they are written.
Reader = Callable[[pa.Table], None]
# Columns with a different value in nearly every row: a dictionary would only cost space.
_DISTINCT = (
    *("fact_id", "record_id", "provenance_id", "source_ref", "source_url"),
    *("ocid", "release_id", "release"),
)
# Long texts: their minimum and maximum are of no use to a reader.
_NO_STATISTICS = ("release",)


@dataclass(frozen=True)
class WrittenFile:
    """Size, digest and period of a file that was written."""

    rows: int
    size_bytes: int
    sha256: str
    period_min: date | None
    period_max: date | None


class _HashingFile:
    """A file object that hashes what is written to it."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.hash = hashlib.sha256()
        self.size = 0
        self.closed = False

    def write(self, data: bytes) -> int:
        self.hash.update(data)
        self.size += len(data)
        self._file.write(data)
        return len(data)

    def tell(self) -> int:
        return self.size

    def flush(self) -> None:
        self._file.flush()

    def close(self) -> None:
        # pyarrow closes what it has written; the store still has to flush its file.
        self.closed = True


def file_schema(columns: Iterable[FileColumn], metadata: dict[str, str]) -> pa.Schema:
    """Return the schema of a file, with column descriptions and file metadata."""
    fields = [column.field.with_metadata({"description": column.meaning}) for column in columns]
    return pa.schema(fields, metadata=metadata)


def write_parquet(
    rows: Iterable[pa.RecordBatch],
    schema: pa.Schema,
    sort: tuple[str, ...],
    period: tuple[str, ...],
    store: FileStore,
    *path: str,
    read: Reader | None = None,
) -> WrittenFile:
    """Write sorted rows to a file of a store; ``read`` sees each row group before it is written.

    At most one row group is in memory.
    """
    days: list[date] = []
    count = 0
    with store.create(*path) as file:
        out = _HashingFile(file)
        with _writer(out, schema, sort) as writer:
            for group in row_groups(rows, schema):
                if read is not None:
                    read(group)
                writer.write_table(group, row_group_size=GROUP)
                count += len(group)
                days += _days(group, period)
        file.flush()
        # An object store shows a file only once it is complete; a disk may lose it with the power.
        if store.is_local:
            os.fsync(file.fileno())
    first, last = min(days, default=None), max(days, default=None)
    return WrittenFile(count, out.size, out.hash.hexdigest(), first, last)


def _writer(out: _HashingFile, schema: pa.Schema, sort: tuple[str, ...]) -> pq.ParquetWriter:
    return pq.ParquetWriter(
        pa.PythonFile(out, mode="w"),
        schema,
        compression="zstd",
        use_dictionary=[
            _leaf(field)
            for field in schema
            # Amounts hardly repeat.
            if field.name not in _DISTINCT and not pa.types.is_decimal(field.type)
        ],
        write_statistics=[_leaf(field) for field in schema if field.name not in _NO_STATISTICS],
        write_page_index=True,
        sorting_columns=[pq.SortingColumn(schema.names.index(name)) for name in sort],
    )


def _leaf(field: pa.Field) -> str:
    """Return the name of a leaf column in the file; a list has its elements as a leaf."""
    return f"{field.name}.list.element" if pa.types.is_list(field.type) else str(field.name)


def row_groups(
    batches: Iterable[pa.RecordBatch], schema: pa.Schema, size: int = GROUP
) -> Iterator[pa.Table]:
    """Regroup batches of any size into row groups of one size, so that files are reproducible."""
    pending = schema.empty_table()
    for batch in batches:
        pending = pa.concat_tables([pending, pa.Table.from_batches([batch]).cast(schema)])
        while len(pending) >= size:
            yield pending.slice(0, size)
            pending = pending.slice(size)
    if len(pending):
        yield pending


def _days(group: pa.Table, period: tuple[str, ...]) -> list[date]:
    bounds = [pc.min_max(group[name]).as_py() for name in period]
    days = [day for bound in bounds for day in bound.values() if day is not None]
    return [day.date() if isinstance(day, datetime) else day for day in days]
