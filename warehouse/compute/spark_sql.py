"""Statements over whole tables of the record, as Spark SQL.

The statements are written once, for DuckDB; where the dialects differ, sqlglot translates. Spark
reads the Parquet files that the Delta log lists, so it needs no connector of its own.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pyarrow as pa

from warehouse.compute.tables import TableFiles
from warehouse.errors import SankofaError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def spark_statement(statement: str) -> str:
    """Return a statement of DuckDB in the words of Spark; raise if it has none for it."""
    # Only here: an extra, as Spark is.
    import sqlglot

    (translated,) = sqlglot.transpile(
        statement, read="duckdb", write="spark", unsupported_level=sqlglot.ErrorLevel.RAISE
    )
    return translated


def spark_rows(
    session: "SparkSession", statement: str, tables: Mapping[str, TableFiles]
) -> "DataFrame":
    """Return the rows of a statement of DuckDB; ``tables`` are those that it names."""
    for name, table in tables.items():
        _table(session, table).createOrReplaceTempView(name)
    return session.sql(spark_statement(statement))


def _table(session: "SparkSession", table: TableFiles) -> "DataFrame":
    """Return a table with the columns and types of its schema."""
    empty = session.createDataFrame(pa.Table.from_batches([], table.schema))
    if not table.paths:
        return empty
    if away := [path for path in table.paths if "://" in path]:
        raise SankofaError(
            f"Spark cannot read {away[0]}: it needs the record in a folder that all workers share; "
            "move it there, or set SANKOFA_COMPUTE to local"
        )
    # A column that a file lacks is null, as in a file from before the column was added.
    return session.read.schema(empty.schema).parquet(*table.paths)


def write_partitions(rows: "DataFrame", folder: str) -> None:
    """Write rows below ``folder``, those of each value of ``partition`` in a folder of its own."""
    rows.repartition("partition").write.mode("append").partitionBy("partition").parquet(folder)
