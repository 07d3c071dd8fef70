"""How awards are spread over suppliers, per country and per buyer, and processes over buyers."""

import duckdb

from assets.signals.calendar import EVALUATIONS, NEVER
from warehouse.methodology.signals import TRAILING
from warehouse.sql_files import sql_file

_SQL = sql_file(
    __name__,
    "concentration",
    parameters={"evaluations": EVALUATIONS, "never": NEVER, "trailing": TRAILING},
)
_SUPPLIERS = (
    *("own_months", "own_rows", "late_rows", "own_tops", "late_tops", "concentrated"),
    *("add_measures", "add_named_buyer_share"),
)
# These are large; the panel of newcomers reads the other tables of ``rolling_windows``.
_NOT_READ_LATER = (
    *("own_months", "own_rows", "late_rows", "own_tops", "late_tops", "concentrated"),
    *("segments", "late_totals"),
)


def add_concentration(sql: duckdb.DuckDBPyConnection) -> None:
    """Add the concentration of suppliers: of a country, and of each buyer that may be named."""
    for name in _SUPPLIERS:
        _SQL.run(sql, name)
    for table in _NOT_READ_LATER:
        sql.execute(f"DROP TABLE {table}")


def add_buyer_hhi(sql: duckdb.DuckDBPyConnection) -> None:
    """Add how the processes of a month are spread over their buyers."""
    for name in ("buyer_totals", "add_buyer_hhi"):
        _SQL.run(sql, name)
