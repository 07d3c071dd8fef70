"""Observations of FRED as values with the interval in which each was the current one."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from assets.parsing.strict import calendar_day, json_object, json_pointer

# How FRED writes that an interval has not ended.
OPEN = "9999-12-31"
NO_VALUE = (".", "", None)
# The name of a vintage: series id and day, as in ``GDP_20240328``.
VINTAGE = re.compile(r"([A-Za-z0-9_]+)_([0-9]{4})([0-9]{2})([0-9]{2})")

# An observation as it was read, and its location in the document.
Entry = tuple[str, Any]


@dataclass(frozen=True)
class Answer:
    """The observations of a document, up to which day was asked, and whether it is one page.

    ``is_todays``: it has what stood on the day on which it was asked for, and does not say since
    when.
    """

    entries: list[Entry]
    until: str | None = None
    is_page: bool = False
    is_todays: bool = False


@dataclass(frozen=True)
class ObservedValue:
    """One value of a day, and the interval in which it was the current one.

    ``is_end``: no entry of the document, but what the end of an interval says.
    """

    location: str
    day: object
    value: object
    start: str
    end: str
    is_end: bool = False


def values_in(location: str, entry: object) -> Iterator[ObservedValue]:
    """Iterate over the values of an observation: that of its interval, or one for each vintage."""
    members = json_object(entry)
    if "value" in members or "realtime_start" in members:
        start = calendar_day(members.get("realtime_start")).isoformat()
        end = members.get("realtime_end") or OPEN
        yield ObservedValue(location, members.get("date"), members.get("value"), start, str(end))
        return
    matches = [(VINTAGE.fullmatch(name), name) for name in members if name != "date"]
    vintages = sorted((f"{m[2]}-{m[3]}-{m[4]}", name) for m, name in matches if m is not None)
    if not vintages or len(vintages) != len(matches):
        raise ValueError("neither a value with its interval nor values by their vintages")
    # A vintage that repeats the value before does not begin a new interval.
    changes = [
        (calendar_day(day), name)
        for number, (day, name) in enumerate(vintages)
        # Compared as text: the publisher's own digits decide whether a value changed.
        if number == 0 or members[name] != members[vintages[number - 1][1]]
    ]
    ends = [(day - timedelta(days=1)).isoformat() for day, _ in changes[1:]] + [OPEN]
    for (day, name), end in zip(changes, ends, strict=True):
        is_pointer = location.startswith("/")
        value_location = f"{location}{json_pointer(name)}" if is_pointer else f"{location}, {name}"
        yield ObservedValue(
            value_location, members.get("date"), members[name], day.isoformat(), end
        )


def dropped(values: list[ObservedValue], answer: Answer) -> Iterator[ObservedValue]:
    """Iterate over withdrawals: an interval ended, and neither a value nor a point came after it.

    An interval that ends on the last day of the answer may go on; without a stated one, that is
    the last day of any interval. On a page of several, the intervals of its first and its last
    period may be on another one.
    """
    until = answer.until or max((value.end for value in values), default=OPEN)
    days = [str(value.day) for value in values]
    cut = {days[0], days[-1]} if answer.is_page and days else set()
    starts = {(str(value.day), value.start) for value in values}
    for value in values:
        if value.end >= until or str(value.day) in cut or value.value in NO_VALUE:
            continue
        try:
            next_day = (calendar_day(value.end) + timedelta(days=1)).isoformat()
        except ValueError:
            continue  # An end that is no day is no evidence of a withdrawal.
        if (str(value.day), next_day) not in starts:
            yield replace(value, value=None, start=next_day, end=OPEN, is_end=True)
