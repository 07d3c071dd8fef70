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
    for name in _SQL.names:
        _SQL.run(sql, name, **(_closing_days() if name == "countries" else {}))


def at_closing(day: str) -> str:
    """Return SQL for the number of the first closing that is not before a day."""
    # Month m closes closing_days after its last day, so a day belongs to the closing of the month
    # that it is in after going back closing_days. Nothing is known before the first closing.
    return f"greatest(0, datediff('month', first_month, {day} - closing_days))"


def until_closing(day: str) -> str:
    """Return SQL for the first closing at which something superseded on a day no longer holds."""
    return f"CASE WHEN {day} IS NULL THEN {NEVER} ELSE {at_closing(day)} END"


def month_number(day: str) -> str:
    """Return SQL for the number of the month a day is in; negative before the first."""
    return f"datediff('month', first_month, {day})"


def closing_intervals(keys: str, table: str) -> str:
    """Return CTEs ``changes`` and ``intervals``: the spans between closings with a change.

    Rows of ``table`` hold from ``known_from_closing`` until before ``known_until_closing``. For
    each key, ``intervals`` lists every ``closing_no`` at which any of them starts or stops holding,
    and the next such closing as ``until_closing``: within an interval nothing changes.
    """
    return f"""
changes AS (
    SELECT {keys}, known_from_closing AS closing_no FROM {table}
    UNION SELECT {keys}, known_until_closing FROM {table}
),
intervals AS (
    SELECT {keys}, closing_no, lead(closing_no, 1, {NEVER}) OVER (
        PARTITION BY {keys} ORDER BY closing_no) AS until_closing
    FROM changes
)""".strip()
