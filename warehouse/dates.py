"""Dates as documents write them: the day that is stated, and the one it was then in UTC."""

import re
from datetime import date, datetime, timedelta
from functools import lru_cache

_DATE = re.compile(
    r"(\d{4})-(\d{2})-(\d{2})"
    r"(?:[T ](\d{2}):(\d{2})(?::\d{2}(?:[.,]\d+)?)?\s?(Z|z|[+-]\d{2}:?\d{2})?)?"
)


@lru_cache(maxsize=1 << 14)
def stated_and_utc_day(value: str) -> tuple[date, date] | None:
    """Give the day that a date states, and the one it was then in UTC; None if it is none."""
    found = _DATE.fullmatch(value.strip())
    if found is None:
        return None
    year, month, dom, hour, minute, zone = found.groups()
    try:
        stated = datetime(int(year), int(month), int(dom), int(hour or 0), int(minute or 0))
        return stated.date(), (stated - _offset(zone)).date()
    except (ValueError, OverflowError):
        return None


def _offset(zone: str | None) -> timedelta:
    if zone is None or zone in "Zz":
        return timedelta()
    away = timedelta(hours=int(zone[1:3]), minutes=int(zone[-2:]))
    return -away if zone[0] == "-" else away
