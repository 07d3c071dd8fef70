"""Reading with nothing lost: JSON with every digit, dates of the calendar, places in words.

What a member means belongs to the parser of its source.
"""

import json
import re
from datetime import date
from decimal import Decimal, InvalidOperation
from typing import Any

FIRST_YEAR, LAST_YEAR = 1900, 2100

# Powers of ten; what the record can hold is narrower, and refused where it is written.
_MAGNITUDE = 1000

_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,6})?")


def read_text(body: bytes) -> str:
    """Read a body as UTF-8; one that is empty, broken or a page says so."""
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"the document is not UTF-8: byte {error.start}") from None
    if not text.strip():
        raise ValueError("the document is empty")
    if text.lstrip().startswith("<"):
        raise ValueError("the document is HTML or XML, not data of the expected format")
    return text


def read_json(body: bytes) -> Any:
    """Read JSON with every digit: numbers are Decimal, NaN and Infinity stay words."""
    text = read_text(body)
    try:
        return json.loads(text, parse_float=_digits, parse_int=_digits, parse_constant=str)
    except json.JSONDecodeError as error:
        raise ValueError(f"the document is not JSON: {error.msg}, character {error.pos}") from None
    except RecursionError:
        raise ValueError("the document is not data: it is nested too deeply") from None


def json_number(value: object) -> Decimal:
    """Take a number as JSON gives it; text, null and NaN are not numbers."""
    if not isinstance(value, Decimal):
        raise ValueError(f"{value!r:.60} is not a number")
    if abs(value.adjusted()) > _MAGNITUDE:
        raise ValueError(f"{value!r:.60} is beyond any quantity")
    return value


def number_from_text(text: object) -> Decimal:
    """Take a number written as text, digit for digit."""
    if not isinstance(text, str) or not _NUMBER.fullmatch(text.strip()):
        raise ValueError(f"{text!r:.60} is not a number")
    return json_number(Decimal(text.strip()))


def calendar_day(text: object) -> date:
    """Take YYYY-MM-DD; the day must exist and lie between 1900 and 2100."""
    if not isinstance(text, str) or not _DAY.fullmatch(text):
        raise ValueError(f"{text!r:.60} is not a date")
    try:
        day = date.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text} is not in the calendar") from None
    if not FIRST_YEAR <= day.year <= LAST_YEAR:
        raise ValueError(f"{text} is not a date we can believe")
    return day


def printable_text(value: object) -> str:
    """Take text that has something printable in it, and nothing else."""
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        raise ValueError(f"{value!r:.60} is not text")
    return value.strip()


def json_object(value: object) -> dict[str, Any]:
    """Take a JSON object."""
    if not isinstance(value, dict):
        raise ValueError(f"{value!r:.60} is not an object")
    return value


def json_pointer(*parts: object) -> str:
    """Name a place in a JSON document (RFC 6901)."""
    names = (str(part).replace("~", "~0").replace("/", "~1") for part in parts)
    return "".join(f"/{name}" for name in names).encode("utf-8", "replace").decode()


def _digits(text: str) -> Decimal | str:
    try:
        return Decimal(text)
    except InvalidOperation:  # an exponent beyond any number: left as text, refused as a value
        return text
