"""When the months of a country close, and from which closing on something was known.

Months are numbered per country, from 0 for the month of its first release (``month_no``). A
closing has the number of the month that it closes (``closing_no``). A release counts from the
first closing that is not before the day it became available: no closing sees anything later.
"""

from typing import Any

import duckdb

from warehouse.methodology.signals import CLOSES_AFTER, CLOSES_AFTER_DEFAULT, REEVALUATED
from warehouse.sql_files import sql_file
from warehouse.tables import LICENSE_CLASSES

# Later than any closing.
NEVER = 1_000_000
# A month is evaluated at its own closing and at REEVALUATED later ones: this many closings.
EVALUATIONS = REEVALUATED + 1


def _closing_days() -> dict[str, Any]:
    """Return the days to a closing as a parameter; a map, as DuckDB takes it."""
    return {"closes_after": {"key": list(CLOSES_AFTER), "value": list(CLOSES_AFTER.values())}}


_SQL = sql_file(
    __name__,
    "calendar",
    parameters={
        **_closing_days(),
        "closes_after_default": CLOSES_AFTER_DEFAULT,
        "licences": list(LICENSE_CLASSES),
        "never": NEVER,
    },
)


def number_countries(sql: duckdb.DuckDBPyConnection) -> None:
    """Create ``countries``, ``closings``, ``closing_sources`` and ``continued``."""
    for name in _SQL.texts:
        _SQL.run(sql, name, **(_closing_days() if name == "countries" else {}))
