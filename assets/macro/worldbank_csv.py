"""World Bank indicators as CSV files, long or wide.

A long file has ``Country Code, Year, Value`` and is one vintage of one indicator. It does not state
its day, and seldom its indicator: the document's headers ``indicator``, ``unit``, ``base-period``
and ``vintage`` do, as whoever fetched it knew. The base of an index it states by its values alone:
an index is 100 in its base year, by definition and in every country.

A wide file has a column a year: a bulk download, which is a zip with two files of metadata or the
CSV itself and states its update above the header, or an export of DataBank, which states it below
the last line.
"""

import codecs
import csv
import io
import re
import tempfile
import zipfile
from collections import deque
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from datetime import date
from decimal import Decimal
from io import StringIO
from shutil import copyfileobj
from typing import IO, Any, cast

from assets.macro.iso_codes import Area, area_of, is_former_country
from assets.macro.periods import period_of
from assets.parsing.csv_lines import LineTooLong, bounded_lines
from assets.parsing.limits import count_unpacked
from assets.parsing.parsed import Parsed, provenance
from assets.parsing.strict import calendar_day, number_from_text, printable_text, read_text
from assets.parsing.unpacking import UNREADABLE, open_zip, read_member, zip_members
from warehouse.record.landing import Document
from warehouse.record.tables import MACRO_ANNUAL

# Country, year and unit of World Bank indicators, shared by all formats they come in.


_FOUR_DIGITS = re.compile(r"[0-9]{4}")
_IN_BRACKETS = re.compile(r"\(([^()]+)\)")
_BASE = re.compile(r"\b([0-9]{4})\s*=\s*100\b")


def unit_in(name: object) -> tuple[str | None, str | None]:
    """Return the unit, and the base of an index, from the brackets in an indicator's name.

    ``GDP (current US$)`` is in current US$; ``Consumer price index (2010 = 100)`` has a base.
    """
    parts = _IN_BRACKETS.findall(name) if isinstance(name, str) else []
    unit = "; ".join(part.strip() for part in parts if part.isprintable()) or None
    base = _BASE.search(unit) if unit else None
    return unit, f"{base[1]}=100" if base else None


def observation(area: Area, year: str, value: Decimal) -> dict[str, Any]:
    """Return the columns of one value of one country and year."""
    if not _FOUR_DIGITS.fullmatch(year):
        raise ValueError(f"{year!r:.20} is not a year")
    (first, last), _ = period_of(year)
    return {
        "country": area[0],
        "country_iso3": area[1],
        "period_start": first,
        "period_end": last,
        "value": value,
    }


def country(*codes: object) -> Area:
    """Return the country of the first non-empty code; raise for an aggregate."""
    code = next((str(code) for code in codes if code), "")
    if not code:
        raise ValueError("no country given")
    area = area_of(code)
    # Not an aggregate: the quarantine says which of the two was left out.
    if area is None and is_former_country(code):
        raise ValueError(f"a country that is no more: {code!r:.20}")
    if area is None:
        raise ValueError(f"aggregate, not a country: {code!r:.20}")
    return area


ZIP = b"PK\x03\x04"
_CODES, _NAMES = ("Indicator Code", "Series Code"), ("Indicator Name", "Series Name")
_YEAR_COLUMN = re.compile(r"([0-9]{4})(?: \[YR[0-9]{4}\])?")
_UPDATED = re.compile(r"Last Updated:\s*([0-9]{1,2})/([0-9]{1,2})/([0-9]{4})")
_UNKNOWN = frozenset({"", ".."})

Lines = list[tuple[int, list[str]]]

_COUNTRY, _YEAR, _INDICATOR = "Country Code", "Year", "Indicator Code"
# The same columns as other collections of the indicators write them.
_COLUMN_ALIASES = {
    "iso_code": _COUNTRY,
    "country_code": _COUNTRY,
    "year": _YEAR,
    "date": _YEAR,
    "indicator_code": _INDICATOR,
}
# Fewer could stand at 100 in one year by chance.
_MIN_COUNTRIES = 20
_FIRST_DAY = re.compile(r"([0-9]{4})-01-01")


def parse_long(document: Document, body: bytes) -> Parsed:
    """Parse a long file: each line is a row or a rejection."""
    parsed = Parsed()
    try:
        shared = _shared(document)
        lines = list(csv.reader(StringIO(read_text(body), newline=""), strict=True))
        header = [_COLUMN_ALIASES.get(name.strip(), name.strip()) for name in lines[0]]
        value_column = _value_column(header)
    except (ValueError, csv.Error) as error:
        parsed.reject(MACRO_ANNUAL, document, "", str(error))
        return parsed
    rows: list[dict[str, Any]] = []
    for position, cells in enumerate(lines[1:], start=2):
        location = f"line {position}"
        try:
            row = shared | _row(header, cells, value_column)
        except ValueError as error:
            parsed.reject(MACRO_ANNUAL, document, location, str(error))
            continue
        rows.append(provenance(document, location, "file") | row)
    parsed.add(MACRO_ANNUAL, _with_base(rows))
    return parsed


def _with_base(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows of an index with the base that its values state, if it states no other.

    The base is the one year in which nearly all countries stand at exactly 100. A country that
    does not, or has no value of that year, may be on another base: it gets none. Shares in per
    cent, which stay at 100 for years, are no index.
    """
    if any(row["unit"] or row["base_period"] for row in rows):
        return rows
    by_year: dict[tuple[str, date], list[dict[str, Any]]] = {}
    for row in rows:
        by_year.setdefault((row["indicator"], row["period_end"]), []).append(row)
    years_at_100: dict[str, list[list[dict[str, Any]]]] = {}
    for (indicator, _), of_year in by_year.items():
        at_100 = [row for row in of_year if row["value"] == 100]
        if len(of_year) >= _MIN_COUNTRIES and 10 * len(at_100) >= 9 * len(of_year):
            years_at_100.setdefault(indicator, []).append(at_100)
    based = {
        (indicator, row["country_iso3"]): row["period_end"].year
        for indicator, years in years_at_100.items()
        if len(years) == 1
        for row in years[0]
    }
    return [
        # Written as the source does in the name of an indicator.
        row | {"unit": f"{year} = 100", "base_period": f"{year}=100"} if year else row
        for row in rows
        for year in [based.get((row["indicator"], row["country_iso3"]))]
    ]


def _shared(document: Document) -> dict[str, Any]:
    headers = {name.lower(): value for name, value in document.headers.items()}
    if not headers.get("indicator") or not headers.get("vintage"):
        raise ValueError("the document's headers name no indicator and vintage, nor does the file")
    return {
        "available_at": None,
        "publication": calendar_day(headers["vintage"]).isoformat(),
        "indicator": printable_text(headers["indicator"]),
        "unit": headers.get("unit"),
        "base_period": headers.get("base-period"),
        "obs_status": None,
    }


def _value_column(header: list[str]) -> str:
    """Return the one column that is neither the country, the year nor the indicator."""
    named = (_COUNTRY, _YEAR, _INDICATOR, "Country Name", "Country")
    others = [name for name in header if name not in named]
    if _COUNTRY not in header or _YEAR not in header or len(others) != 1:
        raise ValueError("the document is not a long CSV of one indicator")
    return others[0]


def _row(header: list[str], cells: list[str], value_column: str) -> dict[str, Any]:
    if len(cells) != len(header):
        raise ValueError(f"{len(cells)} cells under {len(header)} columns")
    line = dict(zip(header, cells, strict=True))
    area = country(line[_COUNTRY])
    if not line[value_column].strip():
        raise ValueError("no value given")
    indicator = {"indicator": printable_text(line[_INDICATOR])} if _INDICATOR in line else {}
    # Some collections write a year as its first day.
    year = _FIRST_DAY.sub(r"\1", line[_YEAR].strip())
    return observation(area, year, number_from_text(line[value_column])) | indicator


def is_wide(text: str) -> bool:
    """Return whether a text has the header of a wide file in its first lines."""
    head = text.splitlines()[:8]
    return any("Country Code" in line and any(code in line for code in _CODES) for line in head)


def parse_wide(document: Document, body: bytes) -> Parsed:
    """Parse a wide file; an aggregate's line is rejected once, an empty cell is skipped."""
    parsed = Parsed()
    try:
        text = read_text(_unpacked(body))
        lines = _lines(text)
        above, header, lines = split_at_header(lines)
        updated = update_day(above, lines).isoformat()
    except (ValueError, csv.Error) as error:
        parsed.reject(MACRO_ANNUAL, document, "", str(error))
        return parsed
    for number, cells in lines:
        # Lines of one cell are the notes below the data.
        if len(cells) > 1:
            line_rows(parsed, document, f"line {number}", header, cells, updated)
    return parsed


def _unpacked(body: bytes) -> bytes:
    """Return the one file of a zip that is not metadata."""
    if not body.startswith(ZIP):
        return body
    try:
        with open_zip(io.BytesIO(body)) as archive, archive.open(data_member(archive)) as member:
            return read_member(member)
    except UNREADABLE as error:
        raise ValueError(f"the zip is damaged: {error or type(error).__name__}") from None


def data_member(archive: zipfile.ZipFile) -> zipfile.ZipInfo:
    """Return the one file of a zip that is not metadata; ValueError if there is none, or more."""
    data = [info for info in zip_members(archive) if "Metadata" not in info.filename]
    if len(data) != 1:
        raise ValueError("the zip does not hold one file of values")
    return data[0]


def _lines(text: str) -> Lines:
    rows = csv.reader(StringIO(text, newline=""), strict=True)
    return [(rows.line_num, [cell.strip() for cell in row]) for row in rows if any(row)]


def split_at_header(lines: Lines) -> tuple[Lines, list[str], Lines]:
    """Return the lines above the header of a wide file, the header, and the lines below it."""
    for position, (_, cells) in enumerate(lines):
        if "Country Code" in cells and set(_CODES) & set(cells):
            return lines[:position], cells, lines[position + 1 :]
    raise ValueError("the document is not a wide CSV of the World Bank: it has no such header")


def update_day(above: Lines, below: Lines) -> date:
    """Return the day of the update: two cells above the header, or a sentence below the lines."""
    for _, cells in above:
        if cells[0] == "Last Updated Date" and len(cells) > 1:
            return calendar_day(cells[1])
    # DataBank appends two lines below the data: where it is from, and when it was updated.
    for _, cells in below[-3:]:
        # Month, day, year.
        if match := _UPDATED.fullmatch(cells[0]):
            return calendar_day(f"{match[3]}-{int(match[1]):02}-{int(match[2]):02}")
    raise ValueError("the document does not say when it was updated")


def line_rows(
    parsed: Parsed,
    document: Document,
    location: str,
    header: list[str],
    cells: list[str],
    updated: str,
) -> None:
    """Add the rows of one line of a wide file, or the reason why it has none."""
    try:
        # A line may stop before the last years; one that is longer than the header is damaged.
        line = dict(zip(header, cells, strict=len(cells) >= len(header)))
        area = country(line["Country Code"])
        indicator = printable_text(next(line[name] for name in _CODES if name in line))
        name = next((line[name] for name in _NAMES if name in line), None)
    except (ValueError, KeyError) as error:
        parsed.reject(MACRO_ANNUAL, document, location, str(error))
        return
    unit, base = unit_in(name)
    shared = {"available_at": None, "publication": updated, "indicator": indicator}
    shared |= {"unit": unit, "base_period": base, "obs_status": None}
    for year, cell in _values(line):
        cell_location = f"{location}, {year}"
        try:
            row = observation(area, year, number_from_text(cell))
        except ValueError as error:
            parsed.reject(MACRO_ANNUAL, document, cell_location, str(error))
            continue
        parsed.add(MACRO_ANNUAL, [provenance(document, cell_location, "file") | shared | row])


def _values(line: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for name, cell in line.items():
        match = _YEAR_COLUMN.fullmatch(name)
        if match and cell not in _UNKNOWN:
            yield match[1], cell


# A wide file of the World Bank of any length, read line by line, so that memory stays flat.
#
# The bulk download of all indicators is a zip that unpacks to hundreds of megabytes.


# Rows of a part.
_ROWS = 20_000
_CHUNK = 1 << 20
# Bytes at the end of a file within which its notes stand.
_TAIL = 1 << 16
# The header stands within so many lines.
_HEAD_LINES = 40

Open = Callable[[], AbstractContextManager[IO[bytes]]]


def wide_parts(document: Document, start: bytes, body: IO[bytes]) -> Iterator[Parsed]:
    """Parse a wide file part by part: a zip, or the CSV itself.

    ``start`` is what was already read of it.
    """
    with tempfile.TemporaryFile() as spooled:
        spooled.write(start)
        copyfileobj(body, spooled, _CHUNK)
        try:
            with _opener(spooled) as opened:
                yield from _parts(document, opened)
        except (ValueError, csv.Error) as error:
            yield _rejected(document, "", str(error))
        except UNREADABLE as error:
            reason = f"the zip is damaged: {error or type(error).__name__}"
            yield _rejected(document, "", reason)


@contextmanager
def _opener(spooled: IO[bytes]) -> Iterator[Open]:
    """Return what opens the file of values from its beginning, any number of times."""
    spooled.seek(0)
    if spooled.read(len(ZIP)) != ZIP:

        @contextmanager
        def plain() -> Iterator[IO[bytes]]:
            spooled.seek(0)
            yield spooled

        yield plain
        return
    spooled.seek(0)
    with open_zip(spooled) as archive:
        member = data_member(archive)

        @contextmanager
        def zipped() -> Iterator[IO[bytes]]:
            with archive.open(member) as content:
                yield content

        yield zipped


def _parts(document: Document, opened: Open) -> Iterator[Parsed]:
    above, header, _ = split_at_header(_first_lines(opened))
    updated = update_day(above, _last_lines(opened)).isoformat()
    parsed, is_below = Parsed(), False
    with opened() as body, closing(_csv_lines(body)) as lines:
        while True:
            try:
                number, cells = next(lines)
            except StopIteration:
                break
            except (csv.Error, LineTooLong) as error:
                parsed.reject(MACRO_ANNUAL, document, "", f"not CSV from some line on: {error}")
                break
            # Lines of one cell are the notes below the data.
            if is_below and len(cells) > 1:
                line_rows(parsed, document, f"line {number}", header, cells, updated)
            is_below = is_below or cells == header
            if len(parsed.rows.get(MACRO_ANNUAL.name, ())) >= _ROWS:
                yield parsed
                parsed = Parsed()
    yield parsed


def _csv_lines(body: IO[bytes]) -> Generator[tuple[int, list[str]], None, None]:
    text = io.TextIOWrapper(cast(io.BufferedReader, body), "utf-8-sig", newline="")
    try:
        rows = csv.reader(bounded_lines(text), strict=True)
        for row in rows:
            if any(row):
                yield rows.line_num, [cell.strip() for cell in row]
    finally:
        text.detach()


def _first_lines(opened: Open) -> Lines:
    with opened() as body, closing(_csv_lines(body)) as lines:
        return [line for line, _ in zip(lines, range(_HEAD_LINES), strict=False)]


def _last_lines(opened: Open) -> Lines:
    """Return the last lines; ValueError if the file is not UTF-8."""
    decoder, tail, size = codecs.getincrementaldecoder("utf-8")(), b"", 0
    with opened() as body:
        while chunk := body.read(_CHUNK):
            count_unpacked(len(chunk))
            try:
                decoder.decode(chunk)
            except UnicodeDecodeError:
                raise ValueError(f"the document is not UTF-8 after byte {size}") from None
            size += len(chunk)
            tail = (tail + chunk)[-_TAIL:]
    ending = tail.decode("utf-8", "replace").splitlines()[1:]
    return [(0, cells) for cells in deque(csv.reader(ending), 8) if any(cells)]


def _rejected(document: Document, location: str, reason: str) -> Parsed:
    parsed = Parsed()
    parsed.reject(MACRO_ANNUAL, document, location, reason)
    return parsed
