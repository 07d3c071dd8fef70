"""World Bank indicators as long CSV files: ``Country Code, Year, Value``, a file a vintage.

The file names neither its indicator nor its day; the document's headers ``indicator``,
``unit``, ``base-period`` and ``vintage`` say them, as whoever fetched it knew.
"""

import csv
from io import StringIO
from typing import Any

from assets.exact import calendar_day, number_in, read_text, text_of
from assets.macro.worldbank import country, observation
from assets.parsed import Parsed, provenance
from warehouse.landing import Document
from warehouse.record.tables import MACRO_ANNUAL

_COUNTRY, _YEAR = "Country Code", "Year"


def parse(document: Document, body: bytes) -> Parsed:
    """Read one vintage of one indicator; each line is a row or a rejection."""
    parsed = Parsed()
    try:
        shared = _shared(document)
        lines = list(csv.reader(StringIO(read_text(body), newline=""), strict=True))
        value_column = _value_column(lines[0])
    except (ValueError, csv.Error) as error:
        parsed.reject(MACRO_ANNUAL, document, "", str(error))
        return parsed
    for position, cells in enumerate(lines[1:], start=2):
        place = f"line {position}"
        try:
            row = _row(lines[0], cells, value_column)
        except ValueError as error:
            parsed.reject(MACRO_ANNUAL, document, place, str(error))
            continue
        parsed.add(MACRO_ANNUAL, [provenance(document, place, "file") | shared | row])
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
    """Find the one column that is neither the country nor the year."""
    known = (_COUNTRY, _YEAR, "Country Name", "Country")
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
    return observation(area, line[_YEAR].strip(), number_in(line[value_column]))
