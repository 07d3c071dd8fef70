"""Public awards to listed issuers in a fiscal year, as a share of the revenue they reported."""

import duckdb

from assets.signals.calendar import EVALUATIONS, NEVER
from warehouse.methodology.signals import YEAR_DAYS
from warehouse.sql_files import sql_file

_SQL = sql_file(
    __name__,
    "listed_issuers",
    parameters={
        "evaluations": EVALUATIONS,
        "never": NEVER,
        "shortest_year": YEAR_DAYS[0],
        "longest_year": YEAR_DAYS[1],
    },
)
_EXTRACTS = sql_file(__name__, "extracts")
# What the panel reads of registers and figures, for each partition of tenders.
EXTRACTS = {"identifiers": _EXTRACTS["tickers"], "fundamentals": _EXTRACTS["revenues"]}


def add_award_intensity(sql: duckdb.DuckDBPyConnection) -> None:
    """Add the panel."""
    _SQL.run_all(sql)
