"""Awards as a release states them: the one reading that the mart and the exports share.

They are read from JSON here and not in SQL, whose engines take a number in JSON for a double.
"""

import re
from datetime import date
from decimal import Context, Decimal, Inexact, InvalidOperation

import msgspec

from warehouse.dates import days

_PLAIN = re.compile(rb"-?[0-9]{1,20}(\.[0-9]{1,18})?")
_STEP, _EXACT = Decimal(1).scaleb(-18), Context(prec=38, traps=[Inexact, InvalidOperation])
# Nothing was awarded before; a year that a source writes for "none" lies before it.
_FIRST_YEAR = 1980


class Money(msgspec.Struct, gc=False):
    """An amount as it is written, and its currency."""

    amount: msgspec.Raw = msgspec.Raw(b"null")
    currency: str | None = None


class Named(msgspec.Struct, gc=False):
    """A supplier by its name."""

    name: str | None = None


class Stated(msgspec.Struct, gc=False):
    """One award of a release."""

    id: str | int | None = None
    date: str | None = None
    status: str | None = None
    value: Money | None = None
    suppliers: list[Named] | None = None


class _Release(msgspec.Struct, gc=False):
    awards: list[Stated] | None = None


NO_MONEY = Money()
_DECODE = msgspec.json.Decoder(_Release).decode


def stated_awards(release: str | bytes | memoryview) -> list[Stated]:
    """Give the awards of a release, in its order."""
    return _DECODE(release).awards or []


def exact(number: bytes) -> str | None:
    """Give an amount that has an exact place in the column; any other is in the release."""
    if _PLAIN.fullmatch(number):
        return number.decode()
    try:
        return format(Decimal(number.decode()).quantize(_STEP, context=_EXACT), "f")
    except ArithmeticError:
        return None


def day(text: str) -> date | None:
    """Give the day of a date in UTC; None for one that is impossible."""
    found = days(text)
    return found[1] if found and found[0].year >= _FIRST_YEAR else None
