"""Dates as documents write them, and names of published versions such as ``20260514.2``."""

import re
from datetime import date, datetime, timedelta
from functools import lru_cache

from warehouse.shared.errors import UnknownVersion

# Dates as documents write them: the stated day, and the day it was then in UTC.

# Minutes decide on which UTC day a local time falls; seconds cannot. ISO 8601 allows a comma.
_DATE = re.compile(
    r"(\d{4})-(\d{2})-(\d{2})"
    r"(?:[T ](\d{2}):(\d{2})(?::\d{2}(?:[.,]\d+)?)?\s?(Z|z|[+-]\d{2}:?\d{2})?)?"
)


# Documents repeat few dates many times: the cache makes reading a release much cheaper.
@lru_cache(maxsize=1 << 14)
def stated_and_utc_day(value: str) -> tuple[date, date] | None:
    """Return the day that a text states and the day it was then in UTC; None if it is no date."""
    match = _DATE.fullmatch(value.strip())
    if match is None:
        return None
    year, month, day, hour, minute, zone = match.groups()
    try:
        stated = datetime(int(year), int(month), int(day), int(hour or 0), int(minute or 0))
        return stated.date(), (stated - _utc_offset(zone)).date()
    # OverflowError: the offset moves the first or last day of the calendar out of range.
    except (ValueError, OverflowError):
        return None


def _utc_offset(zone: str | None) -> timedelta:
    # A time without a zone is taken as UTC.
    if zone is None or zone in "Zz":
        return timedelta()
    offset = timedelta(hours=int(zone[1:3]), minutes=int(zone[-2:]))
    return -offset if zone[0] == "-" else offset


# [0-9] and not \d, which also matches the digits of other scripts.
DATA_VERSION = re.compile(r"[0-9]{8}\.[0-9]{1,9}")


def check_data_version(name: str) -> str:
    """Return the name if it has the form of a data_version; it becomes part of a path or SQL."""
    if not DATA_VERSION.fullmatch(name):
        raise UnknownVersion(f"{name!r} is not a data_version")
    return name


def version_key(name: str) -> tuple[int, ...]:
    """Sort key: ``20260514.10`` comes after ``20260514.9``."""
    return tuple(map(int, name.split(".")))
