"""Derive the signal panels of a build: every measure of every month, as known at each closing.

Start here: ``signals`` runs the steps in order. Each step creates temporary tables in DuckDB that
the next ones read; a panel adds its measures to ``raw``, and rows become vintages at the end.
"""

from collections.abc import Mapping
from contextlib import closing

import duckdb
import pyarrow as pa

from assets.signals.calendar import number_countries
from assets.signals.concentration import add_concentration
from assets.signals.demand import add_demand
from assets.signals.every_month import add_empty_months, create_from_first_month
from assets.signals.listed_issuers import add_award_intensity
from assets.signals.process_states import create_states
from assets.signals.rates import add_rates
from assets.signals.raw_measures import (
    MEASURE_TYPE,
    PANEL_TYPE,
    create_raw,
    divide,
    shares,
)
from assets.signals.rolling_windows import create_windows
from assets.signals.suppliers import add_newcomers
from assets.tenders.portals import Portal
from warehouse.mart.awards import add_stated_awards
from warehouse.mart.snapshot import Snapshot
from warehouse.methodology.signals import PANELS, SIGNAL_SET
from warehouse.record.tables import arrow_schema
from warehouse.sql_files import sql_file
from warehouse.tables import LICENSE_CLASSES
from warehouse.tables.derived import Signal

_SQL = sql_file(
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
    _SQL.run(sql, "divisions")
    sql.register("divided", divide(_SQL.query(sql, "operands").to_arrow_table()))
    _SQL.run(sql, "quotients")
    sql.unregister("divided")
    _SQL.run(sql, "valued")
    # These are large and not needed any more.
    for table in ("raw", "divisions", "quotients"):
        sql.execute(f"DROP TABLE {table}")
    sql.register("shares", shares(_SQL.query(sql, "pairs").to_arrow_table()))
    _SQL.run(sql, "coverages")
    sql.unregister("shares")
    _SQL.run(sql, "vintages")
    sql.execute("DROP TABLE valued")
    _SQL.run(sql, "dimension_texts")
    _SQL.run(sql, "provenances")
    table = _SQL.query(sql, "signals").to_arrow_table()
    return table.select(arrow_schema(Signal).names)
