"""Derive the signal panels of a build: every measure of every month, as known at each closing.

Start here: ``signals`` runs the steps in order. Each step creates temporary tables in DuckDB that
the next ones read; a panel adds its measures to ``raw``, and rows become vintages at the end.
"""

from collections.abc import Mapping
from typing import Any

import duckdb
import pyarrow as pa

from assets.derive.division import MEASURE_TYPE, PANEL_TYPE, create_raw, divide, shares
from warehouse.methodology import signals as methodology
from warehouse.publish.awards import add_stated_awards
from warehouse.publish.snapshot import Snapshot
from warehouse.record.tables import arrow_schema
from warehouse.shared.data_files import HOME_CURRENCY, sql_file
from warehouse.tables.derived import Signal
from warehouse.tables.sighting import LICENSE_CLASSES

# Months are numbered per country, from 0 for the month of its first release (``month_no``). A
# closing has the number of the month that it closes (``closing_no``). A release counts from the
# first closing that is not before the day it became available: no closing sees anything later.

# What the statements of all files may name; a statement gets what it names.
_PARAMETERS: Mapping[str, Any] = {
    "closes_after": methodology.CLOSES_AFTER,
    # A month is evaluated at its own closing and at REEVALUATED later ones: this many closings.
    "evaluations": methodology.REEVALUATED + 1,
    "final_statuses": list(methodology.FINAL_STATUSES),
    "home_currency": {"key": list(HOME_CURRENCY), "value": list(HOME_CURRENCY.values())},
    "licences": list(LICENSE_CLASSES),
    "longest_year": methodology.YEAR_DAYS[1],
    "methods": list(methodology.METHODS),
    "momentum_needs": methodology.MOMENTUM_NEEDS,
    # Later than any closing.
    "never": 1_000_000,
    "new_after": methodology.NEW_AFTER,
    "short_window": methodology.SHORT_WINDOW,
    "shortest_year": methodology.YEAR_DAYS[0],
    "signal_set": methodology.SIGNAL_SET,
    "trailing": methodology.TRAILING,
    "units": [
        {"panel": panel.key, "measure": measure.key, "unit": measure.unit}
        for panel in methodology.PANELS
        for measure in panel.measures
    ],
}
# When months close, and from which closing on something was known.
_CALENDAR = sql_file(__name__, "calendar", parameters=_PARAMETERS)
# The known state of each process and each award.
_PROCESS_STATES = sql_file(
    __name__,
    "process_states",
    fragments={
        "money_below": str(methodology.MONEY_BELOW),
        "most_tenderers": str(methodology.MOST_TENDERERS),
    },
    parameters=_PARAMETERS,
)
# Sums over rolling windows of months, as events.
_ROLLING_WINDOWS = sql_file(__name__, "rolling_windows", parameters=_PARAMETERS)
# A row for every month while a country publishes: one with nothing in scope says so.
_EVERY_MONTH = sql_file(__name__, "every_month", parameters=_PARAMETERS)
# The panels: processes counted by month; what public buyers ask for; how awards are spread over
# suppliers; suppliers that had no award in the months before; awards to listed issuers in a fiscal
# year, as a share of their revenue.
_RATES = sql_file(__name__, "rates", parameters=_PARAMETERS)
_DEMAND = sql_file(__name__, "demand", parameters=_PARAMETERS)
_CONCENTRATION = sql_file(__name__, "concentration", parameters=_PARAMETERS)
_NEWCOMERS = sql_file(__name__, "suppliers", parameters=_PARAMETERS)
_LISTED_ISSUERS = sql_file(__name__, "listed_issuers", parameters=_PARAMETERS)
_VINTAGES = sql_file(
    __name__,
    "vintages",
    fragments={"panels": PANEL_TYPE, "measures": MEASURE_TYPE},
    parameters=_PARAMETERS,
)
_EXTRACTS = sql_file(__name__, "extracts")
# What the panel of listed issuers reads of registers and figures, for each partition of tenders.
EXTRACTS = {"identifiers": _EXTRACTS["tickers"], "fundamentals": _EXTRACTS["revenues"]}

# Large tables, and after which statement or file they are not needed any more.
_DROPPED_AFTER = {
    "awards": (
        *("award_vintages", "award_suppliers", "named_parties", "tenderers"),
        "release_vintages",
    ),
    "award_lines": ("awards",),
    # The panel of newcomers reads the other tables of ``rolling_windows``.
    "concentration": (
        *("own_months", "own_rows", "late_rows", "own_tops", "late_tops", "concentrated"),
        *("segments", "late_totals"),
    ),
    "divided": ("raw", "divisions", "quotients"),
}


def signals(snapshot: Snapshot) -> dict[str, pa.Table]:
    """Derive every panel from all vintages of the tenders; no clock is used."""
    add_stated_awards(snapshot)
    with snapshot.cursor() as sql:
        # The order is that of the tables: states need the countries, panels need the states.
        _CALENDAR.run_all(sql)
        for name in _PROCESS_STATES.texts:
            _PROCESS_STATES.run(sql, name)
            _drop(sql, *_DROPPED_AFTER.get(name, ()))
        create_raw(sql)
        _ROLLING_WINDOWS.run_all(sql)
        _drop(sql, "pieces")
        _EVERY_MONTH.run(sql, "from_first_month")
        for panel in (_RATES, _DEMAND, _CONCENTRATION):
            panel.run_all(sql)
        _drop(sql, *_DROPPED_AFTER["concentration"])
        for panel in (_NEWCOMERS, _LISTED_ISSUERS):
            panel.run_all(sql)
        for name in ("raw_keys", "add_empty_months"):
            _EVERY_MONTH.run(sql, name)
        _drop(sql, "raw_keys")
        return {"signals": _vintages(sql)}


def _drop(sql: duckdb.DuckDBPyConnection, *tables: str) -> None:
    for table in tables:
        sql.execute(f"DROP TABLE {table}")


def _vintages(sql: duckdb.DuckDBPyConnection) -> pa.Table:
    """Return the rows of ``signals``: one vintage per closing that changed a row."""
    _VINTAGES.run(sql, "in_units")
    _VINTAGES.run(sql, "divisions")
    sql.register("divided", divide(_VINTAGES.query(sql, "operands").to_arrow_table()))
    _VINTAGES.run(sql, "quotients")
    sql.unregister("divided")
    _VINTAGES.run(sql, "valued")
    _drop(sql, *_DROPPED_AFTER["divided"])
    sql.register("shares", shares(_VINTAGES.query(sql, "pairs").to_arrow_table()))
    _VINTAGES.run(sql, "coverages")
    sql.unregister("shares")
    _VINTAGES.run(sql, "vintages")
    _drop(sql, "valued")
    _VINTAGES.run(sql, "dimension_texts")
    _VINTAGES.run(sql, "provenances")
    table = _VINTAGES.query(sql, "signals").to_arrow_table()
    return table.select(arrow_schema(Signal).names)
