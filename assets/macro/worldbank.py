"""World Bank indicators: pages of the API, and CSV files, long or wide.

A page of Indicators v2 is ``[meta, rows]``: one indicator, all years. The source says when its
whole database was updated, never when a value was released: the update is the publication, and
``available_at`` stays unknown.

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
from collections import defaultdict, deque
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, closing, nullcontext
from datetime import date
from decimal import Decimal
from functools import partial
from io import StringIO
from shutil import copyfileobj
from typing import IO, Any, cast

from assets.macro.iso_codes import is_former_country
from assets.macro.periods import period_of
from assets.parsing import strict
from assets.parsing.csv_lines import LineTooLong, bounded_lines
from assets.parsing.limits import count_unpacked
from assets.parsing.parsed import Parsed, join_parts, provenance
from assets.parsing.unpacking import UNREADABLE, open_zip, zip_members
from warehouse.record.landing import Document
from warehouse.record.tables import MACRO_ANNUAL
from warehouse.shared.countries import Area, area_of

# Country, year and unit of World Bank indicators, shared by all formats they come in.


_FOUR_DIGITS = re.compile(r"[0-9]{4}")
_IN_BRACKETS = re.compile(r"\(([^()]+)\)")
_BASE = re.compile(r"\b([0-9]{4})\s*=\s*100\b")


def _unit_in(name: object) -> tuple[str | None, str | None]:
    """Return the unit, and the base of an index, from the brackets in an indicator's name.

    ``GDP (current US$)`` is in current US$; ``Consumer price index (2010 = 100)`` has a base.
    """
    parts = _IN_BRACKETS.findall(name) if isinstance(name, str) else []
    unit = "; ".join(part.strip() for part in parts if part.isprintable()) or None
    base = _BASE.search(unit) if unit else None
    return unit, f"{base[1]}=100" if base else None


def _observation(area: Area, year: str, value: Decimal) -> dict[str, Any]:
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


def _country(stated: object) -> Area:
    """Return the country of a code; raise for an aggregate."""
    if not stated:
        raise ValueError("no country given")
    code = str(stated)
    area = area_of(code)
    if area is None:
        # The quarantine says which of the two was left out.
        is_former = is_former_country(code)
        what = "a country that is no more" if is_former else "aggregate, not a country"
        raise ValueError(f"{what}: {code!r:.20}")
    return area


_ZIP = b"PK\x03\x04"
# Bytes that show whether a document is a wide file.
_HEAD = 1 << 16
# How a URL asks for one page of several, live and in a folder.
_PAGE_IN_URL = re.compile(r"[?&/]page[=-]([0-9]+)")


def parse(document: Document, body: bytes) -> Parsed:
    """Parse a document of any format; aggregates and years without a value are rejected."""
    return join_parts(stream(document, io.BytesIO(body)))


def stream(document: Document, body: IO[bytes]) -> Iterator[Parsed]:
    """Parse a document: a wide file line by line, anything else as a whole."""
    start = body.read(_HEAD)
    text = start.decode("utf-8-sig", "replace")
    if start.startswith(_ZIP) or _is_wide(text):
        yield from _wide_parts(document, start, body)
    elif text.lstrip()[:1] in ("[", "{", "<", "", "\ufffd"):
        yield _page(document, start + body.read())
    else:
        yield _parse_long(document, start + body.read())


def _page(document: Document, body: bytes) -> Parsed:
    parsed = Parsed()
    with parsed.rejecting(MACRO_ANNUAL, document):
        updated, rows = _read_page(document, body)
        for position, row in enumerate(rows):
            location = strict.json_pointer(1, position)
            with parsed.rejecting(MACRO_ANNUAL, document, location):
                columns = _page_row(strict.json_object(row), updated)
                parsed.add(MACRO_ANNUAL, [provenance(document, location, "api") | columns])
    return parsed


def _read_page(document: Document, body: bytes) -> tuple[str, list[Any]]:
    page = strict.read_json(body)
    # The API of archived versions answers in this shape.
    if isinstance(page, dict) and "source" in page:
        raise ValueError("an answer by source and version, not a page of an indicator")
    if not isinstance(page, list) or not page or not isinstance(page[0], dict):
        raise ValueError("the document is not a page of the World Bank")
    meta = page[0]
    # The World Bank answers errors with status 200.
    if "message" in meta:
        raise ValueError(f"the source answered with an error: {meta['message']!r:.200}")
    if len(page) != 2 or not isinstance(page[1], list):
        raise ValueError("the page holds no rows: the source has nothing for this question")
    if "lastupdated" not in meta:
        raise ValueError("the page does not say when it was updated: no page of observations")
    _refuse_partial(document, meta, len(page[1]))
    return strict.calendar_day(meta["lastupdated"]).isoformat(), page[1]


def _refuse_partial(document: Document, meta: dict[str, Any], rows: int) -> None:
    """Raise if a page is only a part of the answer.

    One page of several is complete if its URL asked for it: who fetches page by page makes sure
    that none is missing. Otherwise the answer was cut short.
    """
    page, pages = _count(meta, "page"), _count(meta, "pages")
    size, total = _count(meta, "per_page"), _count(meta, "total")
    in_url = _PAGE_IN_URL.search(document.url)
    if in_url and page and int(in_url[1]) != page:
        raise ValueError(f"page {in_url[1]} was asked for, and this is page {page}")
    if pages and pages > 1 and not in_url:
        raise ValueError(f"truncated: this is page {page} of {pages}, and nobody asked for pages")
    if page and size and total and rows < min(size, total - (page - 1) * size):
        raise ValueError(f"truncated: the page holds {rows} rows of {total} in pages of {size}")


def _count(meta: dict[str, Any], name: str) -> int | None:
    """Return a count of the page, which may be text; None if it is not stated."""
    count = str(meta.get(name))
    return int(count) if count.isascii() and count.isdecimal() else None


def _page_row(row: dict[str, Any], updated: str) -> dict[str, Any]:
    indicator, country = (
        strict.json_object(row.get("indicator")),
        strict.json_object(row.get("country")),
    )
    # countryiso3code is empty for some rows; country.id is then alpha-2, or the code of an
    # aggregate.
    area = _country(row.get("countryiso3code") or country.get("id"))
    if row.get("value") is None:
        raise ValueError("no value given")
    unit, base = _unit_in(indicator.get("value"))
    # Old answers write a number as text.
    read = strict.number_from_text if isinstance(row["value"], str) else strict.json_number
    return {
        **_observation(area, str(row.get("date")), read(row["value"])),
        "indicator": strict.printable_text(indicator.get("id")),
        # The member is nearly always empty: the unit stands in the name of the indicator.
        "unit": row.get("unit") or unit,
        "base_period": base,
        "obs_status": row.get("obs_status") or None,
        "available_at": None,
        "publication": updated,
    }


_CODES, _NAMES = ("Indicator Code", "Series Code"), ("Indicator Name", "Series Name")
_YEAR_COLUMN = re.compile(r"([0-9]{4})(?: \[YR[0-9]{4}\])?")
_UPDATED = re.compile(r"Last Updated:\s*([0-9]{1,2})/([0-9]{1,2})/([0-9]{4})")
_UNKNOWN = frozenset({"", ".."})

Lines = list[tuple[int, list[str]]]

_COUNTRY, _YEAR, _INDICATOR = "Country Code", "Year", "Indicator Code"
_NAMED_COLUMNS = (_COUNTRY, _YEAR, _INDICATOR, "Country Name", "Country")
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


def _parse_long(document: Document, body: bytes) -> Parsed:
    """Parse a long file: each line is a row or a rejection."""
    parsed = Parsed()
    with parsed.rejecting(MACRO_ANNUAL, document):
        headers = {name.lower(): value for name, value in document.headers.items()}
        if not headers.get("indicator") or not headers.get("vintage"):
            reason = "the document's headers name no indicator and vintage, nor does the file"
            raise ValueError(reason)
        shared = {
            "available_at": None,
            "publication": strict.calendar_day(headers["vintage"]).isoformat(),
            "indicator": strict.printable_text(headers["indicator"]),
            "unit": headers.get("unit"),
            "base_period": headers.get("base-period"),
            "obs_status": None,
        }
        lines = list(csv.reader(StringIO(strict.read_text(body), newline=""), strict=True))
        header = [_COLUMN_ALIASES.get(name.strip(), name.strip()) for name in lines[0]]
        # The one column that is neither the country, the year nor the indicator.
        others = [name for name in header if name not in _NAMED_COLUMNS]
        if _COUNTRY not in header or _YEAR not in header or len(others) != 1:
            raise ValueError("the document is not a long CSV of one indicator")
        rows: list[dict[str, Any]] = []
        for position, cells in enumerate(lines[1:], start=2):
            location = f"line {position}"
            with parsed.rejecting(MACRO_ANNUAL, document, location):
                if len(cells) != len(header):
                    raise ValueError(f"{len(cells)} cells under {len(header)} columns")
                row = _long_row(dict(zip(header, cells, strict=True)), others[0])
                rows.append(provenance(document, location, "file") | shared | row)
        parsed.add(MACRO_ANNUAL, _with_base(rows))
    return parsed


def _long_row(line: dict[str, str], value_column: str) -> dict[str, Any]:
    area = _country(line[_COUNTRY])
    if not line[value_column].strip():
        raise ValueError("no value given")
    indicator = {"indicator": strict.printable_text(line[_INDICATOR])} if _INDICATOR in line else {}
    # Some collections write a year as its first day.
    year = _FIRST_DAY.sub(r"\1", line[_YEAR].strip())
    return _observation(area, year, strict.number_from_text(line[value_column])) | indicator


def _with_base(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows of an index with the base that its values state, if it states no other.

    The base is the one year in which nearly all countries stand at exactly 100. A country that
    does not, or has no value of that year, may be on another base: it gets none. Shares in per
    cent, which stay at 100 for years, are no index.
    """
    if any(row["unit"] or row["base_period"] for row in rows):
        return rows
    by_year: dict[tuple[str, date], list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        by_year[row["indicator"], row["period_end"]].append(row)
    years_at_100: dict[str, list[list[dict[str, Any]]]] = defaultdict(list)
    for (indicator, _), of_year in by_year.items():
        at_100 = [row for row in of_year if row["value"] == 100]
        if len(of_year) >= _MIN_COUNTRIES and 10 * len(at_100) >= 9 * len(of_year):
            years_at_100[indicator].append(at_100)
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


def _is_wide(text: str) -> bool:
    """Return whether a text has the header of a wide file in its first lines."""
    head = text.splitlines()[:8]
    return any("Country Code" in line and any(code in line for code in _CODES) for line in head)


def _data_member(archive: zipfile.ZipFile) -> zipfile.ZipInfo:
    """Return the one file of a zip that is not metadata; ValueError if there is none, or more."""
    data = [info for info in zip_members(archive) if "Metadata" not in info.filename]
    if len(data) != 1:
        raise ValueError("the zip does not hold one file of values")
    return data[0]


def _split_at_header(lines: Lines) -> tuple[Lines, list[str]]:
    """Return the lines above the header of a wide file, and the header."""
    for position, (_, cells) in enumerate(lines):
        if "Country Code" in cells and set(_CODES) & set(cells):
            return lines[:position], cells
    raise ValueError("the document is not a wide CSV of the World Bank: it has no such header")


def _update_day(above: Lines, below: Lines) -> date:
    """Return the day of the update: two cells above the header, or a sentence below the lines."""
    for _, cells in above:
        if cells[0] == "Last Updated Date" and len(cells) > 1:
            return strict.calendar_day(cells[1])
    # DataBank appends two lines below the data: where it is from, and when it was updated.
    for _, cells in below[-3:]:
        # Month, day, year.
        if match := _UPDATED.fullmatch(cells[0]):
            return strict.calendar_day(f"{match[3]}-{int(match[1]):02}-{int(match[2]):02}")
    raise ValueError("the document does not say when it was updated")


def _add_line(
    parsed: Parsed, document: Document, number: int, header: list[str], cells: list[str], day: date
) -> None:
    """Add the rows of one line of a wide file, or the reason why it has none."""
    location = f"line {number}"
    try:
        # A line may stop before the last years; one that is longer than the header is damaged.
        line = dict(zip(header, cells, strict=len(cells) >= len(header)))
        area = _country(line["Country Code"])
        indicator = strict.printable_text(next(line[name] for name in _CODES if name in line))
        name = next((line[name] for name in _NAMES if name in line), None)
    except (ValueError, KeyError) as error:
        parsed.reject(MACRO_ANNUAL, document, location, str(error))
        return
    unit, base = _unit_in(name)
    shared = {"available_at": None, "publication": day.isoformat(), "indicator": indicator}
    shared |= {"unit": unit, "base_period": base, "obs_status": None}
    for name, cell in line.items():
        match = _YEAR_COLUMN.fullmatch(name)
        if match is None or cell in _UNKNOWN:
            continue
        cell_location = f"{location}, {match[1]}"
        with parsed.rejecting(MACRO_ANNUAL, document, cell_location):
            row = shared | _observation(area, match[1], strict.number_from_text(cell))
            parsed.add(MACRO_ANNUAL, [provenance(document, cell_location, "file") | row])


# A wide file of any length is read line by line, so that memory stays flat: the bulk download of
# all indicators is a zip that unpacks to hundreds of megabytes.

# Rows of a part.
_ROWS = 20_000
_CHUNK = 1 << 20
# Bytes that wait in memory for being read.
_IN_MEMORY = 16 << 20
# Bytes at the end of a file within which its notes stand.
_TAIL = 1 << 16
# The header stands within so many lines.
_HEAD_LINES = 40

Open = Callable[[], AbstractContextManager[IO[bytes]]]


def _wide_parts(document: Document, start: bytes, body: IO[bytes]) -> Iterator[Parsed]:
    """Parse a wide file part by part: a zip, or the CSV itself.

    An aggregate's line is rejected once, an empty cell is skipped. ``start`` is what was already
    read of it, ``body`` the rest.
    """
    with tempfile.SpooledTemporaryFile(_IN_MEMORY) as spooled:
        spooled.write(start)
        copyfileobj(body, spooled, _CHUNK)

        def plain() -> AbstractContextManager[IO[bytes]]:
            spooled.seek(0)
            return nullcontext(cast(IO[bytes], spooled))

        try:
            if not start.startswith(_ZIP):
                yield from _parts(document, plain)
                return
            with open_zip(cast(IO[bytes], spooled)) as archive:
                yield from _parts(document, partial(archive.open, _data_member(archive)))
            return
        except (ValueError, csv.Error) as error:
            reason = str(error)
        except UNREADABLE as error:
            reason = f"the zip is damaged: {error or type(error).__name__}"
    parsed = Parsed()
    parsed.reject(MACRO_ANNUAL, document, "", reason)
    yield parsed


def _parts(document: Document, opened: Open) -> Iterator[Parsed]:
    with opened() as body, closing(_csv_lines(body)) as lines:
        head = [line for line, _ in zip(lines, range(_HEAD_LINES), strict=False)]
    above, header = _split_at_header(head)
    updated = _update_day(above, _last_lines(opened))
    parsed, is_below = Parsed(), False
    with opened() as body, closing(_csv_lines(body)) as lines:
        try:
            for number, cells in lines:
                # Lines of one cell are the notes below the data.
                if is_below and len(cells) > 1:
                    _add_line(parsed, document, number, header, cells, updated)
                is_below = is_below or cells == header
                if len(parsed.rows.get(MACRO_ANNUAL.name, ())) >= _ROWS:
                    yield parsed
                    parsed = Parsed()
        except (csv.Error, LineTooLong) as error:
            parsed.reject(MACRO_ANNUAL, document, "", f"not CSV from some line on: {error}")
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
