"""Parse single values of a release: text, id, date, amount, count; None if it is not one."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import Any

from assets.tenders.portal_files import Portal
from warehouse.shared.texts import stated_day_and_moment

# Dates before 1980, or more than 50 years after the document was read, are typing errors.
_FIRST_YEAR, _YEARS_AHEAD = 1980, 50

# No sign but a minus, no separators, no exponent: anything else could be read in two ways.
_PLAIN_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")
# The record keeps 38; of thousands, Python makes no number.
_MOST_DIGITS = 38
_KINDS = {str: "a text that is no plain decimal number", bool: "true or false", list: "an array"}


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


def calendar_day(value: Any, portal: Portal, latest: date) -> date | None:
    """Return the day of an award, a signature or a period as it is written, whatever its zone.

    None for a portal's sentinel, or a date that cannot be.
    """
    dates = stated_day_and_moment(value) if isinstance(value, str) else None
    if dates is None or dates[0] in portal.sentinel_dates:
        return None
    return dates[0] if _FIRST_YEAR <= dates[0].year <= latest.year + _YEARS_AHEAD else None


def day_of_moment(value: Any, portal: Portal, latest: date) -> date | None:
    """Return the day of the moment of a release, in UTC; None as for ``calendar_day``.

    Where a portal labels its local time with the wrong zone, the day as written is right.
    """
    day = calendar_day(value, portal, latest)
    dates = None if day is None or portal.zone_label_is_wrong else stated_day_and_moment(value)
    return day if dates is None else dates[1].date()


def _fits_amount(number: int | Decimal) -> bool:
    """Return whether Decimal(38, 18) keeps every digit."""
    exponent = Decimal(number).as_tuple().exponent
    return -(10**20) < number < 10**20 and isinstance(exponent, int) and exponent >= -18


# Members that are columns of the record. All other numbers are kept in the JSON, whatever they are.
_FITS_COLUMN: Mapping[str, Callable[[int | Decimal], bool]] = {
    "tender/value/amount": _fits_amount,
    "tender/numberOfTenderers": lambda number: -(1 << 63) <= number < 1 << 63,
}


@dataclass
class Numbers:
    """Reads the numbers of a release and keeps account of those that are not written as numbers.

    Portals write numbers as text. One that is a plain decimal number is read, and counted in
    ``as_text``; what is none, or cannot be kept, is left out, and ``unread`` says what it was.
    """

    as_text: int = 0
    unread: list[str] = field(default_factory=list)

    def read(self, value: Any, member: str) -> int | Decimal | None:
        """Return a number with all its digits; None where there is none that can be kept."""
        number = self._read(value, member)
        if number is None or member not in _FITS_COLUMN or _FITS_COLUMN[member](number):
            return number
        self._leave_out(member, "a number with more digits than can be kept")
        return None

    def _read(self, value: Any, member: str) -> int | Decimal | None:
        if type(value) is int or type(value) is Decimal:
            return value
        if value is None or (isinstance(value, str) and not value.strip()):
            return None
        kind = _KINDS.get(type(value), "an object")
        if isinstance(value, str) and _PLAIN_NUMBER.fullmatch(value.strip()):
            number = Decimal(value.strip())
            if sum(map(str.isdigit, value)) <= _MOST_DIGITS:
                self.as_text += 1
                return number if "." in value else int(number)
            kind = f"a text of more than {_MOST_DIGITS} digits"
        self._leave_out(member, kind)
        return None

    def _leave_out(self, member: str, kind: str) -> None:
        self.unread.append(f"{member}: {kind}; it is left out and the rest of the release is kept")


def amount(value: int | Decimal | None, portal: Portal) -> Decimal | None:
    """Return an amount with all digits; None where the portal writes zero for unknown."""
    if value is None:
        return None
    exact = Decimal(value)
    return None if portal.zero_is_unknown and not exact else exact


def count(value: int | Decimal | None) -> int | None:
    """Return a count; None where there is none, or a number that is no count."""
    return None if value is None or value < 0 or value != int(value) else int(value)
