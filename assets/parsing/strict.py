"""Strict readers: JSON with every digit, valid dates, numbers, JSON pointers.

Every reader raises ValueError with a reason. Reasons are stored in the quarantine and are part of
its ids: do not reword them. What a member means belongs to the parser of its source.
"""

import json
import re
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Any

FIRST_YEAR, LAST_YEAR = 1900, 2100

# Largest power of ten. The record stores fewer digits and rejects the others when it appends;
# this bound only keeps absurd exponents out of arithmetic.
_MAGNITUDE = 1000

_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,6})?")


def read_text(body: bytes) -> str:
    """Decode a body as UTF-8; raise if it is empty, not UTF-8, or a web page."""
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"the document is not UTF-8: byte {error.start}") from None
    if not text.strip():
        raise ValueError("the document is empty")
    # An error page that came with status 200.
    if text.lstrip().startswith("<"):
        raise ValueError("the document is HTML or XML, not data of the expected format")
    return text


def read_json(body: bytes) -> Any:
    """Decode JSON with every digit: numbers become Decimal, NaN and Infinity stay text."""
    text = read_text(body)
    try:
        return json.loads(text, parse_float=_digits, parse_int=_digits, parse_constant=str)
    except json.JSONDecodeError as error:
        raise ValueError(f"the document is not JSON: {error.msg}, character {error.pos}") from None
    except RecursionError:
        raise ValueError("the document is not data: it is nested too deeply") from None


def json_number(value: object) -> Decimal:
    """Return a JSON number; text, null and NaN are not numbers."""
    if not isinstance(value, Decimal):
        raise ValueError(f"{value!r:.60} is not a number")
    if abs(value.adjusted()) > _MAGNITUDE:
        raise ValueError(f"{value!r:.60} is beyond any quantity")
    return value


def number_from_text(text: object) -> Decimal:
    """Parse a number written as text, digit for digit."""
    if not isinstance(text, str) or not _NUMBER.fullmatch(text.strip()):
        raise ValueError(f"{text!r:.60} is not a number")
    return json_number(Decimal(text.strip()))


def calendar_day(text: object) -> date:
    """Parse YYYY-MM-DD; the day must exist and be between 1900 and 2100."""
    if not isinstance(text, str) or not _DAY.fullmatch(text):
        raise ValueError(f"{text!r:.60} is not a date")
    try:
        day = date.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text} is not in the calendar") from None
    if not FIRST_YEAR <= day.year <= LAST_YEAR:
        raise ValueError(f"{text} is not a date we can believe")
    return day


# Bounded: a file repeats its days, and there are many files.
@lru_cache(maxsize=1 << 12)
def day_in_form(text: str, forms: tuple[str, ...]) -> date | None:
    """Return the day that a text states in one of the forms of ``strptime``; None if in none."""
    for form in forms:
        try:
            return datetime.strptime(text.strip(), form).date()
        except ValueError:
            continue
    return None


def printable_text(value: object) -> str:
    """Return a stripped text; raise if it is blank or not printable."""
    # Control characters and line breaks in a name or code are damage.
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        raise ValueError(f"{value!r:.60} is not text")
    return value.strip()


def json_object(value: object) -> dict[str, Any]:
    """Return a value that is a JSON object; raise if it is not."""
    if not isinstance(value, dict):
        raise ValueError(f"{value!r:.60} is not an object")
    return value


def json_pointer(*parts: object) -> str:
    """Return a JSON pointer (RFC 6901)."""
    names = (str(part).replace("~", "~0").replace("/", "~1") for part in parts)
    return "".join(f"/{name}" for name in names).encode("utf-8", "replace").decode()


def _digits(text: str) -> Decimal | str:
    try:
        return Decimal(text)
    except InvalidOperation:  # an exponent beyond Decimal: stays text and is rejected as a value
        return text
