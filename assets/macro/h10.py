"""The Federal Reserve's H.10 exchange rates, in two formats.

The long CSV, ``Date, Country, Exchange rate``, is a collection of the rates. It names countries,
not currencies, and quotes all of them for one dollar, those too that the Federal Reserve quotes the
other way round: what it inverted and did not round has more digits than a rate, and is refused. The
Federal Reserve's own download has six lines of description and then
a line a period; each column says what it quotes: ``Currency:_Per_USD`` in ``ZAR`` is rand for one
dollar, ``Currency:_Per_EUR`` in ``USD`` dollars for one euro. Indices are not rates, and refused.

Neither says when a value was published, so it is available from the day it was read; the average
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
from assets.macro.periods import Span, first_read, period_of, series_columns, span_from
from assets.parsing.parsed import Parsed, provenance
from assets.parsing.strict import calendar_day, number_from_text, read_text
from warehouse.record.landing import Document
from warehouse.record.tables import MACRO_SERIES
from warehouse.shared.data_files import csv_rows

# The Federal Reserve quotes US dollars for one of these, and units of any other currency for one
# dollar.
DOLLARS_FOR_ONE = frozenset({"AUD", "EUR", "GBP", "NZD", "IEP"})

CURRENCIES = {row["country"]: row["currency"] for row in csv_rows(__name__, "h10_currencies")}

_FIRST_CELL_OF_DOWNLOAD = "Series Description"
_PER = re.compile(r"Currency:_Per_([A-Z]{3})")
_NUMBER = re.compile(r"\s*[0-9]+(?:\.[0-9]+)?\s*")
_ID = re.compile(r"RXI(?:\$US)?_N\.([BMA])\.[A-Z0-9]+")
_CADENCES = {"B": "daily", "M": "monthly", "A": "annual"}
# How the Federal Reserve writes that a day has no rate.
_NO_DATA = frozenset({"", "ND", "NC", "NA"})
_UNKNOWN = frozenset({"", "ND", "NC", "."})
# H.10 has four decimals, few rates have more.
_MAX_DECIMALS = 6


def parse(document: Document, body: bytes) -> Parsed:
    """Parse a document of either format.

    The long CSV has one cadence, which the header ``frequency`` or the file name states.
    """
    parsed = Parsed()
    with parsed.rejecting(MACRO_SERIES, document):
        text = read_text(body)
        rows = csv.reader(StringIO(text, newline=""), strict=True)
        if text.lstrip('"').startswith(_FIRST_CELL_OF_DOWNLOAD):
            _add_download(parsed, document, rows)
        else:
            _add_long(parsed, document, rows)
    return parsed


def _add_long(parsed: Parsed, document: Document, rows: Any) -> None:
    file_name = PurePosixPath(urlsplit(document.url).path).stem
    cadence = document.headers.get("frequency", file_name).lower()
    if cadence not in _CADENCES.values():
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


def _add_download(parsed: Parsed, document: Document, rows: Any) -> None:
    """Add every rate; a column that is not a rate is rejected once, not per line."""
    head: dict[str, list[str]] = {}
    for cells in rows:
        if cells:
            head[cells[0].strip().rstrip(": ")] = [cell.strip() for cell in cells]
        if "Time Period" in head:
            break
    missing = {"Unit", "Multiplier", "Currency", "Time Period"} - head.keys()
    if missing:
        raise ValueError(f"the document is no download of H.10: no line {min(missing)!r}")
    lines = [(rows.line_num, cells) for cells in rows if cells]
    columns: dict[int, tuple[str, str, str]] = {}
    for position in range(1, len(head["Time Period"])):
        try:
            columns[position] = _column({name: cells[position] for name, cells in head.items()})
        except (ValueError, IndexError) as error:
            parsed.reject(MACRO_SERIES, document, f"column {position + 1}", str(error))
    for line_number, cells in lines:
        for position, (base, quote, cadence) in columns.items():
            location = f"line {line_number}, column {position + 1}"
            with parsed.rejecting(MACRO_SERIES, document, location):
                if position >= len(cells):
                    raise ValueError("the line ends before this column")
                # Holidays: a line has a cell for every column, with or without a rate.
                if cells[position].strip() in _NO_DATA:
                    continue
                span, written = period_of(cells[0].strip())
                if written != cadence:
                    raise ValueError(f"{cells[0]!r:.40} is no {cadence} period")
                rate = _rate(document, base, quote, cadence, span)
                row = rate | {"value": number_from_text(cells[position])}
                parsed.add(MACRO_SERIES, [provenance(document, location, "file") | row])


def _column(head: dict[str, str]) -> tuple[str, str, str]:
    """Return the base and the quoted currency of a column, and its cadence."""
    unit, series_id = _PER.fullmatch(head["Unit"]), _ID.fullmatch(head["Time Period"])
    if unit is None or series_id is None:
        raise ValueError(f"{head['Time Period']!r:.40} in {head['Unit']!r:.40} is no rate")
    # A rate for 100 units looks like any other, and would be off by two digits.
    if head["Multiplier"] not in ("1", "1.0"):
        raise ValueError(f"the values are for {head['Multiplier']!r:.20}, not for one")
    return unit[1], head["Currency"], _CADENCES[series_id[1]]
