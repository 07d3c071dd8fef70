"""Write one bulk file and its delta against the version before; return its manifest entry."""

from collections.abc import Iterable, Iterator
from contextlib import closing, nullcontext
from pathlib import Path

import duckdb
import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from assets.exports.artifacts import LICENCES, TIERS, ExportFile
from assets.exports.parquet import BATCH, WrittenFile, file_schema, write_parquet
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


def write_artifact(
    snapshot: Snapshot,
    store: FileStore,
    notice: str,
    export_file: ExportFile,
    previous: str | None,
) -> Artifact:
    """Write a file and its delta, and return its manifest entry.

    ``previous`` is the version to compare with, None if that has no such file.
    """
    version = snapshot.data_version
    schema = file_schema(export_file.columns, _file_metadata(export_file, version, notice))
    row_reader = (
        nullcontext() if export_file.row_reader is None else export_file.row_reader(snapshot)
    )
    with closing(snapshot.sql.cursor()) as sql:
        rows, name = rows_of(export_file, snapshot, sql), file_name(export_file.key)
        with row_reader as read:
            written = write_parquet(
                rows, schema, export_file.sort, export_file.period, store, version, name, read=read
            )
        delta = None
        if previous is not None and same_columns(sql, store, previous, export_file, schema):
            changes = write_delta(sql, export_file, schema, store, previous, version)
            delta = _delta(export_file, changes, previous)
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
    store: FileStore,
    version: str,
    export_file: ExportFile,
    before: Artifact,
    previous: str,
) -> Artifact:
    """Take a file over from the version before, in which it has the same rows; return its entry.

    Its metadata names the version in which its bytes were first published.
    """
    name = file_name(export_file.key)
    store.take_over((previous, name), (version, name))
    with store.open(version, name) as file:
        schema = pq.read_schema(file)
    changes = write_parquet(
        (),
        delta_schema(export_file, schema),
        export_file.sort,
        export_file.period,
        store,
        version,
        delta_name(export_file.key),
    )
    return msgspec.structs.replace(
        before,
        url=name,
        schema_url=schema_name(export_file.key),
        delta=_delta(export_file, changes, previous),
    )


def _file_metadata(export_file: ExportFile, version: str, notice: str) -> dict[str, str]:
    """Return the metadata of the Parquet file, so that a lone copy still explains itself."""
    return {
        "sku": export_file.sku or "",
        "data_version": version,
        "licence": LICENCES[export_file.kind],
        "methodology": export_file.methodology_ref or "",
        "title": export_file.title,
        "notice": notice,
        "sql_as_of": export_file.sql_as_of or "",
    }


def failed_artifact(export_file: ExportFile, missing: Iterable[str]) -> Failed:
    """Return the manifest entry of a file that could not be written, with what is missing."""
    reason = f"the build has no {' and no '.join(missing)}, from which this file is made"
    return Failed(key=export_file.key, title=export_file.title, sku=export_file.sku, reason=reason)


def _delta(export_file: ExportFile, changes: WrittenFile, previous: str) -> Delta:
    return Delta(
        against=previous,
        url=delta_name(export_file.key),
        rows=changes.rows,
        size_bytes=changes.size_bytes,
        sha256=changes.sha256,
        key=export_file.id,
        meaning=MEANING.format(id=export_file.id),
        sql_apply=sql_apply(export_file),
    )


def rows_of(
    export_file: ExportFile, snapshot: Snapshot, sql: duckdb.DuckDBPyConnection
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a file in order; a snapshot table that is sorted so is not sorted again."""
    table = export_file.sorted_table
    if table is None or snapshot.order(table) != export_file.snapshot_sort:
        ordered = f"{export_file.statement} ORDER BY {', '.join(export_file.sort)}"
        yield from sql.sql(ordered).to_arrow_reader(BATCH)
    elif export_file.relation == f"SELECT * FROM {table}":
        yield from _columns(Path(snapshot.paths(table)[0]), export_file)
    else:
        yield from sql.sql(export_file.statement).to_arrow_reader(BATCH)


def _columns(path: Path, export_file: ExportFile) -> Iterator[pa.RecordBatch]:
    """Read columns of a snapshot table without DuckDB, which would copy each text again."""
    expressions, names = zip(
        *((column.sql, column.name) for column in export_file.columns), strict=True
    )
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(BATCH, columns=list(expressions)):
            yield pa.RecordBatch.from_arrays([batch[name] for name in expressions], names)


MEANING = (
    "Rows whose change is 'put' are new or replace the row with the same {id}, for example a "
    "vintage that now has a superseded_at. Rows whose change is 'removed' are no longer in the "
    "file; only their {id} is filled."
)
_APPLY = (
    "SELECT * FROM '{{previous}}' WHERE {id} NOT IN (SELECT {id} FROM '{{delta}}') "
    "UNION ALL SELECT * EXCLUDE (change) FROM '{{delta}}' WHERE change = 'put'"
)
_CHANGE = pa.field("change", pa.string(), nullable=False)


def sql_apply(export_file: ExportFile) -> str:
    """Return the SQL that makes the file of this version from the one before and the delta."""
    return _APPLY.format(id=export_file.id)


def delta_schema(export_file: ExportFile, schema: pa.Schema) -> pa.Schema:
    """Return the schema of the delta: that of the file, with all but the id nullable."""
    fields = [field.with_nullable(field.name != export_file.id) for field in schema]
    return pa.schema([_CHANGE, *fields], metadata=schema.metadata)


def write_delta(
    sql: duckdb.DuckDBPyConnection,
    export_file: ExportFile,
    schema: pa.Schema,
    store: FileStore,
    previous: str,
    data_version: str,
) -> WrittenFile:
    """Compare the files of two versions row by row, and write the rows that differ."""
    newer, older = (_read(store, version, export_file) for version in (data_version, previous))
    names = ", ".join(schema.names)
    order = ", ".join(export_file.sort)
    statement = f"""
-- ids whose rows differ, or are in one of the two files only
WITH changed AS (
    -- rows are compared by a hash of all their columns, which is far smaller than the rows
    SELECT coalesce(newer.id, older.id) AS id, newer.id IS NULL AS is_removed
    FROM (SELECT {export_file.id} AS id, hash({names}) AS row_hash FROM {newer}) AS newer
    FULL JOIN (SELECT {export_file.id} AS id, hash({names}) AS row_hash FROM {older}) AS older
      ON newer.id = older.id
    WHERE newer.row_hash IS DISTINCT FROM older.row_hash
),
put AS (
    SELECT * FROM {newer}
    WHERE {export_file.id} IN (SELECT id FROM changed WHERE NOT is_removed)
)
SELECT 'put' AS change, {names} FROM put
UNION ALL BY NAME
SELECT 'removed' AS change, id AS {export_file.id} FROM changed WHERE is_removed
ORDER BY {order}
"""
    return write_parquet(
        sql.sql(statement).to_arrow_reader(BATCH),
        delta_schema(export_file, schema),
        export_file.sort,
        export_file.period,
        store,
        data_version,
        delta_name(export_file.key),
    )


def same_columns(
    sql: duckdb.DuckDBPyConnection,
    store: FileStore,
    previous: str,
    export_file: ExportFile,
    schema: pa.Schema,
) -> bool:
    """Return whether the file before has the same columns; if not, there can be no delta."""
    no_rows = f"SELECT * FROM {_read(store, previous, export_file)} LIMIT 0"
    before = sql.sql(no_rows).to_arrow_table().schema
    return bool(before.names == schema.names and before.types == schema.types)


def _read(store: FileStore, version: str, export_file: ExportFile) -> str:
    url = store.url(version, file_name(export_file.key)).replace("'", "''")
    return f"read_parquet('{url}')"
