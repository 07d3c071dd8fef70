"""Answers of FRED in their several shapes, as values with the days on which they were known.

JSON: one row for each value and its interval (output types 1 and 4), or a member for each vintage
(2 and 3). CSV, as ALFRED and FRED's graphs give it: the same two shapes, or today's values alone.
"""

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, timedelta
from io import StringIO
from typing import Any
from urllib.parse import parse_qs, urlsplit

from assets.parsing.strict import calendar_day, members_of, pointer, read_json, read_text
from warehouse.record.landing import Document

OPEN = "9999-12-31"

_ID = re.compile(r"[A-Z0-9_]{1,40}")
_IN_PATH = re.compile(r"/observations/([^/]+?)(\.json|\.csv)?$")
_VINTAGE = re.compile(r"([A-Za-z0-9_]+)_([0-9]{4})([0-9]{2})([0-9]{2})")
_DATES = ("observation_date", "DATE", "date", "period_start_date")
_RENAMED = {"realtime_start_date": "realtime_start", "realtime_end_date": "realtime_end"}

Entry = tuple[str, Any]


@dataclass(frozen=True)
class Stated:
    """One value, and the days from and to which it was the known one."""

    place: str
    day: object
    value: object
    start: str
    end: str


def open_answer(document: Document, body: bytes) -> tuple[str, list[Entry]]:
    """Give the series and its observations; what is no answer with observations says so."""
    asked = parse_qs(urlsplit(document.url).query)
    if "frequency" in asked or "aggregation_method" in asked:
        raise ValueError("the values are aggregated by the source: not as published")
    if read_text(body).lstrip()[0] in "{[":
        return series_id(document.url), _of_json(body)
    return _of_csv(document, read_text(body))


def series_id(url: str) -> str:
    """Take the id of a series from ``…/observations/<ID>.json`` or ``?series_id=<ID>``."""
    parts = urlsplit(url)
    asked = parse_qs(parts.query).get("series_id", [])
    in_path = _IN_PATH.search(parts.path)
    name = asked[0] if len(asked) == 1 else in_path[1] if in_path else ""
    if not _ID.fullmatch(name.upper()):
        raise ValueError("the address of the document names no series")
    return name.upper()


def stated_in(place: str, entry: object) -> Iterator[Stated]:
    """Give the values of one observation: the one of its interval, or one for each vintage."""
    members = members_of(entry)
    if "value" in members or "realtime_start" in members:
        start = calendar_day(members.get("realtime_start")).isoformat()
        end = members.get("realtime_end") or OPEN
        yield Stated(place, members.get("date"), members.get("value"), start, str(end))
        return
    found = [(_VINTAGE.fullmatch(name), name) for name in members if name != "date"]
    days = sorted((f"{m[2]}-{m[3]}-{m[4]}", name) for m, name in found if m is not None)
    if not days or len(days) != len(found):
        raise ValueError("neither a value with its interval nor values by their vintages")
    changes = [
        (calendar_day(day), name)
        for number, (day, name) in enumerate(days)
        if number == 0 or members[name] != members[days[number - 1][1]]
    ]
    ends = [(day - timedelta(days=1)).isoformat() for day, _ in changes[1:]] + [OPEN]
    for (day, name), end in zip(changes, ends, strict=True):
        where = f"{place}{pointer(name)}" if place.startswith("/") else f"{place}, {name}"
        yield Stated(where, members.get("date"), members[name], day.isoformat(), end)


def _of_json(body: bytes) -> list[Entry]:
    answer = members_of(read_json(body))
    if "error_message" in answer:
        raise ValueError(f"the source answered with an error: {answer['error_message']!r:.200}")
    if answer.get("units", "lin") != "lin":
        raise ValueError("the values are transformed (units is not lin): not as published")
    observations = answer.get("observations")
    if not isinstance(observations, list):
        raise ValueError("the document holds no observations")
    return [(pointer("observations", place), each) for place, each in enumerate(observations)]


def _of_csv(document: Document, text: str) -> tuple[str, list[Entry]]:
    rows = csv.reader(StringIO(text, newline=""), strict=True)
    first = next(rows, []) or [""]
    header = [_RENAMED.get(name.strip(), name.strip()) for name in first]
    columns = [name for name in header[1:] if name not in _RENAMED.values()]
    names = {found[1] if (found := _VINTAGE.fullmatch(name)) else name for name in columns}
    if header[0] not in _DATES or len(names) != 1 or len(set(header)) != len(header):
        raise ValueError("the document is not a series of FRED, neither as JSON nor as CSV")
    (name,) = names
    header = ["date", *("value" if each == name else each for each in header[1:])]
    read = document.observed_at.astimezone(UTC).date()
    return name.upper(), list(_lines(rows, header, read))


def _lines(rows: Any, header: list[str], read: date) -> Iterator[Entry]:
    # today's values alone were known, at the latest, on the day they were read
    known = {"realtime_start": read.isoformat()} if "value" in header else {}
    for cells in rows:
        if cells:
            fits = len(cells) == len(header)
            entry = known | dict(zip(header, cells, strict=True)) if fits else cells
            yield f"line {rows.line_num}", entry
