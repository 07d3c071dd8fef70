"""Awards to newcomers: suppliers that had none in the months before."""

import duckdb

from assets.signals.calendar import EVALUATIONS
from warehouse.methodology.signals import NEW_AFTER
from warehouse.sql_files import sql_file

_SQL = sql_file(
    __name__, "suppliers", parameters={"evaluations": EVALUATIONS, "new_after": NEW_AFTER}
)


def add_newcomers(sql: duckdb.DuckDBPyConnection) -> None:
    """Add the share of awards that went to suppliers without one in the months before."""
    _SQL.run_all(sql)
