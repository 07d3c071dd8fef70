"""What a line of SDMX-CSV speaks of: an exchange rate, or a consumer price index.

A rate is kept as the source quotes it: the ECB gives units of ``CURRENCY`` for one
``CURRENCY_DENOM``, which is ``FX.<denominator>.<currency>``. No cross rate is made here. Anything
else is refused: a wrong unit or country is worse than a line in the quarantine.
"""

import re
from dataclasses import dataclass
from typing import Any

from assets.macro.areas import Area, area_of, area_of_currency
from assets.macro.calendars import Span
from assets.macro.currencies import refuse_unless_money
from assets.parsing.strict import text_of
from warehouse.record.landing import Document

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
