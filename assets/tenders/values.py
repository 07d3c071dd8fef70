"""Parse single values of a release: text, id, date, amount, count; None if it is not one."""

import re
from datetime import date
from decimal import Decimal
from typing import Any

from assets.tenders.portals import Portal
from warehouse.dates import stated_and_utc_day

# Dates before 1980, or more than 50 years after the document was read, are typing errors.
_FIRST_YEAR, _YEARS_AHEAD = 1980, 50

_MONEY = re.compile(r"-?(?:\d+|\d{1,3}(?:,\d{3})+)(?:\.\d+)?")


class ReleaseRefused(ValueError):
    """A release that cannot be stored; the message says why."""


def text(value: Any) -> str | None:
    """Return a stripped, non-empty text."""
    return (value.strip() or None) if isinstance(value, str) else None


def ident(value: Any) -> str | None:
    """Return an id as text; portals write numbers as well."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return text(value)


def parse_day(value: Any, portal: Portal, latest: date) -> date | None:
    """Return the UTC day of a date; None for a portal's sentinel or an impossible one.

    Where a portal labels its local time with the wrong zone, the day as written is right.
    """
    days = stated_and_utc_day(value) if isinstance(value, str) else None
    if days is None:
        return None
    written_day, utc_day = days
    if written_day in portal.sentinel_dates:
        return None
    if not _FIRST_YEAR <= written_day.year <= latest.year + _YEARS_AHEAD:
        return None
    return written_day if portal.zone_label_is_wrong else utc_day


def amount(value: Any, portal: Portal) -> Decimal | None:
    """Return an amount with all digits; None where the portal writes zero for unknown."""
    if isinstance(value, str) and portal.amounts_as_text:
        value = Decimal(value.replace(",", "")) if _MONEY.fullmatch(value.strip()) else None
    # In Python true is an int.
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        return None
    exact = Decimal(value)
    return None if portal.zero_is_unknown and not exact else exact


def fitting(value: Decimal | None, member: str) -> Decimal | None:
    """Return an amount that fits the record's Decimal(38, 18) exactly; refuse others."""
    if value is None:
        return None
    exponent = value.as_tuple().exponent
    if value.adjusted() >= 20 or not isinstance(exponent, int) or exponent < -18:
        raise ReleaseRefused(f"{member}: an amount with more digits than can be kept exactly")
    return value


def count(value: Any, member: str) -> int | None:
    """Return a count; None where there is none."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        return None
    if value >= 1 << 63:
        raise ReleaseRefused(f"{member}: a number too large to be a count")
    return value
