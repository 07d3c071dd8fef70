"""The Federal Reserve's H.10 as long CSV files: ``Date, Country, Exchange rate``.

The file names countries, not currencies, and quotes four of them the other way round. Nothing
in it says when a value was published, so it is available from the day it was read; the
average of a running month is then a vintage that the finished month follows.
"""

import csv
from datetime import UTC
from io import StringIO
from typing import Any

from assets.exact import calendar_day, number_in, read_text
from assets.macro.areas import area_of_currency
from assets.macro.calendars import Span, span_from
from assets.macro.currencies import refuse_unless_money
from assets.parsed import Parsed, provenance
from warehouse.landing import Document
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


def parse(document: Document, body: bytes) -> Parsed:
    """Read rates of one cadence, which the document's header ``frequency`` names."""
    parsed = Parsed()
    try:
        cadence = _cadence(document)
        lines = _lines(body)
    except (ValueError, csv.Error) as error:
        parsed.reject(MACRO_SERIES, document, "", str(error))
        return parsed
    for position, cells in enumerate(lines, start=2):
        place = f"line {position}"
        try:
            row = _row(document, cells, cadence)
        except ValueError as error:
            parsed.reject(MACRO_SERIES, document, place, str(error))
            continue
        parsed.add(MACRO_SERIES, [provenance(document, place, "file") | row])
    return parsed


def _cadence(document: Document) -> str:
    cadence = document.headers.get("frequency", "").lower()
    if cadence not in _CADENCES:
        raise ValueError("the document's headers do not name its frequency, nor does the file")
    return cadence


def _lines(body: bytes) -> list[list[str]]:
    header, *lines = csv.reader(StringIO(read_text(body), newline=""), strict=True)
    if [*header[:2], len(header)] != ["Date", "Country", 3]:
        raise ValueError("the document is not a long CSV of H.10")
    return lines


def _row(document: Document, cells: list[str], cadence: str) -> dict[str, Any]:
    if len(cells) != 3:
        raise ValueError(f"{len(cells)} cells under 3 columns")
    span = span_from(calendar_day(cells[0]), cadence)
    observed = document.observed_at.astimezone(UTC).date()
    if span[0] > observed:
        raise ValueError(f"the period begins after it was read, on {observed}")
    if not cells[2].strip():
        raise ValueError("no value given")
    return {
        **_pair(cells[1], span),
        "available_at": observed,
        "publication": observed.isoformat(),
        "frequency": cadence,
        "period_start": span[0],
        "period_end": span[1],
        "value": number_in(cells[2]),
        "obs_status": None,
    }


def _pair(country: str, span: Span) -> dict[str, Any]:
    currency = CURRENCIES.get(country)
    if currency is None:
        raise ValueError(f"{country!r:.40}: which currency this was on each day is not known")
    refuse_unless_money(currency, span[0])
    base, quote = (currency, "USD") if currency in DOLLARS_FOR_ONE else ("USD", currency)
    area = area_of_currency(currency)
    return {
        "country": area[0] if area else None,
        "country_iso3": area[1] if area else None,
        "series": f"FX.{base}.{quote}",
        "series_type": "fx",
        "unit": f"{quote} per {base}",
        "base_period": None,
    }
