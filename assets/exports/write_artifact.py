"""One file of an export and what the manifest says of it."""

from collections.abc import Iterable, Iterator
from contextlib import closing, nullcontext
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from assets.exports.artifacts import LICENCES, TIERS, ExportFile
from assets.exports.parquet import BATCH, WrittenFile, file_schema, write_parquet
from warehouse.exports.file_store import FileStore
from warehouse.exports.published import (
    Artifact,
    ColumnType,
    Delta,
    Failed,
    delta_name,
    file_name,
    schema_name,
)
from warehouse.mart.snapshot import Snapshot


def write_artifact(
    snapshot: Snapshot,
    place: FileStore,
    address: str,
    notice: str,
    part: ExportFile,
    previous: str | None,
) -> Artifact:
    """Write the file of a part, and what changed in it, and say what the manifest says of it."""
    version = snapshot.data_version
    schema = file_schema(part.columns, _about(part, version, notice))
    alongside = nullcontext() if part.alongside is None else part.alongside(snapshot)
    with closing(snapshot.sql.cursor()) as sql:
        rows, name = rows_of(part, snapshot, sql), file_name(part.key)
        with alongside as read:
            written = write_parquet(
                rows, schema, part.sort, part.period, place, version, name, read=read
            )
        delta = None
        if previous is not None and same_columns(sql, place, previous, part, schema):
            changes = write_delta(sql, part, schema, place, previous, version)
            delta = _delta(part, changes, previous, address)
    return Artifact(
        key=part.key,
        title=part.title,
        kind=part.kind,
        sku=part.sku,
        signal_key=part.signal_key,
        url=f"{address}/{name}",
        requires_key=TIERS[part.kind] is not None,
        required_tier=TIERS[part.kind],
        license=LICENCES[part.kind],
        rows=written.rows,
        columns=tuple(ColumnType(field.name, str(field.type)) for field in schema),
        size_bytes=written.size_bytes,
        sha256=written.sha256,
        schema_url=f"{address}/{schema_name(part.key)}",
        period_min=written.period_min,
        period_max=written.period_max,
        sort_key=part.sort,
        methodology_ref=part.methodology_ref,
        delta=delta,
        sql_as_of=part.sql_as_of,
    )


def _about(part: ExportFile, version: str, notice: str) -> dict[str, str]:
    """Say in the file itself what it is."""
    return {
        "sku": part.sku or "",
        "data_version": version,
        "licence": LICENCES[part.kind],
        "methodology": part.methodology_ref or "",
        "title": part.title,
        "notice": notice,
        "sql_as_of": part.sql_as_of or "",
    }


def failed_artifact(part: ExportFile, missing: Iterable[str]) -> Failed:
    """Say that a file could not be made, and what lacks."""
    reason = f"the build has no {' and no '.join(missing)}, from which this file is made"
    return Failed(key=part.key, title=part.title, sku=part.sku, reason=reason)


def _delta(part: ExportFile, changes: WrittenFile, previous: str, address: str) -> Delta:
    return Delta(
        against=previous,
        url=f"{address}/{delta_name(part.key)}",
        rows=changes.rows,
        size_bytes=changes.size_bytes,
        sha256=changes.sha256,
        key=part.id,
        meaning=MEANING.format(id=part.id),
        sql_apply=sql_apply(part),
    )


def rows_of(
    part: ExportFile, snapshot: Snapshot, sql: duckdb.DuckDBPyConnection
) -> Iterator[pa.RecordBatch]:
    """Give the rows of a part; those that are staged in its order are not sorted again."""
    if part.keeps is None or snapshot.order(part.keeps) != part.staged_sort:
        yield from sql.sql(f"{part.statement} ORDER BY {', '.join(part.sort)}").to_arrow_reader(
            BATCH
        )
    elif part.relation == f"SELECT * FROM {part.keeps}":
        yield from _columns(snapshot.path(part.keeps), part)
    else:
        yield from sql.sql(part.statement).to_arrow_reader(BATCH)


def _columns(path: Path, part: ExportFile) -> Iterator[pa.RecordBatch]:
    """Read columns of a staged table without the engine, which would copy each text again."""
    staged, shown = zip(*((each.sql, each.name) for each in part.columns), strict=True)
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(BATCH, columns=list(staged)):
            yield pa.RecordBatch.from_arrays([batch[name] for name in staged], shown)


MEANING = (
    "Rows whose change is 'put' are new, or stand in place of the row with the same {id}: a "
    "vintage that was followed by another has its superseded_at since. Rows whose change is "
    "'removed' are no longer in the file; only their {id} is given."
)
_APPLY = (
    "SELECT * FROM '{{previous}}' WHERE {id} NOT IN (SELECT {id} FROM '{{delta}}') "
    "UNION ALL SELECT * EXCLUDE (change) FROM '{{delta}}' WHERE change = 'put'"
)
_CHANGE = pa.field("change", pa.string(), nullable=False)


def sql_apply(part: ExportFile) -> str:
    """Write how the file of this version is made from the one before and the delta."""
    return _APPLY.format(id=part.id)


def delta_schema(part: ExportFile, schema: pa.Schema) -> pa.Schema:
    """Give the schema of the delta: the file's, in which all but the id may be null."""
    fields = [field.with_nullable(field.name != part.id) for field in schema]
    return pa.schema([_CHANGE, *fields], metadata=schema.metadata)


def write_delta(
    sql: duckdb.DuckDBPyConnection,
    part: ExportFile,
    schema: pa.Schema,
    place: FileStore,
    previous: str,
    data_version: str,
) -> WrittenFile:
    """Compare the files of two versions row by row, and write what differs."""
    now, before = (_read(place, version, part) for version in (data_version, previous))
    names = ", ".join(schema.names)
    order = ", ".join(part.sort)
    statement = f"""
WITH changed AS (
    SELECT coalesce(now.id, before.id) AS id, now.id IS NULL AS gone
    FROM (SELECT {part.id} AS id, hash({names}) AS mark FROM {now}) AS now
    FULL JOIN (SELECT {part.id} AS id, hash({names}) AS mark FROM {before}) AS before
      ON now.id = before.id
    WHERE now.mark IS DISTINCT FROM before.mark
),
put AS (SELECT * FROM {now} WHERE {part.id} IN (SELECT id FROM changed WHERE NOT gone))
SELECT 'put' AS change, {names} FROM put
UNION ALL BY NAME
SELECT 'removed' AS change, id AS {part.id} FROM changed WHERE gone
ORDER BY {order}
"""
    return write_parquet(
        sql.sql(statement).to_arrow_reader(BATCH),
        delta_schema(part, schema),
        part.sort,
        part.period,
        place,
        data_version,
        delta_name(part.key),
    )


def same_columns(
    sql: duckdb.DuckDBPyConnection,
    place: FileStore,
    previous: str,
    part: ExportFile,
    schema: pa.Schema,
) -> bool:
    """Tell whether the file before has the same columns; else there is nothing to compare."""
    held = sql.sql(f"SELECT * FROM {_read(place, previous, part)} LIMIT 0").to_arrow_table().schema
    return bool(held.names == schema.names and held.types == schema.types)


def _read(place: FileStore, version: str, part: ExportFile) -> str:
    address = place.address(version, file_name(part.key)).replace("'", "''")
    return f"read_parquet('{address}')"
