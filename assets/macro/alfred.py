"""FRED and ALFRED observations: each value with the days on which it was the known one.

``realtime_start`` is when the public could read a value. A point in the place of a value says that
there was none from that day on: what stood before was withdrawn.
"""

import csv
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, timedelta
from io import StringIO
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pycountry

from assets.macro.iso_codes import Area, area_of
from assets.macro.periods import Span, span_from
from assets.parsing.parsed import Parsed, provenance
from assets.parsing.strict import calendar_day, members_of, number_in, pointer, read_json, read_text
from warehouse.record.landing import Document
from warehouse.record.tables import MACRO_SERIES

VERSIONS = "series-versions"

_FREQUENCIES = {"D": "daily", "M": "monthly", "Q": "quarterly", "A": "annual"}
_MONTH = "(?:Q[1-4]|(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*)"
_BASE = re.compile(rf"(.*?)[\s,(]*((?:{_MONTH} )?[0-9]{{4}}(?:-[0-9]{{2,4}})?\s*=\s*100)\)?")
_ABOUT = re.compile(r".*\bfor (?:the )?(.+)")
_TYPES = {"consumer price ind": "cpi", "gross domestic product": "gdp"}
_OPEN = "9999-12-31"
# ``pycountry`` types its lookups loosely.
_COUNTRIES: Any = pycountry.countries


@dataclass(frozen=True)
class Series:
    """What a series is from a day on."""

    frequency: str
    series_type: str = "macro"
    country: str | None = None
    unit: str | None = None
    base_period: str | None = None
    since: str = "0001-01-01"


SERIES: dict[str, Series] = {
    "GDP": Series("quarterly", "gdp", "US", "Billions of Dollars"),
    "CPIAUCSL": Series("monthly", "cpi", "US", "Index", "1982-1984=100"),
    "CPILFESL": Series("monthly", "cpi", "US", "Index", "1982-1984=100"),
    "CPALTT01PTM659N": Series("monthly", "cpi", "PT", "Growth rate same period previous year"),
    "CPALTT01ZAM659N": Series("monthly", "cpi", "ZA", "Growth rate same period previous year"),
    "CPALTT01ZAM661N": Series("monthly", "cpi", "ZA", "Index", "2015=100"),
}


def versions_of(name: str, headers: Mapping[str, str]) -> list[Series]:
    """Give what a series was, one description after the other; at least one."""
    given = {key.lower(): value for key, value in headers.items()}
    told = [_version(name, each) for each in _told(given)]
    if not told:
        told = [_version(name, given)]
    for each in told:
        if not each.frequency:
            raise ValueError(f"the frequency of {name} is not known: add the series to the table")
        if each.frequency not in _FREQUENCIES.values():
            raise ValueError(f"{name}: series of frequency {each.frequency!r:.40} are not held")
    return sorted(told, key=lambda each: each.since)


def on_day(versions: list[Series], day: str) -> Series:
    """Give what a series was on a day; before the first description, what that one says."""
    return next((each for each in reversed(versions) if each.since <= day), versions[0])


def within(versions: list[Series], start: str, end: str) -> list[tuple[str, Series]]:
    """Cut an interval where the unit changes: the days from which each unit held."""
    cuts = [(start, on_day(versions, start))]
    for each in versions:
        unit = (cuts[-1][1].unit, cuts[-1][1].base_period)
        if start < each.since <= (end or _OPEN) and (each.unit, each.base_period) != unit:
            cuts.append((each.since, each))
    return cuts


def unit_and_base(units: str) -> tuple[str | None, str | None]:
    """Take the base of an index from its unit: ``Index 2017=100`` is an index with a base."""
    found = _BASE.fullmatch(units.strip())
    if not found:
        return units.strip() or None, None
    base = re.sub(r"\s*=\s*", "=", found[2])
    # FRED has written both 1982-84 and 1982-1984, and means one base.
    return found[1].strip() or None, re.sub(
        r"\b([0-9]{2})([0-9]{2})-([0-9]{2})=", r"\1\2-\1\3=", base
    )


def country_in(title: str) -> Area | None:
    """Give the country at the end of a title, as FRED writes it: ``… for South Africa``."""
    found = _ABOUT.fullmatch(title.strip())
    if not found:
        return None
    for key in ("name", "common_name", "official_name"):
        country = _COUNTRIES.get(**{key: found[1]})
        if country is not None:
            return area_of(country.alpha_2)
    return None


def _told(headers: Mapping[str, str]) -> list[dict[str, str]]:
    if VERSIONS not in headers:
        return []
    listed = read_json(headers[VERSIONS].encode())
    if not isinstance(listed, list):
        raise ValueError(f"the header {VERSIONS} is not a list of descriptions")
    texts = (members_of(each).items() for each in listed)
    return [{key: value for key, value in each if isinstance(value, str)} for each in texts]


def _version(name: str, told: Mapping[str, str]) -> Series:
    known = SERIES.get(name)
    short = _FREQUENCIES.get(told.get("frequency_short", ""), told.get("frequency", "").lower())
    unit, base = unit_and_base(told.get("units", ""))
    title = told.get("title", "")
    area = country_in(title)
    stated = Series(
        short,
        _type_in(title),
        area[0] if area else None,
        unit,
        base,
        told.get("realtime_start", ""),
    )
    if known is None:
        return stated
    unit, base = (unit, base) if unit or base else (known.unit, known.base_period)
    return Series(known.frequency, known.series_type, known.country, unit, base, stated.since)


def _type_in(title: str) -> str:
    lower = title.lower()
    return next((kind for words, kind in _TYPES.items() if words in lower), "macro")


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


_NONE = (".", "", None)


def parse(document: Document, body: bytes) -> Parsed:
    """Read the vintages of one series; the series is known by the document's address."""
    parsed = Parsed()
    try:
        name, entries = open_answer(document, body)
        versions = versions_of(name, document.headers)
    except (ValueError, csv.Error) as error:
        parsed.reject(MACRO_SERIES, document, "", str(error))
        return parsed
    stated: list[Stated] = []
    for place, entry in entries:
        try:
            stated += stated_in(place, entry)
        except ValueError as error:
            parsed.reject(MACRO_SERIES, document, place, str(error))
    known: dict[tuple[Any, ...], str] = {}
    for each in sorted(stated, key=lambda each: (str(each.day), each.start)):
        try:
            rows = _rows(name, each, versions, known)
        except ValueError as error:
            parsed.reject(MACRO_SERIES, document, each.place, str(error))
            continue
        shared = provenance(document, each.place, "api")
        parsed.add(MACRO_SERIES, [shared | row for row in rows])
    return parsed


def _rows(
    name: str, stated: Stated, versions: list[Series], known: dict[tuple[Any, ...], str]
) -> list[dict[str, Any]]:
    """Give a row for each unit in which a value was known; ``known`` says since when."""
    rows: list[dict[str, Any]] = []
    withdrawn = stated.value in _NONE
    for start, series in within(versions, stated.start, stated.end):
        span = span_from(calendar_day(stated.day), series.frequency)
        if start < span[0].isoformat():
            raise ValueError(f"a projection: the period begins after it was published, on {start}")
        figure = (span, series.unit, series.base_period)
        if known.get(figure) == start:
            raise ValueError(f"another value of this period is known from {start} on")
        if withdrawn and figure not in known:
            continue
        value = None if withdrawn else number_in(stated.value)
        known[figure] = start
        rows.append(_row(name, series, span, start) | {"value": value, "withdrawn": withdrawn})
    if not rows:
        raise ValueError("no value given")
    return rows


def _row(name: str, series: Series, span: Span, start: str) -> dict[str, Any]:
    area = area_of(series.country) if series.country else None
    return {
        "country": area[0] if area else None,
        "country_iso3": area[1] if area else None,
        "series": f"FRED.{name}",
        "series_type": series.series_type,
        "frequency": series.frequency,
        "unit": series.unit,
        "base_period": series.base_period,
        "obs_status": None,
        "available_at": calendar_day(start),
        "publication": start,
        "period_start": span[0],
        "period_end": span[1],
    }
