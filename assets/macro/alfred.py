"""FRED and ALFRED observations: values with the interval in which each was the current one.

``realtime_start`` is when the public could read a value. A point in place of a value says that
there was none from that day on: the value before was withdrawn. So does an interval that ends
with no other after it, unless it ends where the question did (``realtime_end`` of the answer).

FRED answers in several shapes. JSON: a row for each value and its interval (output types 1 and 4),
or a member for each vintage (2 and 3). CSV, as ALFRED and FRED's graphs export it: the same two
shapes, or today's values alone.

Observations do not state their country, frequency or unit. FRED describes a series in a separate
answer, with the interval in which each description was valid: a new base year is another unit from
a day on, and no restatement. The fetcher stores the descriptions in the header
``series-versions``. ``alfred_series.csv`` has the rest for a few series, and their units if there
are no descriptions.
"""

import csv
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, timedelta
from decimal import Decimal
from io import StringIO
from typing import Any
from urllib.parse import parse_qs, urlsplit

from assets.macro.periods import series_columns, span_from
from assets.parsing import strict
from assets.parsing.parsed import Parsed, provenance
from warehouse.record.landing import Document
from warehouse.record.tables import MACRO_SERIES
from warehouse.shared.countries import Area, area_named, area_of
from warehouse.shared.data_files import csv_rows
from warehouse.tables.sighting import FIRST_READ, PUBLISHED

# Observations of FRED as values with the interval in which each was the current one.

# How FRED writes that an interval has not ended.
OPEN = "9999-12-31"
NO_VALUE = (".", "", None)
# The name of a vintage: series id and day, as in ``GDP_20240328``.
VINTAGE = re.compile(r"([A-Za-z0-9_]+)_([0-9]{4})([0-9]{2})([0-9]{2})")

# An observation as it was read, and its location in the document.
Entry = tuple[str, Any]


@dataclass(frozen=True)
class Answer:
    """The observations of a document, the last day requested, and whether it is one page.

    ``is_todays``: it has the values that were current on the day of the request, and does not say
    since when.
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
    members = strict.json_object(entry)
    if "value" in members or "realtime_start" in members:
        start = strict.calendar_day(members.get("realtime_start")).isoformat()
        end = members.get("realtime_end") or OPEN
        yield ObservedValue(location, members.get("date"), members.get("value"), start, str(end))
        return
    matches = [(VINTAGE.fullmatch(name), name) for name in members if name != "date"]
    vintages = sorted((f"{m[2]}-{m[3]}-{m[4]}", name) for m, name in matches if m is not None)
    if not vintages or len(vintages) != len(matches):
        raise ValueError("neither a value with its interval nor values by their vintages")
    # A vintage that repeats the value before does not begin a new interval.
    changes = [
        (strict.calendar_day(day), name)
        for number, (day, name) in enumerate(vintages)
        # Compared as text: the publisher's own digits decide whether a value changed.
        if number == 0 or members[name] != members[vintages[number - 1][1]]
    ]
    ends = [(day - timedelta(days=1)).isoformat() for day, _ in changes[1:]] + [OPEN]
    for (day, name), end in zip(changes, ends, strict=True):
        is_pointer = location.startswith("/")
        value_location = (
            f"{location}{strict.json_pointer(name)}" if is_pointer else f"{location}, {name}"
        )
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
            next_day = (strict.calendar_day(value.end) + timedelta(days=1)).isoformat()
        except ValueError:
            continue  # An end that is no day is no evidence of a withdrawal.
        if (str(value.day), next_day) not in starts:
            yield replace(value, value=None, start=next_day, end=OPEN, is_end=True)


VERSIONS_HEADER = "series-versions"
FREQUENCIES = {"D": "daily", "M": "monthly", "Q": "quarterly", "A": "annual"}

_SERIES_ID = re.compile(r"[A-Z0-9_]{1,40}")
_ID_IN_PATH = re.compile(r"/observations/([^/]+?)(\.json|\.csv)?$")
_DATE_COLUMNS = ("observation_date", "DATE", "date", "period_start_date")
_RENAMED_COLUMNS = {"realtime_start_date": "realtime_start", "realtime_end_date": "realtime_end"}
_MONTH = "(?:Q[1-4]|(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*)"
_BASE = re.compile(rf"(.*?)[\s,(]*((?:{_MONTH} )?[0-9]{{4}}(?:-[0-9]{{2,4}})?\s*=\s*100)\)?")
_COUNTRY_IN_TITLE = re.compile(r".*\bfor (?:the )?(.+)")
_TYPES_BY_TITLE = {"consumer price ind": "cpi", "gross domestic product": "gdp"}
# Titles of FRED are prose; these words decide, and anything else is plain "macro".


@dataclass(frozen=True)
class SeriesDescription:
    """What a series is from a day on."""

    frequency: str
    series_type: str = "macro"
    country: str | None = None
    unit: str | None = None
    base_period: str | None = None
    since: str = "0001-01-01"


SERIES = {
    row["series"]: SeriesDescription(
        row["frequency"],
        row["series_type"],
        row["country"],
        row["unit"],
        row["base_period"] or None,
    )
    for row in csv_rows(__name__, "alfred_series")
}


def parse(document: Document, body: bytes) -> Parsed:
    """Parse the vintages of one series, which the document's URL or header line names."""
    parsed = Parsed()
    with parsed.rejecting(MACRO_SERIES, document):
        name, answer = _read_answer(document, body)
        descriptions = _descriptions(name, document.headers)
        values: list[ObservedValue] = []
        # All values first, rows after: the entries of a document are not in order of publication.
        for location, entry in answer.entries:
            with parsed.rejecting(MACRO_SERIES, document, location):
                values += values_in(location, entry)
        values += list(dropped(values, answer))
        evidence = {"available_at_evidence": FIRST_READ if answer.is_todays else PUBLISHED}
        # In order of publication: whether a point withdraws something depends on what came before.
        last_start: dict[tuple[Any, ...], str] = {}
        for value in sorted(values, key=lambda value: (str(value.day), value.start)):
            with parsed.rejecting(MACRO_SERIES, document, value.location):
                shared = provenance(document, value.location, "api") | evidence
                rows = _rows(name, value, descriptions, last_start)
                parsed.add(MACRO_SERIES, [shared | row for row in rows])
    return parsed


def series_id(url: str) -> str:
    """Return the id of a series from ``…/observations/<ID>.json`` or ``?series_id=<ID>``."""
    parts = urlsplit(url)
    in_query = parse_qs(parts.query).get("series_id", [])
    in_path = _ID_IN_PATH.search(parts.path)
    name = in_query[0] if len(in_query) == 1 else in_path[1] if in_path else ""
    # FRED takes ids in any case; in the record one series must have one name.
    if not _SERIES_ID.fullmatch(name.upper()):
        raise ValueError("the address of the document names no series")
    return name.upper()


def unit_and_base(units: str) -> tuple[str | None, str | None]:
    """Split the base of an index from its unit: ``Index 2017=100`` is an index with a base."""
    match = _BASE.fullmatch(units.strip())
    if not match:
        return units.strip() or None, None
    base = re.sub(r"\s*=\s*", "=", match[2])
    # FRED has written both 1982-84 and 1982-1984, and means one base.
    return match[1].strip() or None, re.sub(
        r"\b([0-9]{2})([0-9]{2})-([0-9]{2})=", r"\1\2-\1\3=", base
    )


def country_in(title: str) -> Area | None:
    """Return the country at the end of a title, as FRED writes it: ``… for South Africa``."""
    match = _COUNTRY_IN_TITLE.fullmatch(title.strip())
    return area_named(match[1]) if match else None


def _read_answer(document: Document, body: bytes) -> tuple[str, Answer]:
    """Return the id of the series and its observations; raise if there are none to read."""
    query = parse_qs(urlsplit(document.url).query)
    # FRED computes means or sums on request. Those are not what the publisher released.
    if "frequency" in query or "aggregation_method" in query:
        raise ValueError("the values are aggregated by the source: not as published")
    observed_on = document.observed_at.astimezone(UTC).date()
    if strict.read_text(body).lstrip()[0] in "{[":
        return series_id(document.url), _json_answer(body, observed_on)
    return _csv_answer(strict.read_text(body), observed_on)


def _json_answer(body: bytes, observed_on: date) -> Answer:
    answer = strict.json_object(strict.read_json(body))
    if "error_message" in answer:
        raise ValueError(f"the source answered with an error: {answer['error_message']!r:.200}")
    # lin is FRED's word for levels; chg, pch and log are computed on request.
    if answer.get("units", "lin") != "lin":
        raise ValueError("the values are transformed (units is not lin): not as published")
    observations = answer.get("observations")
    if not isinstance(observations, list):
        raise ValueError("the document holds no observations")
    until, count = answer.get("realtime_end"), answer.get("count")
    # Unless more is requested, FRED answers today's values, in its own time zone.
    today = {str(observed_on - timedelta(days=1)), str(observed_on)}
    return Answer(
        [
            (strict.json_pointer("observations", index), entry)
            for index, entry in enumerate(observations)
        ],
        until if isinstance(until, str) else None,
        is_page=isinstance(count, int | Decimal) and count > len(observations),
        is_todays=until in today and answer.get("realtime_start") == until,
    )


def _csv_answer(text: str, observed_on: date) -> tuple[str, Answer]:
    rows = csv.reader(StringIO(text, newline=""), strict=True)
    first = next(rows, []) or [""]
    header = [_RENAMED_COLUMNS.get(column.strip(), column.strip()) for column in first]
    columns = [column for column in header[1:] if column not in _RENAMED_COLUMNS.values()]
    # All other columns are named after the series, alone or with a vintage.
    names = {match[1] if (match := VINTAGE.fullmatch(column)) else column for column in columns}
    if header[0] not in _DATE_COLUMNS or len(names) != 1 or len(set(header)) != len(header):
        raise ValueError("the document is not a series of FRED, neither as JSON nor as CSV")
    (name,) = names
    header = ["date", *("value" if column == name else column for column in header[1:])]
    is_todays = "value" in header and "realtime_start" not in header
    # Today's values alone were public, at the latest, on the day they were read.
    default = {"realtime_start": observed_on.isoformat()} if is_todays else {}
    entries: list[Entry] = []
    for cells in filter(None, rows):
        fits = len(cells) == len(header)
        entry = default | dict(zip(header, cells, strict=True)) if fits else cells
        entries.append((f"line {rows.line_num}", entry))
    return name.upper(), Answer(entries, is_todays=is_todays)


def _descriptions(name: str, headers: Mapping[str, str]) -> list[SeriesDescription]:
    """Return the descriptions of a series, oldest first; at least one."""
    # Names of HTTP headers have no case, and a folder of documents may have written any.
    lower_headers = {key.lower(): value for key, value in headers.items()}
    versions = [lower_headers]
    if VERSIONS_HEADER in lower_headers:
        stated = strict.read_json(lower_headers[VERSIONS_HEADER].encode())
        if not isinstance(stated, list):
            raise ValueError(f"the header {VERSIONS_HEADER} is not a list of descriptions")
        versions = [
            {
                key: value
                for key, value in strict.json_object(version).items()
                if isinstance(value, str)
            }
            for version in stated
        ] or versions
    descriptions = [_description(name, version) for version in versions]
    for description in descriptions:
        if not description.frequency:
            raise ValueError(f"the frequency of {name} is not known: add the series to the table")
        if description.frequency not in FREQUENCIES.values():
            raise ValueError(
                f"{name}: series of frequency {description.frequency!r:.40} are not stored"
            )
    return sorted(descriptions, key=lambda description: description.since)


def _description(name: str, version: Mapping[str, str]) -> SeriesDescription:
    frequency = version.get("frequency", "").lower()
    frequency = FREQUENCIES.get(version.get("frequency_short", ""), frequency)
    unit, base = unit_and_base(version.get("units", ""))
    title = version.get("title", "")
    since = version.get("realtime_start", "")
    listed = SERIES.get(name)
    if listed is None:
        area = country_in(title)
        country = area[0] if area else None
        types = (kind for words, kind in _TYPES_BY_TITLE.items() if words in title.lower())
        return SeriesDescription(frequency, next(types, "macro"), country, unit, base, since)
    # The table wins, except for the unit: only FRED says from when on a unit is valid.
    unit, base = (unit, base) if unit or base else (listed.unit, listed.base_period)
    return replace(listed, unit=unit, base_period=base, since=since)


def _split_by_unit(
    descriptions: list[SeriesDescription], start: str, end: str
) -> list[tuple[str, SeriesDescription]]:
    """Split an interval where the unit changes; return the start of each part."""
    # Before the first description, that one applies.
    earlier = [description for description in descriptions if description.since <= start]
    at_start = earlier[-1] if earlier else descriptions[0]
    parts = [(start, at_start)]
    for description in descriptions:
        unit = (parts[-1][1].unit, parts[-1][1].base_period)
        changes = (description.unit, description.base_period) != unit
        if start < description.since <= (end or OPEN) and changes:
            parts.append((description.since, description))
    return parts


def _rows(
    name: str,
    observed: ObservedValue,
    descriptions: list[SeriesDescription],
    last_start: dict[tuple[Any, ...], str],
) -> list[dict[str, Any]]:
    """Return a row for each unit a value was published in; update ``last_start`` of its figures."""
    rows: list[dict[str, Any]] = []
    withdrawn = observed.value in NO_VALUE
    for start, series in _split_by_unit(descriptions, observed.start, observed.end):
        span = span_from(strict.calendar_day(observed.day), series.frequency)
        # A value of a period that has not begun is a forecast, and these tables are of
        # observations.
        if start < span[0].isoformat():
            raise ValueError(f"a projection: the period begins after it was published, on {start}")
        # A new base is another figure: its first value withdraws or restates nothing.
        figure = (span, series.unit, series.base_period)
        if last_start.get(figure) == start:
            raise ValueError(f"another value of this period is known from {start} on")
        # A point where there was no value before withdraws nothing.
        if withdrawn and figure not in last_start:
            continue
        value = None if withdrawn else strict.number_from_text(observed.value)
        last_start[figure] = start
        area = area_of(series.country) if series.country else None
        about = (area, f"FRED.{name}", series.series_type, series.unit, series.base_period)
        row = series_columns(*about, span, series.frequency) | {
            "available_at": strict.calendar_day(start),
            "publication": start,
            "value": value,
            "withdrawn": withdrawn,
        }
        rows.append(row)
    if not rows and not observed.is_end:
        raise ValueError("no value given")
    return rows
