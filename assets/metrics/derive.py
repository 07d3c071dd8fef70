"""Every metric of every full year of every issuer, with the days for which it is the answer."""

from contextlib import closing

import pyarrow as pa

from assets.metrics import choice, years
from assets.metrics.absent import ABSENT, NEEDED
from assets.metrics.values import details, metric_rows, valued
from warehouse.mart.stage import Stage
from warehouse.methodology.metrics import SET
from warehouse.record.journal import code_version
from warehouse.record.schema import arrow_schema
from warehouse.tables import Metric, MetricAbsent

VERSION = f"{SET} {code_version()}"

_VALUED = pa.schema([("ending", pa.int64()), ("metric", pa.int32()), ("positive", pa.bool_())])


def metrics(stage: Stage) -> dict[str, pa.Table]:
    """Derive ``metrics`` and ``metrics_absent`` from the staged fundamentals.

    A row of either holds for a half-open interval of ``as_of`` days. For a metric and a day,
    each issuer with a figure published by then has exactly one row in one of them. A year that
    never was the latest one keeps a row whose interval is empty.
    """
    with closing(stage.sql.cursor()) as sql:
        made = years.TABLES | choice.TABLES
        for name, statement in made.items():
            sql.execute(f"CREATE TEMP TABLE {name} AS {statement}")
        for name in made.keys() - NEEDED:
            sql.execute(f"DROP TABLE {name}")
        told = details(sql)
        found, judged = [], []
        for formula, rows, values in valued(sql, told):
            positive = values.is_valid()
            marks = [rows["ending"], rows["metric"], positive]
            judged.append(pa.table(marks, _VALUED.names).cast(_VALUED))
            met = metric_rows(formula, rows.filter(positive), values.drop_null(), told)
            found.append(_described(Metric, met))
        sql.register("valued", pa.concat_tables(judged))
        absent = sql.sql(ABSENT).to_arrow_table()
    return {
        "metrics": pa.concat_tables(found),
        "metrics_absent": _described(MetricAbsent, absent),
    }


def _described(row: type[Metric] | type[MetricAbsent], rows: pa.Table) -> pa.Table:
    schema = arrow_schema(row)
    return rows.select(schema.names).cast(schema)
