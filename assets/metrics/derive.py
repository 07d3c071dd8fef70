"""Every metric of every full year of every issuer, with the days for which it is the answer.

A metric takes its inputs from one issuer: issuers are worked out some at a time, and what is
made is put down in a file, so that memory does not grow with the record.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, closing
from pathlib import Path
from types import TracebackType
from typing import Self

import duckdb
import pyarrow as pa

from assets.metrics import chosen_statements, yearly_inputs
from assets.metrics.chosen_statements import ABSENT, NEEDED
from assets.metrics.values import details, metric_rows, valued
from warehouse.mart.snapshot import Snapshot
from warehouse.methodology.metrics import METRIC_SET
from warehouse.record.ledger import code_version
from warehouse.record.tables import arrow_schema
from warehouse.tables import Metric, MetricAbsent

VERSION = f"{METRIC_SET} {code_version()}"
# Facts of the issuers that are worked out at a time.
AT_ONCE = 100_000

_VALUED = pa.schema([("ending", pa.int64()), ("metric", pa.int32()), ("positive", pa.bool_())])


def metrics(snapshot: Snapshot, at_once: int = AT_ONCE) -> dict[str, pa.Table]:
    """Derive ``metrics`` and ``metrics_absent`` from the staged fundamentals.

    A row of either holds for a half-open interval of ``as_of`` days. For a metric and a day,
    each issuer with a figure published by then has exactly one row in one of them. A year that
    never was the latest one keeps a row whose interval is empty.
    """
    values = Spool(snapshot.folder / "metrics.spool", arrow_schema(Metric))
    absences = Spool(snapshot.folder / "metrics_absent.spool", arrow_schema(MetricAbsent))
    with values, absences, closing(snapshot.sql.cursor()) as sql:
        for first, last in _issuers(sql, at_once):
            _choose(sql, first, last)
            for rows in _values(sql):
                values.write(rows)
            absences.write(sql.sql(ABSENT).to_arrow_table())
    return {"metrics": values.table(), "metrics_absent": absences.table()}


def _issuers(sql: duckdb.DuckDBPyConnection, at_once: int) -> list[tuple[str, str]]:
    """Give the first and last issuer of each part; every part has about as many facts."""
    return sql.execute(f"""
SELECT min(service_id), max(service_id) FROM (
    SELECT service_id, (sum(count(*)) OVER (ORDER BY service_id) - 1) // {at_once} AS part
    FROM fundamentals GROUP BY service_id
) GROUP BY part ORDER BY part""").fetchall()


def _choose(sql: duckdb.DuckDBPyConnection, first: str, last: str) -> None:
    """Make the tables of one part, and leave those that are read after the choice."""
    sql.execute(yearly_inputs.facts(), {"first": first, "last": last})
    made = yearly_inputs.TABLES | chosen_statements.TABLES
    for name, statement in made.items():
        sql.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS {statement}")
    for name in made.keys() - NEEDED:
        sql.execute(f"DROP TABLE {name}")


def _values(sql: duckdb.DuckDBPyConnection) -> Iterator[pa.Table]:
    """Give the rows of each metric; in the end ``valued`` tells where its condition is met."""
    told, judged = details(sql), []
    for formula, rows, values in valued(sql, told):
        positive = values.is_valid()
        marks = [rows["ending"], rows["metric"], positive]
        judged.append(pa.table(marks, _VALUED.names).cast(_VALUED))
        yield metric_rows(formula, rows.filter(positive), values.drop_null(), told)
    sql.register("judged", pa.concat_tables(judged))
    sql.execute("CREATE OR REPLACE TEMP TABLE valued AS FROM judged")
    sql.unregister("judged")


class Spool(AbstractContextManager["Spool"]):
    """A file of rows of one shape; it is gone when the table that shows it is."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self._path, self._schema = path, schema
        self._writer = pa.ipc.new_file(str(path), schema)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._writer.close()
        if error is not None:
            self._path.unlink()

    def write(self, rows: pa.Table) -> None:
        """Put rows down; other columns than those of the shape are left out."""
        self._writer.write_table(rows.select(self._schema.names).cast(self._schema))

    def table(self) -> pa.Table:
        """Show what was put down, mapped and not read; the file loses its name."""
        with pa.memory_map(str(self._path)) as file:
            rows = pa.ipc.open_file(file).read_all()
        self._path.unlink()
        return rows
