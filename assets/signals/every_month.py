"""A row for every month while a country publishes: one with nothing in scope says so."""

import duckdb

from assets.signals.calendar import EVALUATIONS, NEVER
from warehouse.sql_files import sql_file

_SQL = sql_file(__name__, "every_month", parameters={"evaluations": EVALUATIONS, "never": NEVER})


def create_from_first_month(sql: duckdb.DuckDBPyConnection) -> None:
    """Create the macro ``from_first_month``: keys in every known month from their first one."""
    _SQL.run(sql, "from_first_month")


def add_empty_months(sql: duckdb.DuckDBPyConnection) -> None:
    """Add a row of zeros to ``raw`` for every known month in which nothing was in scope."""
    for name in ("raw_keys", "add_empty_months"):
        _SQL.run(sql, name)
    sql.execute("DROP TABLE raw_keys")
