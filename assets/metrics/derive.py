"""Derive every metric of every full year of every issuer, with the days for which it answers.

A metric takes its inputs from one issuer. Issuers are therefore computed in batches, and the rows
are written to a file as they are made, so that memory does not grow with the record.
"""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Self

import duckdb
import pyarrow as pa

from assets.metrics.formula_numbers import FORMULA_INPUTS, INPUT_COLUMNS, ITEMS
from assets.metrics.values import compute_values, metric_rows, read_inputs
from warehouse.mart.snapshot import Snapshot
from warehouse.methodology.metrics import FORMULAS, LONGEST_YEAR, SHORTEST_YEAR, STRAY_YEAR
from warehouse.record.tables import arrow_schema
from warehouse.sql_files import sql_file
from warehouse.tables import Metric, MetricAbsent

# Facts per batch of issuers.
BATCH_FACTS = 100_000

_BATCHES = sql_file(__name__, "batches")
_YEARLY_INPUTS = sql_file(
    __name__,
    "yearly_inputs",
    parameters={
        "formula_inputs": FORMULA_INPUTS,
        "items": ITEMS,
        "shortest_year": SHORTEST_YEAR,
        "longest_year": LONGEST_YEAR,
        "stray_year": STRAY_YEAR,
    },
)
_PUBLICATIONS = sql_file(__name__, "publications")
_CHOICES = sql_file(__name__, "choices", fragments={"input_columns": INPUT_COLUMNS})
_ABSENCES = sql_file(
    __name__, "absences", parameters={"slugs": [formula.slug for formula in FORMULAS]}
)
# Tables that are read after the choice; the others can be dropped.
_READ_LATER = {"facts", "readings", "stated", "outcomes", "issuers", "candidates", "needs"}
_NO_TABLES = {"is_gone"}

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
            absences.write(_ABSENCES.query(sql, "absences").to_arrow_table())
    return {"metrics": values.table(), "metrics_absent": absences.table()}


def _issuer_batches(sql: duckdb.DuckDBPyConnection, batch_facts: int) -> list[tuple[str, str]]:
    """Return the first and last issuer of each batch; all have about as many facts."""
    batches: list[tuple[str, str]] = _BATCHES.run(
        sql, "batches", batch_facts=batch_facts
    ).fetchall()
    return batches


def _choose_publications(sql: duckdb.DuckDBPyConnection, first: str, last: str) -> None:
    """Create the tables of one batch, and drop those that are not read later."""
    batch: dict[str, Any] = {"first": first, "last": last}
    for name in _YEARLY_INPUTS.texts:
        _YEARLY_INPUTS.run(sql, name, **(batch if name in ("facts", "readings") else {}))
    _PUBLICATIONS.run_all(sql)
    _CHOICES.run_all(sql)
    made = {*_YEARLY_INPUTS.texts, *_PUBLICATIONS.texts, *_CHOICES.texts}
    for table in sorted(made - _READ_LATER - _NO_TABLES):
        sql.execute(f"DROP TABLE {table}")


def _metric_rows(sql: duckdb.DuckDBPyConnection) -> Iterator[pa.Table]:
    """Yield the rows of each metric; at the end, create ``valued`` with the conditions met."""
    inputs, conditions = read_inputs(sql), []
    for formula, outcomes, values in compute_values(sql, inputs):
        condition_met = values.is_valid()
        columns = [outcomes["year_end_no"], outcomes["metric_no"], condition_met]
        conditions.append(pa.table(columns, _VALUED.names).cast(_VALUED))
        yield metric_rows(formula, outcomes.filter(condition_met), values.drop_null(), inputs)
    # The absences need to know which outcomes met the condition of their formula.
    sql.register("condition_rows", pa.concat_tables(conditions))
    sql.execute("CREATE OR REPLACE TEMP TABLE valued AS FROM condition_rows")
    sql.unregister("condition_rows")
