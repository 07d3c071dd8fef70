"""The IMF's World Economic Outlook: selections and whole editions, named ``.xls`` but text.

A line is a subject of a country, with a column for each year; the last line names the edition,
``… World Economic Outlook Database, October 2016``, which is the vintage of every figure.

An edition names its month and no day. It was surely public on the last day of that month, or on
the day on which we read it, if that is earlier; no figure is dated before that, though the public
may have had it some days sooner.

Years after ``Estimates Start After`` are estimates of the IMF's staff or projections: their
``obs_status`` is ``E``, that of the years before ``A``. If a file leaves that column out, it is
``E`` for years that had not ended before the edition, and null for the others: not stated.
"""

import re
from calendar import monthrange
from collections import Counter
from datetime import UTC, date, datetime
from io import StringIO
from typing import Any, NamedTuple

from assets.macro.periods import (
    DecimalMark,
    decimal_mark_of,
    series_columns,
    span_from,
    written_number,
)
from assets.parsing.csv_lines import cells_by_column
from assets.parsing.parsed import Parsed, provenance
from warehouse.record.landing import Document
from warehouse.record.tables import MACRO_SERIES
from warehouse.shared.countries import Area, area_named, area_of
from warehouse.shared.data_files import csv_rows
from warehouse.tables.sighting import FIRST_READ, PUBLISHED, DayEvidence

_REQUIRED = ("Country", "Subject Descriptor", "Units", "Scale")
_EDITION = re.compile(r"World Economic Outlook Database,\s*([A-Z][a-z]+ [0-9]{4})\b")
_YEAR = re.compile(r"(19|20|21)[0-9]{2}")
_CODE = re.compile(r"[A-Z][A-Z0-9_]*")
_NO_VALUE = frozenset({"", "n/a", "--"})
# The scale of what is counted one by one, which some files state and others leave out.
_NO_SCALE = frozenset({"", "units"})
_MARKS = ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"), (b"\xef\xbb\xbf", "utf-8-sig"))
# The subjects of the database: descriptor, pattern of the units, code. Selections from its website
# may leave out the codes; the lines of a pair that is not here are rejected.
_SUBJECTS = [tuple(row.values()) for row in csv_rows(__name__, "weo_subjects")]

Cells = list[str]


class _Edition(NamedTuple):
    """The first day of the month of an edition, and the first on which it was surely public."""

    month: date
    available_at: date
    evidence: DayEvidence


class _Line(NamedTuple):
    """A line of the table: what it is about, and its values by year."""

    location: str
    series: str
    about: tuple[Area, str, str, str, None]
    last_actual: int | None
    values: dict[int, str]


def parse(document: Document, body: bytes) -> Parsed:
    """Parse every value; each cell is a row, a rejection, or counted as without a value."""
    parsed = Parsed()
    with parsed.rejecting(MACRO_SERIES, document):
        header, lines, last = _table(_text(body))
        edition = _edition(document, last)
        years = [place for place, name in enumerate(header) if _YEAR.fullmatch(name)]
        texts = [cells[place] for _, cells in lines for place in years if place < len(cells)]
        mark = decimal_mark_of(texts)
        read: list[_Line] = []
        for number, cells in lines:
            location = f"line {number}"
            with parsed.rejecting(MACRO_SERIES, document, location):
                read.append(_line(location, cells_by_column(header, cells)))
        stated = Counter(line.series for line in read)
        for line in read:
            if stated[line.series] > 1:
                reason = f"{line.series} appears twice in the file: neither is believed"
                parsed.reject(MACRO_SERIES, document, line.location, reason)
                continue
            for year, text in line.values.items():
                if not _is_absent(text):
                    location = f"{line.location}, {year}"
                    with parsed.rejecting(MACRO_SERIES, document, location):
                        row = _row(edition, line, year, text, mark)
                        parsed.add(MACRO_SERIES, [provenance(document, location, "file") | row])
        absent = Counter(text for line in read for text in line.values.values() if _is_absent(text))
        if absent:
            counts = (f"{count} {text or 'empty'}" for text, count in sorted(absent.items()))
            reason = f"{absent.total()} cells have no value: {', '.join(counts)}"
            parsed.reject(MACRO_SERIES, document, "", reason, partial=True)
    return parsed


def _text(body: bytes) -> str:
    """Decode UTF-16 with or without a mark, UTF-8, or what a program of Windows saved."""
    for mark, encoding in _MARKS:
        if body.startswith(mark):
            return _decoded(body, encoding)
    # The names of columns are ASCII: in UTF-16 every other byte of them is zero.
    if body[1:64:2] and not any(body[1:64:2]):
        return _decoded(body, "utf-16-le")
    if body[0:64:2] and not any(body[0:64:2]):
        return _decoded(body, "utf-16-be")
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError:
        return _decoded(body, "cp1252")


def _decoded(body: bytes, encoding: str) -> str:
    try:
        return body.decode(encoding)
    except UnicodeDecodeError as error:
        raise ValueError(f"the document is not {encoding}: byte {error.start}") from None


def _table(text: str) -> tuple[Cells, list[tuple[int, Cells]], str]:
    """Return header and numbered lines of the table, and the line below it."""
    lines = enumerate(map(_cells, StringIO(text, newline=None)), 1)
    filled = [(number, cells) for number, cells in lines if any(cells)]
    if not filled:
        raise ValueError("the document is empty")
    header = filled[0][1]
    missing = [name for name in _REQUIRED if name not in header]
    if missing or not any(map(_YEAR.fullmatch, header)):
        needed = ", ".join(missing) or "years"
        raise ValueError(f"not a table of the World Economic Outlook: no columns {needed}")
    twice = [name for name, count in Counter(filter(None, header)).items() if count > 1]
    if twice:
        raise ValueError(f"the column {twice[0]!r:.60} is there twice")
    return header, filled[1:-1], " ".join(filled[-1][1])


def _cells(line: str) -> Cells:
    return [cell.strip().removeprefix('"').removesuffix('"').strip() for cell in line.split("\t")]


def _edition(document: Document, last: str) -> _Edition:
    match = _EDITION.search(last)
    if match is None:
        raise ValueError("the last line names no edition: its figures cannot be dated")
    try:
        month = datetime.strptime(match[1], "%B %Y").replace(tzinfo=UTC).date()
    except ValueError:
        raise ValueError(f"{match[1]!r} is no month of an edition") from None
    observed_on = document.observed_at.astimezone(UTC).date()
    if observed_on < month:
        raise ValueError(f"the edition of {match[1]} was not out when it was read, {observed_on}")
    last_day = month.replace(day=monthrange(month.year, month.month)[1])
    if observed_on < last_day:
        return _Edition(month, observed_on, FIRST_READ)
    return _Edition(month, last_day, PUBLISHED)


def _line(location: str, cells: dict[str, str]) -> _Line:
    # By its code if the file has one.
    area = area_of(cells.get("ISO", "")) or area_named(cells["Country"])
    if area is None:
        raise ValueError(f"{cells['Country']!r:.60} is no country that we know")
    descriptor, units, scale = cells["Subject Descriptor"], cells["Units"], cells["Scale"]
    described_codes = (
        code
        for name, pattern, code in _SUBJECTS
        if name.casefold() == descriptor.casefold() and re.fullmatch(pattern, units, re.IGNORECASE)
    )
    code = cells.get("WEO Subject Code") or next(described_codes, None)
    if not code or not _CODE.fullmatch(code):
        described = f"{descriptor}, {units}"
        raise ValueError(f"{described!r:.120} is no subject that we know, and the file has no code")
    start = cells.get("Estimates Start After", "")
    if start and not _YEAR.fullmatch(start):
        raise ValueError(f"{start!r:.20} is no year after which estimates start")
    # Output, consumer prices, or anything else.
    is_output = code.startswith(("NGDP", "PPPGDP", "PPPPC", "PPPSH"))
    family = "gdp" if is_output else "cpi" if code.startswith("PCPI") else "macro"
    unit = units if scale.casefold() in _NO_SCALE else f"{units}, {scale}"
    series = f"WEO.{area[1]}.{code}.A"
    values = {int(name): text for name, text in cells.items() if _YEAR.fullmatch(name)}
    about = area, series, family, unit, None
    return _Line(location, series, about, int(start) if start else None, values)


def _row(edition: _Edition, line: _Line, year: int, text: str, mark: DecimalMark) -> dict[str, Any]:
    try:
        value = written_number(text, mark)
    except ValueError as error:
        raise ValueError(f"{line.series}: {error}") from None
    if line.last_actual is None:
        status = "E" if year >= edition.month.year else None
    else:
        status = "E" if year > line.last_actual else "A"
    span = span_from(date(year, 1, 1), "annual")
    return series_columns(*line.about, span, "annual") | {
        "available_at": edition.available_at,
        "available_at_evidence": edition.evidence,
        "publication": edition.month.strftime("%Y-%m"),
        "value": value,
        "obs_status": status,
    }


def _is_absent(text: str) -> bool:
    return text.casefold() in _NO_VALUE
