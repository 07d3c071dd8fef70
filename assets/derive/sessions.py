"""Derive the sessions of every exchange on which an issuer is listed first.

They say when what became public could first be traded. Exchanges without a calendar have none.
"""

import warnings
from importlib.metadata import version
from typing import Any

import pyarrow as pa
from pandas import Timestamp

from warehouse.publish.partitions import REGISTERS
from warehouse.publish.snapshot import SAME_AS, Derivation, Snapshot
from warehouse.record.tables import arrow_schema
from warehouse.shared.code_version import code_version
from warehouse.shared.data_files import sql_file
from warehouse.tables.derived import ExchangeSession

TABLES = ("first_listings", "exchange_sessions")
# Fixed days, so that a build does not depend on when it is made: the first filings with XBRL are of
# 2009, and a calendar is read for the next session at most.
_FIRST_DAY, _LAST_DAY = Timestamp("2009-01-01"), Timestamp("2031-12-31")
# Every calendar has this year: what it tells of its bounds needs some days.
_ANY_YEAR = {"start": "2020-01-01", "end": "2020-12-31"}
_SQL = sql_file(__name__, "sessions")


def sessions(snapshot: Snapshot) -> dict[str, pa.Table]:
    """Return the exchange on which each issuer is listed first, and when these open."""
    with snapshot.cursor() as sql:
        listings = _SQL.query(sql, "first_listings").to_arrow_table()
    found = [_sessions(mic) for mic in sorted(set(listings["mic"].to_pylist()))]
    tables = listings, pa.concat_tables([arrow_schema(ExchangeSession).empty_table(), *found])
    return dict(zip(TABLES, tables, strict=True))


def _sessions(mic: str) -> pa.Table:
    # To load it takes 0.4 seconds, which every command would pay.
    import exchange_calendars

    # It reads times of pandas in a way that the next pandas will not know.
    with warnings.catch_warnings(category=DeprecationWarning, action="ignore"):
        if mic not in exchange_calendars.get_calendar_names():
            return arrow_schema(ExchangeSession).empty_table()
        any_year: Any = exchange_calendars.get_calendar(mic, **_ANY_YEAR)
        first, last = any_year.bound_min() or _FIRST_DAY, any_year.bound_max() or _LAST_DAY
        opens = exchange_calendars.get_calendar(
            mic, start=max(first, _FIRST_DAY), end=min(last, _LAST_DAY)
        ).opens
    columns = [[mic] * len(opens), [day.date() for day in opens.index], opens.dt.to_pydatetime()]
    return pa.table(columns, schema=arrow_schema(ExchangeSession))


def derivation() -> Derivation:
    """Return the derivation of both tables, under the versions of this code and the calendars."""
    return Derivation(
        f"{code_version('sessions', 'assets.derive.sessions')} {version('exchange_calendars')}",
        sessions,
        makes=TABLES,
        subject=REGISTERS,
        reads=("identifiers", SAME_AS),
    )
