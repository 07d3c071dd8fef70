"""SDMX-CSV 1.0 and 2.0 of any source, and the ECB's csvdata: every line an observation.

What an observation speaks of is said in ``sdmx_flows``.
"""

import csv
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date
from io import StringIO
from typing import Any

from assets.macro.iso_codes import Area, area_of, area_of_currency, refuse_unless_money
from assets.macro.periods import Span, moment_of, period_of
from assets.parsing.parsed import Parsed, provenance
from assets.parsing.strict import number_in, read_text, text_of
from warehouse.record.landing import Document
from warehouse.record.tables import MACRO_SERIES

Line = dict[str, str]


@dataclass(frozen=True)
class Rates:
    """Where a source says which money is for one of which, and of what kind a rate must be."""

    quote: str
    base: str
    kind: dict[str, str]
    always: str | None = None


# The ECB and whoever took over its structure; Norges Bank and its like.
RATES_BY_COLUMNS = (
    Rates("CURRENCY", "CURRENCY_DENOM", {"EXR_TYPE": "SP00", "EXR_SUFFIX": "A"}),
    Rates("QUOTE_CUR", "BASE_CUR", {"TENOR": "SP"}),
)
# The BIS quotes everything for one US dollar; A is the average of a period.
RATES_BY_FLOW = {"WS_XRU": Rates("CURRENCY", "", {"COLLECTION": "A"}, always="USD")}

# Flows of consumer prices of the ECB, Eurostat, the IMF, the OECD and the BIS.
PRICE_FLOWS = frozenset(
    {
        "ICP",
        "HICP",
        "CPI",
        "PRC_HICP_MIDX",
        "PRC_HICP_MANR",
        "PRC_HICP_MMOR",
        "PRC_HICP_AIND",
        "DSD_PRICES@DF_PRICES_ALL",
        "WS_LONG_CPI",
    }
)

_FLOW = re.compile(r"(?:.*[:,/])?([A-Za-z0-9_@$-]+)(?:\(.*\))?")
_AREAS = ("REF_AREA", "COUNTRY", "GEO", "LOCATION")
_UNITS = ("UNIT_MEASURE", "UNIT")
_BASES = ("UNIT_INDEX_BASE", "BASE_PER", "BASE_PERIOD")
_POWERS = ("UNIT_MULT", "UNIT_MULTIPLIER", "SCALE")
_POWER = re.compile(r"-?[0-9]{1,2}")


def subject(document: Document, line: Line, key: str, span: Span) -> dict[str, Any]:
    """Give the columns that say what a line is about; ``key`` are its dimensions."""
    for rates in RATES_BY_COLUMNS:
        if rates.quote in line and rates.base in line:
            return _rate(line, rates, span)
    flow = flow_of(document, line)
    if flow in RATES_BY_FLOW:
        return _rate(line, RATES_BY_FLOW[flow], span)
    if flow in PRICE_FLOWS:
        return _price(line, line.get("KEY") or f"{flow}.{key}")
    raise ValueError(f"flow {flow!r:.40} is neither exchange rates nor consumer prices")


def known_on_its_day(document: Document, line: Line) -> bool:
    """Say whether a rate is out on its own day: the ECB's is, of others nothing says so."""
    return "CURRENCY_DENOM" in line and flow_of(document, line) == "EXR"


def flow_of(document: Document, line: Line) -> str:
    """Name the flow: the line says it, its key begins with it, or the address has it."""
    named = line.get("DATAFLOW") or line.get("STRUCTURE_ID") or line.get("KEY", "").split(".")[0]
    if not named:
        asked = re.search(r"/data/([^/?]+)", document.url)
        named = asked[1] if asked else ""
    found = _FLOW.fullmatch(named)
    return found[1] if found else named


def _rate(line: Line, rates: Rates, span: Span) -> dict[str, Any]:
    quote, base = line.get(rates.quote, ""), rates.always or line[rates.base]
    refuse_unless_money(quote, span[0])
    refuse_unless_money(base, span[0])
    kind = {name: line.get(name, "") for name in rates.kind}
    if kind != rates.kind:
        stated = ".".join(kind.values())
        raise ValueError(f"{stated} is no spot rate or its average: not FX.{base}.{quote}")
    if quote == base or _power(line):
        raise ValueError(f"10^{_power(line)} is the unit: not a rate of {quote} for one {base}")
    return {
        **_place(area_of_currency(quote)),
        "series": f"FX.{base}.{quote}",
        "series_type": "fx",
        "unit": f"{quote} per {base}",
        "base_period": None,
    }


def _price(line: Line, key: str) -> dict[str, Any]:
    unit, power = _first(line, _UNITS), _power(line)
    return {
        **_place(area_of(_first(line, _AREAS) or "")),
        "series": text_of(key),
        "series_type": "cpi",
        "unit": f"10^{power} {unit or ''}".strip() if power else unit,
        "base_period": _first(line, _BASES),
    }


def _power(line: Line) -> int:
    """Give the power of ten of the unit; a word in its place could be any."""
    stated = _first(line, _POWERS)
    if stated is None:
        return 0
    if not _POWER.fullmatch(stated):
        raise ValueError(f"{stated!r:.20} is not a power of ten: the unit is not known")
    return int(stated)


def _first(line: Line, names: tuple[str, ...]) -> str | None:
    return next((line[name] for name in names if line.get(name)), None)


def _place(area: Area | None) -> dict[str, Any]:
    return {"country": area[0] if area else None, "country_iso3": area[1] if area else None}


FREQUENCIES = {"D": "daily", "B": "daily", "M": "monthly", "Q": "quarterly", "A": "annual"}

_MARKS = (",", ";", "\t")
_NO_DIMENSIONS = frozenset(
    {"DATAFLOW", "STRUCTURE", "STRUCTURE_ID", "STRUCTURE_NAME", "ACTION", "KEY", "LAST UPDATE"}
)
_UNKNOWN = frozenset({"", "NaN", "nan", "NA", "N/A", "-", ":", ".", ".."})
_DELETE = frozenset({"D", "DELETE"})
_GIVE = frozenset({"", "I", "A", "M", "R", "INFORMATION", "APPEND", "MERGE", "REPLACE"})
# ``FREQ``, ``freq``, and never ``Frequency``, the name that may stand beside its id.
_ID = re.compile(r"[A-Z0-9_@$-]+|[a-z0-9_@$-]+")

Place = tuple[str, dict[str, Any]]


def parse(document: Document, body: bytes) -> Parsed:
    """Read every observation; each line is a row or a rejection with its number."""
    parsed = Parsed()
    try:
        header, lines = _lines(body)
    except (ValueError, csv.Error) as error:
        parsed.reject(MACRO_SERIES, document, "", str(error))
        return parsed
    found: list[Place] = []
    for number, cells in lines:
        place = f"line {number}"
        try:
            if len(cells) != len(header):
                raise ValueError("the line has more or fewer cells than the header")
            found.append((place, _row(document, dict(zip(header, cells, strict=True)))))
        except ValueError as error:
            parsed.reject(MACRO_SERIES, document, place, str(error))
    acted = "ACTION" in header
    for place, row in _standing(parsed, document, found, acted):
        parsed.add(MACRO_SERIES, [provenance(document, place, "api") | row])
    return parsed


def _lines(body: bytes) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """Read the lines under their columns; ``ID: name`` is read as its id."""
    text, header = read_text(body), [""]
    for mark in _MARKS:
        rows = csv.reader(StringIO(text, newline=""), delimiter=mark, strict=True)
        with suppress(csv.Error):  # a quote that another mark than this one follows
            header = _header(next(rows))
        if "TIME_PERIOD" in header and "OBS_VALUE" in header:
            break
    else:
        raise ValueError("the document is not SDMX-CSV: no TIME_PERIOD and OBS_VALUE")
    if len(set(header)) != len(header):
        raise ValueError("the document is not SDMX-CSV: a column stands twice in its header")
    cells = ((rows.line_num, [cell.partition(": ")[0].strip() for cell in row]) for row in rows)
    return header, [(number, row) for number, row in cells if row]


def _header(cells: list[str]) -> list[str]:
    """Give the ids of the columns in capitals; a name beside its id stays as it is written."""
    names = [cell.partition(":")[0].strip() for cell in cells]
    return [name.upper() if _ID.fullmatch(name) else name for name in names]


def _row(document: Document, line: Line) -> dict[str, Any]:
    span, frequency = _period(line)
    action = line.get("ACTION", "").upper()
    if action not in _DELETE | _GIVE:
        raise ValueError(f"{action!r:.20} is no action of SDMX")
    deleted = action in _DELETE
    if not deleted and line["OBS_VALUE"] in _UNKNOWN:
        raise ValueError("no value given")
    return {
        **subject(document, line, _key(line), span),
        **_published(document, line, span, frequency, deleted),
        "frequency": frequency,
        "period_start": span[0],
        "period_end": span[1],
        "value": None if deleted else number_in(line["OBS_VALUE"]),
        "obs_status": line.get("OBS_STATUS") or line.get("OBS_FLAG") or None,
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


def _key(line: Line) -> str:
    """Write the dimensions of a series, which stand before the time."""
    columns = list(line)[: list(line).index("TIME_PERIOD")]
    ids = (name for name in columns if name not in _NO_DIMENSIONS and _ID.fullmatch(name))
    return ".".join(line[name] for name in ids)


def _published(
    document: Document, line: Line, span: Span, frequency: str, deleted: bool
) -> dict[str, Any]:
    """Give the day a value could be read: its validity, its own day, or the day we read it."""
    stamp = line.get("VALID_FROM") or (line.get("VALID_TO") if deleted else None)
    if stamp:
        moment = moment_of(stamp)
        # What is taken back at a moment was taken back before what is given at that moment.
        action = "delete" if deleted else "replace"
        return {
            "available_at": moment.date(),
            "publication": f"{moment.isoformat()} {action}",
        }
    observed = document.observed_at.astimezone(UTC).date()
    own = frequency == "daily" and not deleted and known_on_its_day(document, line)
    day = _unstamped(observed, span, own)
    return {"available_at": day, "publication": day.isoformat()}


def _unstamped(observed: date, span: Span, own: bool) -> date:
    if span[0] > observed:
        raise ValueError(f"the period begins after it was read, on {observed}")
    return span[1] if own else observed


def _standing(
    parsed: Parsed, document: Document, found: list[Place], acted: bool
) -> Iterator[Place]:
    """Give what stands of each observation at each moment; the rest is rejected with words.

    The last of several actions stands. Where there are none, two values of one observation
    mean that its key does not tell two series apart.
    """
    moments: dict[tuple[Any, ...], list[Place]] = {}
    for each in found:
        row = each[1]
        identity = [row[name] for name in MACRO_SERIES.identity if name != "source"]
        moments.setdefault((*identity, row["publication"].split(" ")[0]), []).append(each)
    for group in moments.values():
        last = _content(max(enumerate(group), key=_order)[1])
        agreed = all(_content(each) == last for each in group)
        for each in group:
            if agreed or (acted and _content(each) == last):
                yield each
            else:
                reason = (
                    "another action at the same moment stands in its place"
                    if acted
                    else "the file gives two values of one observation: neither is believed"
                )
                parsed.reject(MACRO_SERIES, document, each[0], reason)


def _order(numbered: tuple[int, Place]) -> tuple[str, int]:
    """Order actions of one moment: what was taken back, then what was given, as they stand."""
    position, (_, row) = numbered
    return row["publication"], position


def _content(place: Place) -> tuple[Any, ...]:
    row = place[1]
    return row["withdrawn"], row["value"], row["obs_status"]
