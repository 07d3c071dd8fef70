"""The Federal Reserve's H.10 exchange rates, as a collection has them.

The CSV, ``Date, Country, Exchange rate``, names countries, not currencies, and quotes all of them
for one dollar, those too that the Federal Reserve quotes the other way round: what it inverted and
did not round has more digits than a rate, and is refused.

It does not say when a value was published, so it is available from the day it was read; the average
of a running month is then a vintage that the finished month follows.
"""

import csv
import re
from decimal import Decimal
from io import StringIO
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import urlsplit

from assets.macro.iso_codes import area_of_currency, require_currency
from assets.macro.periods import Span, first_read, series_columns, span_from
from assets.parsing.parsed import Parsed, provenance
from assets.parsing.strict import calendar_day, number_from_text, read_text
from warehouse.record.landing import Document
from warehouse.record.tables import MACRO_SERIES
from warehouse.shared.data_files import csv_rows

# The Federal Reserve quotes US dollars for one of these, and units of any other currency for one
# dollar.
DOLLARS_FOR_ONE = frozenset({"AUD", "EUR", "GBP", "NZD", "IEP"})

CURRENCIES = {row["country"]: row["currency"] for row in csv_rows(__name__, "h10_currencies")}

_NUMBER = re.compile(r"\s*[0-9]+(?:\.[0-9]+)?\s*")
_CADENCES = ("daily", "monthly", "annual")
_UNKNOWN = frozenset({"", "ND", "NC", "."})
# H.10 has four decimals, few rates have more.
_MAX_DECIMALS = 6


def parse(document: Document, body: bytes) -> Parsed:
    """Parse a document of one cadence, which the header ``frequency`` or the file name states."""
    parsed = Parsed()
    with parsed.rejecting(MACRO_SERIES, document):
        rows = csv.reader(StringIO(read_text(body), newline=""), strict=True)
        _add_rows(parsed, document, rows)
    return parsed


def _add_rows(parsed: Parsed, document: Document, rows: Any) -> None:
    file_name = PurePosixPath(urlsplit(document.url).path).stem
    cadence = document.headers.get("frequency", file_name).lower()
    if cadence not in _CADENCES:
        raise ValueError("the document's headers do not name its frequency, nor does the file")
    header = next(rows)
    if [*header[:2], len(header)] != ["Date", "Country", 3]:
        raise ValueError("the document is not a long CSV of H.10")
    lines = [(rows.line_num, cells) for cells in rows if cells]
    inverted = not _as_the_fed_quotes(lines)
    for line_number, cells in lines:
        location = f"line {line_number}"
        with parsed.rejecting(MACRO_SERIES, document, location):
            row = _long_row(document, cells, cadence, inverted)
            parsed.add(MACRO_SERIES, [provenance(document, location, "file") | row])


def _as_the_fed_quotes(lines: list[tuple[int, list[str]]]) -> bool:
    """Return whether a file gives dollars for one pound; raise if it gives both.

    A pound has always been worth more than a dollar. A file without it is taken for one of the
    collection, like every one that is known: units for one dollar.
    """
    pounds = {
        Decimal(cells[2]) > 1
        for _, cells in lines
        if len(cells) == 3 and cells[1] == "United Kingdom" and _NUMBER.fullmatch(cells[2])
    }
    if len(pounds) > 1:
        raise ValueError("the file quotes the pound both ways round: no rate of it is certain")
    return pounds == {True}


def _long_row(document: Document, cells: list[str], cadence: str, inverted: bool) -> dict[str, Any]:
    if len(cells) != 3:
        raise ValueError(f"{len(cells)} cells under 3 columns")
    span = span_from(calendar_day(cells[0]), cadence)
    if cells[2].strip() in _UNKNOWN:
        raise ValueError("no value given")
    # Venezuela is not listed: it changed its currency several times, and the file names only
    # countries.
    currency = CURRENCIES.get(cells[1])
    if currency is None:
        raise ValueError(f"{cells[1]!r:.40}: which currency this was on each day is not known")
    value = number_from_text(cells[2])
    if len(cells[2].strip().partition(".")[2]) > _MAX_DECIMALS:
        raise ValueError("more digits than H.10 publishes: computed by somebody else")
    in_dollars = currency in DOLLARS_FOR_ONE and not inverted
    base, quote = (currency, "USD") if in_dollars else ("USD", currency)
    return _rate(document, base, quote, cadence, span) | {"value": value}


def _rate(document: Document, base: str, quote: str, cadence: str, span: Span) -> dict[str, Any]:
    """Return every column but the value."""
    published = first_read(document, span)
    # A rate in a currency that had ended is a mistake in the file, or another currency by then.
    require_currency(base, span[0])
    require_currency(quote, span[0])
    area = area_of_currency(base if quote == "USD" else quote)
    unit = f"{quote} per {base}"
    return published | series_columns(area, f"FX.{base}.{quote}", "fx", unit, None, span, cadence)
