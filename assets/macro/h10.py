"""The Federal Reserve's H.10 as long CSV files: ``Date, Country, Exchange rate``.

The file names countries, not currencies, and quotes four of them the other way round. Nothing
in it says when a value was published, so it is available from the day it was read; the
average of a running month is then a vintage that the finished month follows. The Federal
Reserve's own download, which says more of itself, has a reader of its own.
"""

import csv
from datetime import UTC
from io import StringIO
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import urlsplit

from assets.macro import h10_download
from assets.macro.calendars import span_from
from assets.macro.h10_rows import rate
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
        if read_text(body).lstrip('"').startswith(h10_download.FIRST_CELL):
            return h10_download.parse(document, body)
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
