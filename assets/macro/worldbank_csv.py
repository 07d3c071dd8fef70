"""World Bank indicators as long CSV files: ``Country Code, Year, Value``, a file a vintage.

The file does not name its day, and seldom its indicator; the document's headers ``indicator``,
``unit``, ``base-period`` and ``vintage`` say them, as whoever fetched it knew.
"""

import csv
import re
from io import StringIO
from typing import Any

from assets.macro.worldbank_values import country, observation
from assets.parsing.parsed import Parsed, provenance
from assets.parsing.strict import calendar_day, number_in, read_text, text_of
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


def parse(document: Document, body: bytes) -> Parsed:
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
