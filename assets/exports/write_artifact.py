"""Write one bulk file and its delta against the version before; return its manifest entry."""

import hashlib
import os
from collections.abc import Iterable, Iterator
from datetime import date, datetime
from typing import BinaryIO, NamedTuple

import duckdb
import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from assets.exports.artifacts import LICENCES, SQL, TIERS, ExportFile
from warehouse.publish.snapshot import Snapshot
from warehouse.serve.exports import (
    Artifact,
    ColumnType,
    Delta,
    Failed,
    delta_name,
    file_name,
    schema_name,
)
from warehouse.shared.file_store import FileStore

GROUP = 100_000
# Small enough that no text column of a batch exceeds the 2 GiB that Arrow's offsets can address.
BATCH = 10 * 2_048
# Columns with a different value in nearly every row: a dictionary would only cost space.
_DISTINCT = (
    *("fact_id", "record_id", "provenance_id", "source_ref", "source_url"),
    *("ocid", "release_id", "release"),
)
# Long texts: their minimum and maximum are of no use to a reader.
_NO_STATISTICS = ("release",)
_MEANING = (
    "Rows whose change is 'put' are new or replace the row with the same {id}, for example a "
    "vintage that now has a superseded_at. Rows whose change is 'removed' are no longer in the "
    "file; only their {id} is filled."
)
_APPLY = (
    "SELECT * FROM '{{previous}}' WHERE {id} NOT IN (SELECT {id} FROM '{{delta}}') "
    "UNION ALL SELECT * EXCLUDE (change) FROM '{{delta}}' WHERE change = 'put'"
)
_CHANGE = pa.field("change", pa.string(), nullable=False)


def write_artifact(
    snapshot: Snapshot, store: FileStore, notice: str, export_file: ExportFile, previous: str | None
) -> Artifact:
    """Write a file and its delta, and return its manifest entry.

    ``previous`` is the version to compare with, None if that has no such file.
    """
    version, name = snapshot.data_version, file_name(export_file.key)
    fields = [
        column.field.with_metadata({"description": column.meaning})
        for column in export_file.columns
    ]
    # So that a lone copy still explains itself.
    metadata = {
        "sku": export_file.sku or "",
        "data_version": version,
        "licence": LICENCES[export_file.kind],
        "methodology": export_file.methodology_ref or "",
        "title": export_file.title,
        "notice": notice,
        "sql_as_of": export_file.sql_as_of or "",
    }
    schema = pa.schema(fields, metadata=metadata)
    with snapshot.cursor() as sql:
        rows = sql.sql(export_file.statement).to_arrow_reader(BATCH)
        written = _write_parquet(rows, schema, export_file, store, version, name)
        delta = None
        newer, older = (read_file(store, each, export_file) for each in (version, previous or ""))
        # Without the same columns there can be no delta.
        if previous is not None and _same_columns(sql, older, schema):
            changes = SQL.statement(
                "delta",
                id=export_file.id,
                names=", ".join(schema.names),
                sort=", ".join(export_file.sort),
                newer=newer,
                older=older,
            )
            changed = sql.sql(changes).to_arrow_reader(BATCH)
            delta = _write_delta(changed, schema, export_file, store, version, previous)
    return Artifact(
        key=export_file.key,
        title=export_file.title,
        kind=export_file.kind,
        sku=export_file.sku,
        signal_key=export_file.signal_key,
        url=name,
        requires_key=TIERS[export_file.kind] is not None,
        required_tier=TIERS[export_file.kind],
        license=LICENCES[export_file.kind],
        rows=written.rows,
        columns=tuple(ColumnType(field.name, str(field.type)) for field in schema),
        size_bytes=written.size_bytes,
        sha256=written.sha256,
        schema_url=schema_name(export_file.key),
        period_min=written.period_min,
        period_max=written.period_max,
        sort_key=export_file.sort,
        methodology_ref=export_file.methodology_ref,
        delta=delta,
        sql_as_of=export_file.sql_as_of,
    )


def take_over_artifact(
    store: FileStore, version: str, export_file: ExportFile, before: Artifact, previous: str
) -> Artifact:
    """Take a file over from the version before, in which it has the same rows; return its entry.

    Its metadata names the version in which its bytes were first published.
    """
    name = file_name(export_file.key)
    store.take_over((previous, name), (version, name))
    with store.open(version, name) as file:
        schema = pq.read_schema(file)
    delta = _write_delta((), schema, export_file, store, version, previous)
    return msgspec.structs.replace(
        before, url=name, schema_url=schema_name(export_file.key), delta=delta
    )


def failed_artifact(export_file: ExportFile, missing: Iterable[str]) -> Failed:
    """Return the manifest entry of a file that could not be written, with what is missing."""
    reason = f"the build has no {' and no '.join(missing)}, from which this file is made"
    return Failed(key=export_file.key, title=export_file.title, sku=export_file.sku, reason=reason)


def _write_delta(
    changes: Iterable[pa.RecordBatch],
    schema: pa.Schema,
    export_file: ExportFile,
    store: FileStore,
    version: str,
    previous: str,
) -> Delta:
    """Write the rows that differ from those of a version before."""
    # Of a row that is gone only the id is filled.
    fields = [field.with_nullable(field.name != export_file.id) for field in schema]
    schema = pa.schema([_CHANGE, *fields], metadata=schema.metadata)
    name = delta_name(export_file.key)
    written = _write_parquet(changes, schema, export_file, store, version, name)
    return Delta(
        against=previous,
        url=name,
        rows=written.rows,
        size_bytes=written.size_bytes,
        sha256=written.sha256,
        key=export_file.id,
        meaning=_MEANING.format(id=export_file.id),
        sql_apply=_APPLY.format(id=export_file.id),
    )


def _same_columns(sql: duckdb.DuckDBPyConnection, older: str, schema: pa.Schema) -> bool:
    before = sql.sql(f"SELECT * FROM {older} LIMIT 0").to_arrow_table().schema
    return bool(before.names == schema.names and before.types == schema.types)


def read_file(store: FileStore, version: str, export_file: ExportFile) -> str:
    """Return the relation of a file of a version."""
    url = store.url(version, file_name(export_file.key)).replace("'", "''")
    return f"read_parquet('{url}')"


class _WrittenFile(NamedTuple):
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


def _write_parquet(
    rows: Iterable[pa.RecordBatch],
    schema: pa.Schema,
    export_file: ExportFile,
    store: FileStore,
    *path: str,
) -> _WrittenFile:
    """Write sorted rows to a file of a store, hashing it on the way.

    At most one row group is in memory.
    """
    days: list[date] = []
    count = 0
    with store.create(*path) as file:
        out = _HashingFile(file)
        with _writer(out, schema, export_file.sort) as writer:
            for group in row_groups(rows, schema):
                writer.write_table(group, row_group_size=GROUP)
                count += len(group)
                days += _days(group, export_file.period)
        file.flush()
        # An object store shows a file only once it is complete; a disk may lose it with the power.
        if store.is_local:
            os.fsync(file.fileno())
    first, last = min(days, default=None), max(days, default=None)
    return _WrittenFile(count, out.size, out.hash.hexdigest(), first, last)


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
