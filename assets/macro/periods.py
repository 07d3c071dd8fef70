"""Periods and numbers as macro sources write them, and the columns that every series has.

2024, 2024-A1, 2024-S1, 2024-Q1, 2024-M01, 2024-01, 2024-W05, 2024-D015, 2024-01-15, and midnight of
a day. Ranges and other times of day are refused.
"""

import re
from calendar import monthrange
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import lru_cache
from typing import Any, Literal

from assets.parsing.strict import FIRST_YEAR, LAST_YEAR, calendar_day, number_from_text
from warehouse.record.landing import Document
from warehouse.shared.countries import Area
from warehouse.tables.sighting import AS_SHOWN, FIRST_READ

DecimalMark = Literal[".", ","]

_THOUSANDS = {
    ".": re.compile(r"[+-]?[0-9]{1,3}(,[0-9]{3})+(\.[0-9]+)?"),
    ",": re.compile(r"[+-]?[0-9]{1,3}(\.[0-9]{3})+(,[0-9]+)?"),
}
_DECIMAL_COMMA = re.compile(r"[+-]?[0-9]+,[0-9]+")


def written_number(text: str, mark: DecimalMark) -> Decimal:
    """Read a number of a table digit for digit; marks of thousands are no part of it."""
    if _THOUSANDS[mark].fullmatch(text):
        text = text.replace("," if mark == "." else ".", "")
    return number_from_text(text.replace(",", ".") if mark == "," else text)


def decimal_mark_of(texts: Iterable[str]) -> DecimalMark:
    """Return the decimal mark of a file that should have points; raise if it could be either.

    A program of another country may have saved it again with commas. A single ``1,234`` does not
    tell, but ``-6,24`` and ``1101,445`` do.
    """
    points = commas = undecided = 0
    for text in texts:
        by_point = "," not in text or _THOUSANDS["."].fullmatch(text) is not None
        by_comma = _DECIMAL_COMMA.fullmatch(text) or _THOUSANDS[","].fullmatch(text)
        points += by_point and "." in text
        commas += not by_point and by_comma is not None
        undecided += by_point and "," in text and by_comma is not None
    if points and commas:
        raise ValueError("some values have a decimal point and others a decimal comma")
    if undecided and not points and not commas:
        raise ValueError("the commas of the values could be decimal marks or marks of thousands")
    return "," if commas else "."


Span = tuple[date, date]

MONTHS = {"annual": 12, "half-yearly": 6, "quarterly": 3, "monthly": 1}

_YEAR = re.compile(r"([0-9]{4})(-A0?1)?")
_PART = re.compile(r"([0-9]{4})-([QSM])([0-9]{1,2})")
_MONTH = re.compile(r"([0-9]{4})-([0-9]{2})")
_WEEK = re.compile(r"([0-9]{4})-W([0-9]{2})")
_DAY_OF_YEAR = re.compile(r"([0-9]{4})-D([0-9]{3})")
_MIDNIGHT = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})T00:00:00(?:\.0+)?(?:Z|[+-][0-9]{2}:[0-9]{2})?"
)
_CADENCES = {"Q": "quarterly", "S": "half-yearly", "M": "monthly"}


@lru_cache(4096)
def period_of(text: str) -> tuple[Span, str]:
    """Return the days of a period and the cadence it is written in; raise for anything else."""
    if match := _YEAR.fullmatch(text):
        return span_from(_first_day(match[1], 1), "annual"), "annual"
    if match := _MONTH.fullmatch(text):
        return span_from(_first_day(match[1], int(match[2])), "monthly"), "monthly"
    if match := _PART.fullmatch(text):
        cadence = _CADENCES[match[2]]
        month = (int(match[3]) - 1) * MONTHS[cadence] + 1
        return span_from(_first_day(match[1], month), cadence), cadence
    if match := _WEEK.fullmatch(text):
        year, week = match[1], int(match[2])
        try:
            # ISO weeks: week 1 can begin in December, and some years have a week 53.
            monday = date.fromisocalendar(_first_day(year, 1).year, week, 1)
        except ValueError:
            raise ValueError(f"{year}, week {week}: not a period we can believe") from None
        return (monday, monday + timedelta(days=6)), "weekly"
    if match := _DAY_OF_YEAR.fullmatch(text):
        day = _first_day(match[1], 1) + timedelta(days=int(match[2]) - 1)
        # D366 of a common year would silently be a day of the next.
        if str(day.year) != match[1]:
            raise ValueError(f"{text} is not in the calendar")
        return (day, day), "daily"
    midnight = _MIDNIGHT.fullmatch(text)
    day = calendar_day(midnight[1] if midnight else text)
    return (day, day), "daily"


def span_from(first: date, cadence: str) -> Span:
    """Return the period that begins on a day; raise if the day is in the middle of one."""
    if cadence == "daily":
        return first, first
    months = MONTHS[cadence]
    # A period dated by any day but its first may be another period than it seems.
    if first.day != 1 or (first.month - 1) % months:
        raise ValueError(f"{first} is not the first day of a {cadence} period")
    last = first.month + months - 1
    return first, date(first.year, last, monthrange(first.year, last)[1])


def utc_time(text: str) -> datetime:
    """Return a time with an offset as UTC; raise without one, as it could be anywhere."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text!r:.60} is not a moment") from None
    if time.tzinfo is None or not FIRST_YEAR < time.year < LAST_YEAR:
        raise ValueError(f"{text!r:.60} is not a moment with an offset from UTC")
    return time.astimezone(UTC)


def _first_day(year: str, month: int) -> date:
    if not FIRST_YEAR <= int(year) <= LAST_YEAR or not 1 <= month <= 12:
        raise ValueError(f"{year}, month {month}: not a period we can believe")
    return date(int(year), month, 1)


def series_columns(
    area: Area | None,
    series: str,
    series_type: str,
    unit: str | None,
    base: str | None,
    span: Span,
    frequency: str,
) -> dict[str, Any]:
    """Return the columns that say what a figure is of; its status is not stated."""
    return {
        "country": area[0] if area else None,
        "country_iso3": area[1] if area else None,
        "series": series,
        "series_type": series_type,
        "frequency": frequency,
        "period_start": span[0],
        "period_end": span[1],
        "unit": unit,
        "base_period": base,
        "obs_status": None,
    }


def first_read(document: Document, span: Span) -> dict[str, Any]:
    """Return the columns of a figure that does not say when it was published: when it was read."""
    observed_on = document.observed_at.astimezone(UTC).date()
    if span[0] > observed_on:
        raise ValueError(f"the period begins after it was read, on {observed_on}")
    return {
        "available_at": observed_on,
        "available_at_evidence": FIRST_READ,
        "publication": AS_SHOWN,
    }
