"""Derive every metric of every full year of every issuer, with the days for which it answers.

A metric takes its inputs from one issuer. Issuers are therefore computed in batches, and the rows
are written to a file as they are made, so that memory does not grow with the record.
"""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Self

import duckdb
import pyarrow as pa

from assets.metrics import choices, publications, yearly_inputs
from assets.metrics.absences import ABSENT
from assets.metrics.choices import TABLES_READ_LATER
from assets.metrics.values import compute_values, metric_rows, read_inputs
from warehouse.mart.snapshot import Snapshot
from warehouse.record.tables import arrow_schema
from warehouse.tables import Metric, MetricAbsent

# Facts per batch of issuers.
BATCH_FACTS = 100_000

_VALUED = pa.schema(
    [("year_end_no", pa.int64()), ("metric_no", pa.int32()), ("condition_met", pa.bool_())]
)


class RowFile:
    """A temporary Arrow file of rows of one schema, mapped into memory once it is written."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self._path, self._schema = path, schema
        self._writer = pa.ipc.new_file(str(path), schema)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self._writer.close()
        # Nobody will read a half-written file.
        if error is not None:
            self._path.unlink()

    def write(self, rows: pa.Table) -> None:
        """Append rows; columns that are not in the schema are left out."""
        self._writer.write_table(rows.select(self._schema.names).cast(self._schema))

    def table(self) -> pa.Table:
        """Return all rows, memory-mapped.

        The file is unlinked here and its space freed when the table is.
        """
        with pa.memory_map(str(self._path)) as file:
            rows = pa.ipc.open_file(file).read_all()
        self._path.unlink()
        return rows


def metrics(snapshot: Snapshot, batch_facts: int = BATCH_FACTS) -> dict[str, pa.Table]:
    """Derive ``metrics`` and ``metrics_absent`` from fundamentals and statements of a snapshot.

    A row of either holds for a half-open interval of ``as_of`` days. For a metric and a day,
    each issuer with a figure published by then has exactly one row in one of them. A year that
    never was the latest one has a row with an empty interval.
    """
    values = RowFile(snapshot.folder / "metrics.arrow", arrow_schema(Metric))
    absences = RowFile(snapshot.folder / "metrics_absent.arrow", arrow_schema(MetricAbsent))
    with values, absences, closing(snapshot.sql.cursor()) as sql:
        for first, last in _issuer_batches(sql, batch_facts):
            _choose_publications(sql, first, last)
            for rows in _metric_rows(sql):
                values.write(rows)
            absences.write(sql.sql(ABSENT).to_arrow_table())
    return {"metrics": values.table(), "metrics_absent": absences.table()}


def _issuer_batches(sql: duckdb.DuckDBPyConnection, batch_facts: int) -> list[tuple[str, str]]:
    """Return the first and last issuer of each batch; all have about as many facts."""
    return sql.execute(f"""
SELECT min(service_id), max(service_id) FROM (
    SELECT service_id, (sum(count(*)) OVER (ORDER BY service_id) - 1) // {batch_facts} AS batch
    FROM fundamentals GROUP BY service_id
) GROUP BY batch ORDER BY batch""").fetchall()


def _choose_publications(sql: duckdb.DuckDBPyConnection, first: str, last: str) -> None:
    """Create the tables of one batch, and drop those that are not read later."""
    for statement in (yearly_inputs.CREATE_FACTS, yearly_inputs.CREATE_READINGS):
        sql.execute(statement, {"first": first, "last": last})
    tables = yearly_inputs.TABLES | publications.TABLES | choices.TABLES
    for table, statement in tables.items():
        sql.execute(f"CREATE OR REPLACE TEMP TABLE {table} AS {statement}")
    for table in tables.keys() - TABLES_READ_LATER:
        sql.execute(f"DROP TABLE {table}")


def _metric_rows(sql: duckdb.DuckDBPyConnection) -> Iterator[pa.Table]:
    """Yield the rows of each metric; at the end, create ``valued`` with the conditions met."""
    inputs, conditions = read_inputs(sql), []
    for formula, outcomes, values in compute_values(sql, inputs):
        condition_met = values.is_valid()
        columns = [outcomes["year_end_no"], outcomes["metric_no"], condition_met]
        conditions.append(pa.table(columns, _VALUED.names).cast(_VALUED))
        yield metric_rows(formula, outcomes.filter(condition_met), values.drop_null(), inputs)
    # ABSENT needs to know which outcomes met the condition of their formula.
    sql.register("condition_rows", pa.concat_tables(conditions))
    sql.execute("CREATE OR REPLACE TEMP TABLE valued AS FROM condition_rows")
    sql.unregister("condition_rows")
