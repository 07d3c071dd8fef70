"""Single values of a release: a date, an amount, a count; what is none of them is None."""

import re
from datetime import date
from decimal import Decimal
from typing import Any

from assets.tenders.portals import Portal
from warehouse.dates import stated_and_utc_day

# Nothing here was published before, or ends later than this many years after it was read.
_FIRST_YEAR, _YEARS_AHEAD = 1980, 50

_MONEY = re.compile(r"-?(?:\d+|\d{1,3}(?:,\d{3})+)(?:\.\d+)?")


class Refused(ValueError):
    """A release that cannot be kept, and why, in words."""


def text(value: Any) -> str | None:
    """Give a text that says something."""
    return (value.strip() or None) if isinstance(value, str) else None


def ident(value: Any) -> str | None:
    """Give an id; portals write numbers as well."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return text(value)


def parse_day(value: Any, portal: Portal, latest: date) -> date | None:
    """Give the UTC day of a date; None for a portal's sentinel or an impossible one.

    Where the portal labels its local time with a zone that is not its own, the day is
    the one it states.
    """
    found = stated_and_utc_day(value) if isinstance(value, str) else None
    if found is None:
        return None
    stated, utc = found
    if stated in portal.sentinel_dates:
        return None
    if not _FIRST_YEAR <= stated.year <= latest.year + _YEARS_AHEAD:
        return None
    return stated if portal.zone_label_is_wrong else utc


def amount(value: Any, portal: Portal) -> Decimal | None:
    """Give an amount digit for digit; None for a portal's zero that means unknown."""
    if isinstance(value, str) and portal.amounts_as_text:
        value = Decimal(value.replace(",", "")) if _MONEY.fullmatch(value.strip()) else None
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        return None
    exact = Decimal(value)
    return None if portal.zero_is_unknown and not exact else exact


def fitting(value: Decimal | None, member: str) -> Decimal | None:
    """Refuse an amount that the record cannot hold exactly: 20 digits and 18 behind."""
    if value is None:
        return None
    exponent = value.as_tuple().exponent
    if value.adjusted() >= 20 or not isinstance(exponent, int) or exponent < -18:
        raise Refused(f"{member}: an amount with more digits than can be kept exactly")
    return value


def count(value: Any, member: str) -> int | None:
    """Give a number of things; None where none is stated."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        return None
    if value >= 1 << 63:
        raise Refused(f"{member}: a number too large to be a count")
    return value
