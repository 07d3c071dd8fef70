"""Panels that count the processes of a month: rates, spreads of small whole numbers, ratios."""

import duckdb

from assets.signals.calendar import EVALUATIONS
from warehouse.methodology.signals import METHODS, SHORT_WINDOW
from warehouse.sql_files import sql_file

_SQL = sql_file(
    __name__,
    "rates",
    parameters={
        "evaluations": EVALUATIONS,
        "methods": list(METHODS),
        "short_window": SHORT_WINDOW,
    },
)


def add_rates(sql: duckdb.DuckDBPyConnection) -> None:
    """Add every panel that counts processes by the month of their tender or first award."""
    _SQL.run_all(sql)
