"""World Bank indicators as long CSV files: ``Country Code, Year, Value``, a file a vintage.

The file does not name its day, and seldom its indicator; the document's headers ``indicator``,
``unit``, ``base-period`` and ``vintage`` say them, as whoever fetched it knew.
"""

import csv
import io
import re
import zipfile
from collections.abc import Iterator
from datetime import date
from io import StringIO
from typing import Any

from assets.macro.worldbank_values import country, observation, unit_in
from assets.parsing.parsed import Parsed, provenance
from assets.parsing.strict import calendar_day, number_in, read_text, text_of
from assets.parsing.zips import UNREADABLE, files_of
from warehouse.record.landing import Document
from warehouse.record.tables import MACRO_ANNUAL

_COUNTRY, _YEAR, _INDICATOR = "Country Code", "Year", "Indicator Code"
# The same columns as other gatherers of the indicators write them.
_ALSO = {
    "iso_code": _COUNTRY,
    "country_code": _COUNTRY,
    "year": _YEAR,
    "date": _YEAR,
    "indicator_code": _INDICATOR,
}
_FIRST_DAY = re.compile(r"([0-9]{4})-01-01")


def parse_long(document: Document, body: bytes) -> Parsed:
    """Read one vintage of one indicator; each line is a row or a rejection."""
    parsed = Parsed()
    try:
        shared = _shared(document)
        lines = list(csv.reader(StringIO(read_text(body), newline=""), strict=True))
        header = [_ALSO.get(name.strip(), name.strip()) for name in lines[0]]
        value_column = _value_column(header)
    except (ValueError, csv.Error) as error:
        parsed.reject(MACRO_ANNUAL, document, "", str(error))
        return parsed
    for position, cells in enumerate(lines[1:], start=2):
        place = f"line {position}"
        try:
            row = shared | _row(header, cells, value_column)
        except ValueError as error:
            parsed.reject(MACRO_ANNUAL, document, place, str(error))
            continue
        parsed.add(MACRO_ANNUAL, [provenance(document, place, "file") | row])
    return parsed


def _shared(document: Document) -> dict[str, Any]:
    headers = {name.lower(): value for name, value in document.headers.items()}
    if not headers.get("indicator") or not headers.get("vintage"):
        raise ValueError("the document's headers name no indicator and vintage, nor does the file")
    return {
        "available_at": None,
        "publication": calendar_day(headers["vintage"]).isoformat(),
        "indicator": text_of(headers["indicator"]),
        "unit": headers.get("unit"),
        "base_period": headers.get("base-period"),
        "obs_status": None,
    }


def _value_column(header: list[str]) -> str:
    """Find the one column that is neither the country, the year nor the indicator."""
    known = (_COUNTRY, _YEAR, _INDICATOR, "Country Name", "Country")
    others = [name for name in header if name not in known]
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
    indicator = {"indicator": text_of(line[_INDICATOR])} if _INDICATOR in line else {}
    year = _FIRST_DAY.sub(r"\1", line[_YEAR].strip())
    return observation(area, year, number_in(line[value_column])) | indicator


ZIP = b"PK\x03\x04"
# All indicators of all countries are some 300 MB.
LARGEST = 1 << 30

_CODES, _NAMES = ("Indicator Code", "Series Code"), ("Indicator Name", "Series Name")
_YEAR_COLUMN = re.compile(r"([0-9]{4})(?: \[YR[0-9]{4}\])?")
_UPDATED = re.compile(r"Last Updated:\s*([0-9]{1,2})/([0-9]{1,2})/([0-9]{4})")
_UNKNOWN = frozenset({"", ".."})

Lines = list[tuple[int, list[str]]]


def is_wide(text: str) -> bool:
    """Say whether a text has the header of a wide file in its first lines."""
    head = text.splitlines()[:8]
    return any("Country Code" in line and any(code in line for code in _CODES) for line in head)


def parse_wide(document: Document, body: bytes) -> Parsed:
    """Read every value; a line of an aggregate is one rejection, an empty cell is none."""
    parsed = Parsed()
    try:
        text = read_text(_unpacked(body))
        lines = _lines(text)
        above, header, lines = _split(lines)
        updated = _updated(above, lines).isoformat()
    except (ValueError, csv.Error) as error:
        parsed.reject(MACRO_ANNUAL, document, "", str(error))
        return parsed
    for number, cells in lines:
        if len(cells) > 1:
            _read(parsed, document, f"line {number}", header, cells, updated)
    return parsed


def _unpacked(body: bytes) -> bytes:
    """Give the one file of a zip that is no metadata."""
    if not body.startswith(ZIP):
        return body
    try:
        with zipfile.ZipFile(io.BytesIO(body)) as archive:
            data = [each for each in files_of(archive) if "Metadata" not in each.filename]
            if len(data) != 1 or data[0].file_size > LARGEST:
                raise ValueError("the zip does not hold one file of values")
            return archive.read(data[0])
    except UNREADABLE as error:
        raise ValueError(f"the zip is damaged: {error or type(error).__name__}") from None


def _lines(text: str) -> Lines:
    rows = csv.reader(StringIO(text, newline=""), strict=True)
    return [(rows.line_num, [cell.strip() for cell in row]) for row in rows if any(row)]


def _split(lines: Lines) -> tuple[Lines, list[str], Lines]:
    for place, (_, cells) in enumerate(lines):
        if "Country Code" in cells and set(_CODES) & set(cells):
            return lines[:place], cells, lines[place + 1 :]
    raise ValueError("the document is not a wide CSV of the World Bank: it has no such header")


def _updated(above: Lines, below: Lines) -> date:
    """Find the update of the database: two cells above the header, or a sentence below."""
    for _, cells in above:
        if cells[0] == "Last Updated Date" and len(cells) > 1:
            return calendar_day(cells[1])
    for _, cells in below[-3:]:
        if found := _UPDATED.fullmatch(cells[0]):
            return calendar_day(f"{found[3]}-{int(found[1]):02}-{int(found[2]):02}")
    raise ValueError("the document does not say when it was updated")


def _read(
    parsed: Parsed,
    document: Document,
    place: str,
    header: list[str],
    cells: list[str],
    updated: str,
) -> None:
    try:
        line = dict(zip(header, cells, strict=len(cells) >= len(header)))
        area = country(line["Country Code"])
        indicator = text_of(next(line[name] for name in _CODES if name in line))
        name = next((line[name] for name in _NAMES if name in line), None)
    except (ValueError, KeyError) as error:
        parsed.reject(MACRO_ANNUAL, document, place, str(error))
        return
    unit, base = unit_in(name)
    shared = {"available_at": None, "publication": updated, "indicator": indicator}
    shared |= {"unit": unit, "base_period": base, "obs_status": None}
    for year, cell in _values(line):
        where = f"{place}, {year}"
        try:
            row = observation(area, year, number_in(cell))
        except ValueError as error:
            parsed.reject(MACRO_ANNUAL, document, where, str(error))
            continue
        parsed.add(MACRO_ANNUAL, [provenance(document, where, "file") | shared | row])


def _values(line: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for name, cell in line.items():
        found = _YEAR_COLUMN.fullmatch(name)
        if found and cell not in _UNKNOWN:
            yield found[1], cell
