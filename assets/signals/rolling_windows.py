"""Sums over rolling windows of months, as events; the statements are in ``rolling_windows.sql``."""

import duckdb

from assets.signals.calendar import EVALUATIONS, NEVER
from warehouse.methodology.signals import TRAILING
from warehouse.sql_files import sql_file

_SQL = sql_file(
    __name__,
    "rolling_windows",
    parameters={"evaluations": EVALUATIONS, "never": NEVER, "trailing": TRAILING},
)


def create_windows(sql: duckdb.DuckDBPyConnection) -> None:
    """Create ``own_sums``, ``segments``, ``late_totals`` and ``late_changes``."""
    _SQL.run_all(sql)
    sql.execute("DROP TABLE pieces")
