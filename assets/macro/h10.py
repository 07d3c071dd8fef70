"""The Federal Reserve's H.10 as long CSV files: ``Date, Country, Exchange rate``.

The file names countries, not currencies, and quotes four of them the other way round. Nothing
in it says when a value was published, so it is available from the day it was read; the
average of a running month is then a vintage that the finished month follows. The Federal
Reserve's own download, which says more of itself, has a reader of its own.
"""

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date
from io import StringIO
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import urlsplit

from assets.macro.iso_codes import area_of_currency, refuse_unless_money
from assets.macro.periods import Span, period_of, span_from
from assets.parsing.parsed import Parsed, provenance
from assets.parsing.strict import calendar_day, number_in, read_text
from warehouse.record.landing import Document
from warehouse.record.tables import MACRO_SERIES

# As H.10 quotes: US dollars for one of these, and of every other so many for one dollar.
DOLLARS_FOR_ONE = frozenset({"AUD", "EUR", "GBP", "NZD", "IEP"})

CURRENCIES = {
    "Australia": "AUD",
    "Austria": "ATS",
    "Belgium": "BEF",
    "Brazil": "BRL",
    "Canada": "CAD",
    "China": "CNY",
    "Denmark": "DKK",
    "Euro": "EUR",
    "Finland": "FIM",
    "France": "FRF",
    "Germany": "DEM",
    "Greece": "GRD",
    "Hong Kong": "HKD",
    "India": "INR",
    "Ireland": "IEP",
    "Italy": "ITL",
    "Japan": "JPY",
    "Malaysia": "MYR",
    "Mexico": "MXN",
    "Netherlands": "NLG",
    "New Zealand": "NZD",
    "Norway": "NOK",
    "Portugal": "PTE",
    "Singapore": "SGD",
    "South Africa": "ZAR",
    "South Korea": "KRW",
    "Spain": "ESP",
    "Sri Lanka": "LKR",
    "Sweden": "SEK",
    "Switzerland": "CHF",
    "Taiwan": "TWD",
    "Thailand": "THB",
    "United Kingdom": "GBP",
}

_CADENCES = ("daily", "monthly", "annual")
_UNKNOWN = frozenset({"", "ND", "NC", "."})


def parse(document: Document, body: bytes) -> Parsed:
    """Read rates of one cadence, which the document's header ``frequency`` names."""
    parsed = Parsed()
    try:
        if read_text(body).lstrip('"').startswith(FIRST_CELL):
            return parse_download(document, body)
        cadence = _cadence(document)
        lines = _lines(body)
    except (ValueError, csv.Error) as error:
        parsed.reject(MACRO_SERIES, document, "", str(error))
        return parsed
    for position, cells in lines:
        place = f"line {position}"
        try:
            row = _row(document, cells, cadence)
        except ValueError as error:
            parsed.reject(MACRO_SERIES, document, place, str(error))
            continue
        parsed.add(MACRO_SERIES, [provenance(document, place, "file") | row])
    return parsed


def _cadence(document: Document) -> str:
    named = PurePosixPath(urlsplit(document.url).path).stem
    cadence = document.headers.get("frequency", named).lower()
    if cadence not in _CADENCES:
        raise ValueError("the document's headers do not name its frequency, nor does the file")
    return cadence


def _lines(body: bytes) -> list[tuple[int, list[str]]]:
    rows = csv.reader(StringIO(read_text(body), newline=""), strict=True)
    header = next(rows)
    if [*header[:2], len(header)] != ["Date", "Country", 3]:
        raise ValueError("the document is not a long CSV of H.10")
    return [(rows.line_num, cells) for cells in rows if cells]


def _row(document: Document, cells: list[str], cadence: str) -> dict[str, Any]:
    if len(cells) != 3:
        raise ValueError(f"{len(cells)} cells under 3 columns")
    span = span_from(calendar_day(cells[0]), cadence)
    if cells[2].strip() in _UNKNOWN:
        raise ValueError("no value given")
    currency = CURRENCIES.get(cells[1])
    if currency is None:
        raise ValueError(f"{cells[1]!r:.40}: which currency this was on each day is not known")
    base, quote = (currency, "USD") if currency in DOLLARS_FOR_ONE else ("USD", currency)
    read = document.observed_at.astimezone(UTC).date()
    return rate(base, quote, cadence, span, read) | {"value": number_in(cells[2])}


def rate(base: str, quote: str, cadence: str, span: Span, read: date) -> dict[str, Any]:
    """Give every column but the value; it is available from the day it was read."""
    if span[0] > read:
        raise ValueError(f"the period begins after it was read, on {read}")
    refuse_unless_money(base, span[0])
    refuse_unless_money(quote, span[0])
    area = area_of_currency(base if quote == "USD" else quote)
    return {
        "country": area[0] if area else None,
        "country_iso3": area[1] if area else None,
        "series": f"FX.{base}.{quote}",
        "series_type": "fx",
        "unit": f"{quote} per {base}",
        "base_period": None,
        "available_at": read,
        "publication": read.isoformat(),
        "frequency": cadence,
        "period_start": span[0],
        "period_end": span[1],
        "obs_status": None,
    }


FIRST_CELL = "Series Description"

_PER = re.compile(r"Currency:_Per_([A-Z]{3})")
_ID = re.compile(r"RXI(?:\$US)?_N\.([BMA])\.[A-Z0-9]+")
_CADENCE_LETTERS = {"B": "daily", "M": "monthly", "A": "annual"}
_NO_DATA = frozenset({"", "ND", "NC", "NA"})


@dataclass(frozen=True)
class _Column:
    base: str
    quote: str
    cadence: str


def parse_download(document: Document, body: bytes) -> Parsed:
    """Read every rate; a column that is none is one rejection, a day without data is none."""
    parsed = Parsed()
    rows = csv.reader(StringIO(read_text(body), newline=""), strict=True)
    try:
        head = _head(rows)
        lines = [(rows.line_num, cells) for cells in rows if cells]
    except (ValueError, csv.Error) as error:
        parsed.reject(MACRO_SERIES, document, "", str(error))
        return parsed
    columns: dict[int, _Column] = {}
    for place in range(1, len(head["Time Period"])):
        try:
            columns[place] = _column({name: cells[place] for name, cells in head.items()})
        except (ValueError, IndexError) as error:
            parsed.reject(MACRO_SERIES, document, f"column {place + 1}", str(error))
    read = document.observed_at.astimezone(UTC).date()
    for number, cells in lines:
        for place, column in columns.items():
            where = f"line {number}, column {place + 1}"
            try:
                found = [
                    provenance(document, where, "file") | row
                    for row in _rows(cells, place, column, read)
                ]
            except ValueError as error:
                parsed.reject(MACRO_SERIES, document, where, str(error))
                continue
            parsed.add(MACRO_SERIES, found)
    return parsed


def _head(rows: Iterator[list[str]]) -> dict[str, list[str]]:
    head: dict[str, list[str]] = {}
    for cells in rows:
        if cells:
            head[cells[0].strip().rstrip(": ")] = [cell.strip() for cell in cells]
        if "Time Period" in head:
            break
    missing = {"Unit", "Multiplier", "Currency", "Time Period"} - head.keys()
    if missing:
        raise ValueError(f"the document is no download of H.10: no line {min(missing)!r}")
    return head


def _column(told: dict[str, str]) -> _Column:
    unit, named = _PER.fullmatch(told["Unit"]), _ID.fullmatch(told["Time Period"])
    if unit is None or named is None:
        raise ValueError(f"{told['Time Period']!r:.40} in {told['Unit']!r:.40} is no rate")
    if told["Multiplier"] not in ("1", "1.0"):
        raise ValueError(f"the values are for {told['Multiplier']!r:.20}, not for one")
    return _Column(unit[1], told["Currency"], _CADENCE_LETTERS[named[1]])


def _rows(cells: list[str], place: int, column: _Column, read: date) -> Iterator[dict[str, object]]:
    if place >= len(cells):
        raise ValueError("the line ends before this column")
    if cells[place].strip() in _NO_DATA:
        return
    span, cadence = period_of(cells[0].strip())
    if cadence != column.cadence:
        raise ValueError(f"{cells[0]!r:.40} is no {column.cadence} period")
    yield rate(column.base, column.quote, cadence, span, read) | {"value": number_in(cells[place])}
