"""A Parquet file written as a stream: sorted rows in, the file's digest and size out."""

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
from warehouse.exports.file_store import FileStore

GROUP = 100_000
# Small enough that no text column of a batch can pass the 2 GiB that Arrow's offsets reach.
BATCH = 10 * 2_048
# What sees the rows of a file while it is written.
Reader = Callable[[pa.Table], None]
# Nearly every row has its own: a dictionary of them is made in vain.
_DISTINCT = (
    *("fact_id", "record_id", "provenance_id", "source_ref", "source_url"),
    *("ocid", "release_id", "release"),
)
# Long texts: their least and greatest tell a reader nothing.
_UNSORTABLE = ("release",)


@dataclass(frozen=True)
class WrittenFile:
    """What is known of a file once it is written."""

    rows: int
    size_bytes: int
    sha256: str
    period_min: date | None
    period_max: date | None


class _Hashing:
    """A file that is hashed while it is written."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.hash = hashlib.sha256()
        self.size = 0
        self.closed = False

    def write(self, part: bytes) -> int:
        self.hash.update(part)
        self.size += len(part)
        self._file.write(part)
        return len(part)

    def tell(self) -> int:
        return self.size

    def flush(self) -> None:
        self._file.flush()

    def close(self) -> None:
        self.closed = True


def file_schema(columns: Iterable[FileColumn], about: dict[str, str]) -> pa.Schema:
    """Give the schema of a file: each column with its meaning, and what it says of itself."""
    fields = [each.field.with_metadata({"description": each.meaning}) for each in columns]
    return pa.schema(fields, metadata=about)


def write_parquet(
    rows: Iterable[pa.RecordBatch],
    schema: pa.Schema,
    sort: tuple[str, ...],
    period: tuple[str, ...],
    place: FileStore,
    *parts: str,
    read: Reader | None = None,
) -> WrittenFile:
    """Write rows that come in order, ``read`` on their way; no more than a row group is held."""
    found: list[date] = []
    count = 0
    with place.create(*parts) as file:
        out = _Hashing(file)
        with _writer(out, schema, sort) as writer:
            for group in row_groups(rows, schema):
                if read is not None:
                    read(group)
                writer.write_table(group, row_group_size=GROUP)
                count += len(group)
                found += _days(group, period)
        file.flush()
        if place.is_local:
            os.fsync(file.fileno())
    least, most = min(found, default=None), max(found, default=None)
    return WrittenFile(count, out.size, out.hash.hexdigest(), least, most)


def _writer(out: _Hashing, schema: pa.Schema, sort: tuple[str, ...]) -> pq.ParquetWriter:
    return pq.ParquetWriter(
        pa.PythonFile(out, mode="w"),
        schema,
        compression="zstd",
        use_dictionary=[
            _leaf(field)
            for field in schema
            if field.name not in _DISTINCT and not pa.types.is_decimal(field.type)
        ],
        write_statistics=[_leaf(field) for field in schema if field.name not in _UNSORTABLE],
        write_page_index=True,
        sorting_columns=[pq.SortingColumn(schema.names.index(name)) for name in sort],
    )


def _leaf(field: pa.Field) -> str:
    """Name a column as the file does: that of a list is what the list is made of."""
    return f"{field.name}.list.element" if pa.types.is_list(field.type) else str(field.name)


def row_groups(
    batches: Iterable[pa.RecordBatch], schema: pa.Schema, size: int = GROUP
) -> Iterator[pa.Table]:
    """Cut batches of any size into row groups of one size; the same rows give the same ones."""
    held = schema.empty_table()
    for batch in batches:
        held = pa.concat_tables([held, pa.Table.from_batches([batch]).cast(schema)])
        while len(held) >= size:
            yield held.slice(0, size)
            held = held.slice(size)
    if len(held):
        yield held


def _days(group: pa.Table, period: tuple[str, ...]) -> list[date]:
    bounds = [pc.min_max(group[name]).as_py() for name in period]
    days = [day for each in bounds for day in each.values() if day is not None]
    return [day.date() if isinstance(day, datetime) else day for day in days]
