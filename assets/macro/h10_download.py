"""The Federal Reserve's own download of H.10: six lines that describe, then a line a period.

Each column says what it quotes: ``Currency:_Per_USD`` in ``ZAR`` is rand for one dollar,
``Currency:_Per_EUR`` in ``USD`` dollars for one euro. Indices are no rates, and refused.
"""

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date
from io import StringIO

from assets.macro.calendars import period_of
from assets.macro.h10_rows import rate
from assets.parsing.parsed import Parsed, provenance
from assets.parsing.strict import number_in, read_text
from warehouse.record.landing import Document
from warehouse.record.tables import MACRO_SERIES

FIRST_CELL = "Series Description"

_PER = re.compile(r"Currency:_Per_([A-Z]{3})")
_ID = re.compile(r"RXI(?:\$US)?_N\.([BMA])\.[A-Z0-9]+")
_CADENCES = {"B": "daily", "M": "monthly", "A": "annual"}
_UNKNOWN = frozenset({"", "ND", "NC", "NA"})


@dataclass(frozen=True)
class _Column:
    base: str
    quote: str
    cadence: str


def parse(document: Document, body: bytes) -> Parsed:
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
    return _Column(unit[1], told["Currency"], _CADENCES[named[1]])


def _rows(cells: list[str], place: int, column: _Column, read: date) -> Iterator[dict[str, object]]:
    if place >= len(cells):
        raise ValueError("the line ends before this column")
    if cells[place].strip() in _UNKNOWN:
        return
    span, cadence = period_of(cells[0].strip())
    if cadence != column.cadence:
        raise ValueError(f"{cells[0]!r:.40} is no {column.cadence} period")
    yield rate(column.base, column.quote, cadence, span, read) | {"value": number_in(cells[place])}
