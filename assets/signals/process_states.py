"""What was known of each process and each award; the statements are in ``process_states.sql``."""

from collections.abc import Mapping
from datetime import date
from functools import lru_cache

import duckdb
import pyarrow as pa

from assets.signals.calendar import NEVER
from assets.tenders.portals import Portal
from assets.tenders.values import parse_day
from warehouse.currencies import HOME_CURRENCY
from warehouse.methodology.signals import FINAL_STATUSES, METHODS, MONEY_BELOW, MOST_TENDERERS
from warehouse.sql_files import sql_file

_SQL = sql_file(
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
    for name in _SQL.texts:
        if name == "dates_of_awards":
            _create_award_days(sql, portals)
        else:
            _SQL.run(sql, name)
        for table in _DROPPED_AFTER.get(name, ()):
            sql.execute(f"DROP TABLE {table}")


def _create_award_days(sql: duckdb.DuckDBPyConnection, portals: Mapping[str, Portal]) -> None:
    """Create ``award_days``: the day that each stated date of an award means."""

    # The same text means the same day, whatever award states it.
    @lru_cache(maxsize=1 << 14)
    def day_of(source: str, observed_on: date, text: str) -> date | None:
        return parse_day(text, portals.get(source, _PLAIN), observed_on)

    dates = _SQL.query(sql, "dates_of_awards").to_arrow_table()
    columns = [dates[name].to_pylist() for name in _DAYS.names[:3]]
    days = pa.array(map(day_of, *columns), pa.date32())
    sql.register("days_read", dates.append_column("awarded_on", days).cast(_DAYS))
    sql.execute("CREATE TEMP TABLE award_days AS FROM days_read")
    sql.unregister("days_read")


# For a source without rules of its own.
_PLAIN = Portal("", "", "", None)
