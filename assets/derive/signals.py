"""Derive the signal panels of a build: every measure of every month, as known at each closing.

Start here: ``signals`` runs the steps in order. Each step creates temporary tables in DuckDB that
the next ones read; a panel adds its measures to ``raw``, and rows become vintages at the end.
"""

from collections.abc import Mapping
from contextlib import closing
from datetime import date
from functools import lru_cache
from typing import Any

import duckdb
import pyarrow as pa

from assets.derive.division import MEASURE_TYPE, PANEL_TYPE, create_raw, divide, shares
from assets.tenders.portal_files import Portal
from assets.tenders.values import parse_day
from warehouse.methodology.signals import (
    CLOSES_AFTER,
    CLOSES_AFTER_DEFAULT,
    FINAL_STATUSES,
    METHODS,
    MOMENTUM_NEEDS,
    MONEY_BELOW,
    MOST_TENDERERS,
    NEW_AFTER,
    PANELS,
    REEVALUATED,
    SHORT_WINDOW,
    SIGNAL_SET,
    TRAILING,
    YEAR_DAYS,
)
from warehouse.publish.awards import add_stated_awards
from warehouse.publish.snapshot import Snapshot
from warehouse.record.tables import arrow_schema
from warehouse.shared.data_files import HOME_CURRENCY, sql_file
from warehouse.tables import LICENSE_CLASSES
from warehouse.tables.derived import Signal

# When the months of a country close, and from which closing on something was known.
#
# Months are numbered per country, from 0 for the month of its first release (``month_no``). A
# closing has the number of the month that it closes (``closing_no``). A release counts from the
# first closing that is not before the day it became available: no closing sees anything later.

# Later than any closing.
NEVER = 1_000_000
# A month is evaluated at its own closing and at REEVALUATED later ones: this many closings.
EVALUATIONS = REEVALUATED + 1


def _closing_days() -> dict[str, Any]:
    """Return the days to a closing as a parameter; a map, as DuckDB takes it."""
    return {"closes_after": {"key": list(CLOSES_AFTER), "value": list(CLOSES_AFTER.values())}}


_CALENDAR = sql_file(
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
    for name in _CALENDAR.texts:
        _CALENDAR.run(sql, name, **(_closing_days() if name == "countries" else {}))


# A row for every month while a country publishes: one with nothing in scope says so.

_EVERY_MONTH = sql_file(
    __name__, "every_month", parameters={"evaluations": EVALUATIONS, "never": NEVER}
)


def create_from_first_month(sql: duckdb.DuckDBPyConnection) -> None:
    """Create the macro ``from_first_month``: keys in every known month from their first one."""
    _EVERY_MONTH.run(sql, "from_first_month")


def add_empty_months(sql: duckdb.DuckDBPyConnection) -> None:
    """Add a row of zeros to ``raw`` for every known month in which nothing was in scope."""
    for name in ("raw_keys", "add_empty_months"):
        _EVERY_MONTH.run(sql, name)
    sql.execute("DROP TABLE raw_keys")


# Public awards to listed issuers in a fiscal year, as a share of the revenue they reported.

_LISTED_ISSUERS = sql_file(
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
    _LISTED_ISSUERS.run_all(sql)


# What was known of each process and each award; the statements are in ``process_states.sql``.

_PROCESS_STATES = sql_file(
    __name__,
    "process_states",
    fragments={"money_below": str(MONEY_BELOW), "most_tenderers": str(MOST_TENDERERS)},
    parameters={
        "home_currency": {"key": list(HOME_CURRENCY), "value": list(HOME_CURRENCY.values())},
        "final_statuses": list(FINAL_STATUSES),
        "methods": list(METHODS),
        "never": NEVER,
    },
)
_DAYS = pa.schema(
    [
        ("source", pa.string()),
        ("observed_on", pa.date32()),
        ("stated_date", pa.string()),
        ("awarded_on", pa.date32()),
    ]
)
# These are large and not needed any more once the tables have been made.
_DROPPED_AFTER = {
    "awards": (
        *("award_vintages", "award_suppliers", "named_parties", "tenderers"),
        *("release_vintages", "award_days"),
    ),
    "award_lines": ("awards",),
}


def create_states(sql: duckdb.DuckDBPyConnection, portals: Mapping[str, Portal]) -> None:
    """Create ``parties``, ``states`` of processes, ``award_lines`` and ``awarded`` processes.

    ``portals`` say how each source writes the dates of awards.
    """
    for name in _PROCESS_STATES.texts:
        if name == "dates_of_awards":
            _create_award_days(sql, portals)
        else:
            _PROCESS_STATES.run(sql, name)
        for table in _DROPPED_AFTER.get(name, ()):
            sql.execute(f"DROP TABLE {table}")


def _create_award_days(sql: duckdb.DuckDBPyConnection, portals: Mapping[str, Portal]) -> None:
    """Create ``award_days``: the day that each stated date of an award means."""

    # The same text means the same day, whatever award states it.
    @lru_cache(maxsize=1 << 14)
    def day_of(source: str, observed_on: date, text: str) -> date | None:
        return parse_day(text, portals.get(source, _PLAIN), observed_on)

    dates = _PROCESS_STATES.query(sql, "dates_of_awards").to_arrow_table()
    columns = [dates[name].to_pylist() for name in _DAYS.names[:3]]
    days = pa.array(map(day_of, *columns), pa.date32())
    sql.register("days_read", dates.append_column("awarded_on", days).cast(_DAYS))
    sql.execute("CREATE TEMP TABLE award_days AS FROM days_read")
    sql.unregister("days_read")


# For a source without rules of its own.
_PLAIN = Portal("", "", "", None)


# Panels that count the processes of a month: rates, spreads of small whole numbers, ratios.

_RATES = sql_file(
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
    _RATES.run_all(sql)


# Sums over rolling windows of months, as events; the statements are in ``rolling_windows.sql``.

_ROLLING_WINDOWS = sql_file(
    __name__,
    "rolling_windows",
    parameters={"evaluations": EVALUATIONS, "never": NEVER, "trailing": TRAILING},
)


def create_windows(sql: duckdb.DuckDBPyConnection) -> None:
    """Create ``own_sums``, ``segments``, ``late_totals`` and ``late_changes``."""
    _ROLLING_WINDOWS.run_all(sql)
    sql.execute("DROP TABLE pieces")


# Awards to newcomers: suppliers that had none in the months before.

_NEWCOMERS = sql_file(
    __name__, "suppliers", parameters={"evaluations": EVALUATIONS, "new_after": NEW_AFTER}
)


def add_newcomers(sql: duckdb.DuckDBPyConnection) -> None:
    """Add the share of awards that went to suppliers without one in the months before."""
    _NEWCOMERS.run_all(sql)


# How awards are spread over suppliers, per country and per buyer, and processes over buyers.

_CONCENTRATION = sql_file(
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
        _CONCENTRATION.run(sql, name)
    for table in _NOT_READ_LATER:
        sql.execute(f"DROP TABLE {table}")


def add_buyer_hhi(sql: duckdb.DuckDBPyConnection) -> None:
    """Add how the processes of a month are spread over their buyers."""
    for name in ("buyer_totals", "add_buyer_hhi"):
        _CONCENTRATION.run(sql, name)


# What public buyers ask for: shares of categories, and three months compared with last year's.

_DEMAND = sql_file(
    __name__,
    "demand",
    parameters={"evaluations": EVALUATIONS, "never": NEVER, "momentum_needs": MOMENTUM_NEEDS},
)


def add_demand(sql: duckdb.DuckDBPyConnection) -> None:
    """Add the panel of demand."""
    _DEMAND.run_all(sql)
    add_buyer_hhi(sql)


_VINTAGES = sql_file(
    __name__,
    "vintages",
    fragments={"panels": PANEL_TYPE, "measures": MEASURE_TYPE},
    parameters={
        "licences": list(LICENSE_CLASSES),
        "signal_set": SIGNAL_SET,
        "units": [
            {"panel": panel.key, "measure": measure.key, "unit": measure.unit}
            for panel in PANELS
            for measure in panel.measures
        ],
    },
)


def signals(snapshot: Snapshot, portals: Mapping[str, Portal]) -> dict[str, pa.Table]:
    """Derive every panel from all vintages of the tenders; no clock is used.

    ``portals`` say how each source of tenders writes dates.
    """
    add_stated_awards(snapshot)
    with closing(snapshot.sql.cursor()) as sql:
        # The order is that of the tables: states need the countries, panels need the states.
        number_countries(sql)
        create_states(sql, portals)
        create_raw(sql)
        create_windows(sql)
        create_from_first_month(sql)
        for add_panels in (
            add_rates,
            add_demand,
            add_concentration,
            add_newcomers,
            add_award_intensity,
            add_empty_months,
        ):
            add_panels(sql)
        return {"signals": _vintages(sql)}


def _vintages(sql: duckdb.DuckDBPyConnection) -> pa.Table:
    """Return the rows of ``signals``: one vintage per closing that changed a row."""
    _VINTAGES.run(sql, "divisions")
    sql.register("divided", divide(_VINTAGES.query(sql, "operands").to_arrow_table()))
    _VINTAGES.run(sql, "quotients")
    sql.unregister("divided")
    _VINTAGES.run(sql, "valued")
    # These are large and not needed any more.
    for table in ("raw", "divisions", "quotients"):
        sql.execute(f"DROP TABLE {table}")
    sql.register("shares", shares(_VINTAGES.query(sql, "pairs").to_arrow_table()))
    _VINTAGES.run(sql, "coverages")
    sql.unregister("shares")
    _VINTAGES.run(sql, "vintages")
    sql.execute("DROP TABLE valued")
    _VINTAGES.run(sql, "dimension_texts")
    _VINTAGES.run(sql, "provenances")
    table = _VINTAGES.query(sql, "signals").to_arrow_table()
    return table.select(arrow_schema(Signal).names)
