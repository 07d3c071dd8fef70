"""SDMX-CSV of any source, and the ECB's csvdata: exchange rates and consumer prices.

A rate is kept as the source quotes it: the ECB gives units of ``CURRENCY`` for one
``CURRENCY_DENOM``, which is ``FX.<denominator>.<currency>``. No cross rate is made here.
"""

import csv
import re
from datetime import UTC, date
from io import StringIO
from typing import Any

from assets.exact import number_in, read_text, text_of
from assets.macro.areas import Area, area_of, area_of_currency
from assets.macro.calendars import Span, moment_of, period_of
from assets.macro.currencies import refuse_unless_money
from assets.parsed import Parsed, provenance
from warehouse.landing import Document
from warehouse.record.tables import MACRO_SERIES

# Flows of consumer prices; exchange rates are known by their two currencies.
PRICE_FLOWS = frozenset({"ICP", "CPI", "HICP", "PRC_HICP_MIDX", "PRC_HICP_MANR"})

FREQUENCIES = {"D": "daily", "B": "daily", "M": "monthly", "Q": "quarterly", "A": "annual"}

_FLOW = re.compile(r"(?:.*[:,/])?([A-Za-z0-9_]+)(?:\(.*\))?")
_UNKNOWN = frozenset({"", "NaN", "nan", "NA", "N/A", "-"})
_DELETE = frozenset({"delete", "d"})

Line = dict[str, str]


def parse(document: Document, body: bytes) -> Parsed:
    """Read every observation; each line is a row or a rejection with its number."""
    parsed = Parsed()
    try:
        lines = _lines(body)
    except (ValueError, csv.Error) as error:
        parsed.reject(MACRO_SERIES, document, "", str(error))
        return parsed
    for position, line in lines:
        place = f"line {position}"
        try:
            if line is None:
                raise ValueError("the line has more or fewer cells than the header")
            row = _row(document, line)
        except ValueError as error:
            parsed.reject(MACRO_SERIES, document, place, str(error))
            continue
        parsed.add(MACRO_SERIES, [provenance(document, place, "api") | row])
    return parsed


def _lines(body: bytes) -> list[tuple[int, Line | None]]:
    """Read the lines under their columns; ``ID: name`` is read as its id."""
    text = read_text(body)
    first = text.split("\n", 1)[0]
    mark = ";" if ";" in first and "," not in first else ","
    rows = csv.reader(StringIO(text, newline=""), delimiter=mark, strict=True)
    header = [name.partition(":")[0].strip() for name in next(rows)]
    if "TIME_PERIOD" not in header or "OBS_VALUE" not in header:
        raise ValueError("the document is not SDMX-CSV: no TIME_PERIOD and OBS_VALUE")
    if len(set(header)) != len(header):
        raise ValueError("the document is not SDMX-CSV: a column stands twice in its header")
    lines: list[tuple[int, Line | None]] = []
    for cells in rows:
        fits = len(cells) == len(header)
        values = [cell.partition(": ")[0].strip() for cell in cells]
        lines.append((rows.line_num, dict(zip(header, values, strict=True)) if fits else None))
    return lines


def _row(document: Document, line: Line) -> dict[str, Any]:
    span, frequency = _period(line)
    deleted = line.get("ACTION", "").lower() in _DELETE
    if not deleted and line["OBS_VALUE"] in _UNKNOWN:
        raise ValueError("no value given")
    what = _rate(line, span) if _is_rate(line) else _price(document, line)
    return {
        **what,
        **_published(document, line, span, frequency, deleted),
        "frequency": frequency,
        "period_start": span[0],
        "period_end": span[1],
        "value": None if deleted else number_in(line["OBS_VALUE"]),
        "obs_status": line.get("OBS_STATUS") or None,
        "withdrawn": deleted,
    }


def _period(line: Line) -> tuple[Span, str]:
    code = line.get("FREQ") or line.get("FREQUENCY", "")
    frequency = FREQUENCIES.get(code)
    if frequency is None:
        raise ValueError(f"series of frequency {code!r:.20} are not held")
    span, cadence = period_of(line["TIME_PERIOD"])
    if cadence != frequency:
        raise ValueError(f"{line['TIME_PERIOD']} is no {frequency} period")
    return span, frequency


def _is_rate(line: Line) -> bool:
    return "CURRENCY" in line and "CURRENCY_DENOM" in line


def _rate(line: Line, span: Span) -> dict[str, Any]:
    quote, base = line["CURRENCY"], line["CURRENCY_DENOM"]
    refuse_unless_money(quote, span[0])
    refuse_unless_money(base, span[0])
    kind = line.get("EXR_TYPE", "SP00"), line.get("EXR_SUFFIX", "A")
    if kind != ("SP00", "A"):
        raise ValueError(f"{'.'.join(kind)} is no spot rate or its average: not FX.{base}.{quote}")
    if line.get("UNIT_MULT", "") not in ("", "0"):
        raise ValueError(f"UNIT_MULT {line['UNIT_MULT']!r:.20}: not a rate for one {base}")
    return {
        **_place(area_of_currency(quote)),
        "series": f"FX.{base}.{quote}",
        "series_type": "fx",
        "unit": f"{quote} per {base}",
        "base_period": None,
    }


def _price(document: Document, line: Line) -> dict[str, Any]:
    flow = _flow(document, line)
    if flow not in PRICE_FLOWS:
        raise ValueError(f"flow {flow!r:.40} is neither exchange rates nor consumer prices")
    area = next((line[name] for name in ("REF_AREA", "COUNTRY", "GEO") if line.get(name)), "")
    unit = line.get("UNIT_MEASURE") or line.get("UNIT") or None
    power = line.get("UNIT_MULT", "")
    return {
        **_place(area_of(area)),
        "series": text_of(line.get("KEY") or _key(flow, line)),
        "series_type": "cpi",
        "unit": f"10^{power} {unit or ''}".strip() if power not in ("", "0") else unit,
        "base_period": line.get("UNIT_INDEX_BASE") or line.get("BASE_PER") or None,
    }


def _flow(document: Document, line: Line) -> str:
    """Name the flow: the line says it, its key begins with it, or the address has it."""
    named = line.get("DATAFLOW") or line.get("STRUCTURE_ID") or line.get("KEY", "").split(".")[0]
    if not named:
        asked = re.search(r"/data/([^/?]+)", document.url)
        named = asked[1] if asked else ""
    found = _FLOW.fullmatch(named)
    return found[1] if found else named


def _key(flow: str, line: Line) -> str:
    """Write the key of a series: its flow, then its dimensions, which stand before the time."""
    columns = list(line)[: list(line).index("TIME_PERIOD")]
    marks = ("DATAFLOW", "STRUCTURE", "STRUCTURE_ID", "STRUCTURE_NAME", "ACTION", "KEY")
    return ".".join([flow, *(line[name] for name in columns if name not in marks)])


def _place(area: Area | None) -> dict[str, Any]:
    return {"country": area[0] if area else None, "country_iso3": area[1] if area else None}


def _published(
    document: Document, line: Line, span: Span, frequency: str, deleted: bool
) -> dict[str, Any]:
    """Give the day a value could be read: its validity, its own day, or the day we read it."""
    stamp = line.get("VALID_FROM") or (line.get("VALID_TO") if deleted else None)
    if stamp:
        moment = moment_of(stamp)
        # A value is replaced by taking it back and giving another at the same moment.
        action = "delete" if deleted else "replace"
        return {
            "available_at": moment.date(),
            "publication": f"{moment.isoformat()} {action}",
        }
    day = _unstamped(document.observed_at.astimezone(UTC).date(), span, frequency, deleted)
    return {"available_at": day, "publication": day.isoformat()}


def _unstamped(observed: date, span: Span, frequency: str, deleted: bool) -> date:
    if span[0] > observed:
        raise ValueError(f"the period begins after it was read, on {observed}")
    return span[1] if frequency == "daily" and not deleted else observed
