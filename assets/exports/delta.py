"""What changed in a file since the version before: rows to put, and rows to remove."""

import duckdb
import pyarrow as pa

from assets.exports.artifacts import Part
from assets.exports.parquet import BATCH, Written, write
from warehouse.exports.place import Place
from warehouse.exports.published import delta_name, file_name

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


def sql_apply(part: Part) -> str:
    """Write how the file of this version is made from the one before and the delta."""
    return _APPLY.format(id=part.id)


def delta_schema(part: Part, schema: pa.Schema) -> pa.Schema:
    """Give the schema of the delta: the file's, in which all but the id may be null."""
    fields = [field.with_nullable(field.name != part.id) for field in schema]
    return pa.schema([_CHANGE, *fields], metadata=schema.metadata)


def write_delta(
    sql: duckdb.DuckDBPyConnection,
    part: Part,
    schema: pa.Schema,
    place: Place,
    previous: str,
    data_version: str,
) -> Written:
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
    return write(
        sql.sql(statement).to_arrow_reader(BATCH),
        delta_schema(part, schema),
        part.sort,
        part.period,
        place,
        data_version,
        delta_name(part.key),
    )


def same_columns(
    sql: duckdb.DuckDBPyConnection, place: Place, previous: str, part: Part, schema: pa.Schema
) -> bool:
    """Tell whether the file before has the same columns; else there is nothing to compare."""
    held = sql.sql(f"SELECT * FROM {_read(place, previous, part)} LIMIT 0").to_arrow_table().schema
    return bool(held.names == schema.names and held.types == schema.types)


def _read(place: Place, version: str, part: Part) -> str:
    address = place.address(version, file_name(part.key)).replace("'", "''")
    return f"read_parquet('{address}')"
