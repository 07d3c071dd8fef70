"""What public buyers ask for: shares of categories, and three months compared with last year's."""

import duckdb

from assets.signals.calendar import EVALUATIONS, NEVER
from assets.signals.concentration import add_buyer_hhi
from warehouse.methodology.signals import MOMENTUM_NEEDS
from warehouse.sql_files import sql_file

_SQL = sql_file(
    __name__,
    "demand",
    parameters={"evaluations": EVALUATIONS, "never": NEVER, "momentum_needs": MOMENTUM_NEEDS},
)


def add_demand(sql: duckdb.DuckDBPyConnection) -> None:
    """Add the panel of demand."""
    _SQL.run_all(sql)
    add_buyer_hhi(sql)
