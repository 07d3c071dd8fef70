"""FRED and ALFRED observations: each value with the days on which it was the known one.

``realtime_start`` is when the public could read a value. What the answer does not say of its
series (country, unit, frequency) is in the table below.
"""

import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlsplit

from assets.exact import calendar_day, members_of, number_in, pointer, read_json
from assets.macro.areas import area_of
from assets.macro.calendars import span_from
from assets.parsed import Parsed, provenance
from warehouse.landing import Document
from warehouse.record.tables import MACRO_SERIES

FREQUENCIES = ("daily", "monthly", "quarterly", "annual")

_ID = re.compile(r"[A-Z0-9_]{1,40}")
_IN_PATH = re.compile(r"/observations/([^/]+?)(\.json)?$")


@dataclass(frozen=True)
class Series:
    """What a series of FRED is."""

    frequency: str
    series_type: str = "macro"
    country: str | None = None
    unit: str | None = None
    base_period: str | None = None


SERIES: dict[str, Series] = {
    "GDP": Series("quarterly", "gdp", "US", "Billions of Dollars, annual rate"),
    "CPIAUCSL": Series("monthly", "cpi", "US", "Index", "1982-1984=100"),
    "CPILFESL": Series("monthly", "cpi", "US", "Index", "1982-1984=100"),
    "CPALTT01PTM659N": Series("monthly", "cpi", "PT", "Growth rate same period previous year"),
    "CPALTT01ZAM659N": Series("monthly", "cpi", "ZA", "Growth rate same period previous year"),
    "CPALTT01ZAM661N": Series("monthly", "cpi", "ZA", "Index", "2015=100"),
}

# The invented series of the sample world: FIC, a country, its prices or its product.
_INVENTED = re.compile(r"FIC([A-Z]{3})(CPIM|GDPQ)[0-9]*")
_INVENTED_KINDS = {"CPIM": ("monthly", "cpi"), "GDPQ": ("quarterly", "gdp")}


def parse(document: Document, body: bytes) -> Parsed:
    """Read the vintages of one series; the series is known by the document's address."""
    parsed = Parsed()
    try:
        observations = _open(body)
        name = series_id(document.url)
        series = _described(document, name)
    except ValueError as error:
        parsed.reject(MACRO_SERIES, document, "", str(error))
        return parsed
    shared = _shared(name, series)
    for position, entry in enumerate(observations):
        place = pointer("observations", position)
        try:
            row = shared | _row(members_of(entry), series.frequency)
        except ValueError as error:
            parsed.reject(MACRO_SERIES, document, place, str(error))
            continue
        parsed.add(MACRO_SERIES, [provenance(document, place, "api") | row])
    return parsed


def series_id(url: str) -> str:
    """Take the id of a series from ``…/observations/<ID>.json`` or ``?series_id=<ID>``."""
    parts = urlsplit(url)
    asked = parse_qs(parts.query).get("series_id", [])
    in_path = _IN_PATH.search(parts.path)
    name = asked[0] if len(asked) == 1 else in_path[1] if in_path else ""
    if not _ID.fullmatch(name.upper()):
        raise ValueError("the address of the document names no series")
    return name.upper()


def _open(body: bytes) -> list[Any]:
    answer = members_of(read_json(body))
    if "error_message" in answer:
        raise ValueError(f"the source answered with an error: {answer['error_message']!r:.200}")
    if answer.get("units", "lin") != "lin":
        raise ValueError("the values are transformed (units is not lin): not as published")
    observations = answer.get("observations")
    if not isinstance(observations, list):
        raise ValueError("the document holds no observations")
    return observations


def _described(document: Document, name: str) -> Series:
    invented = _INVENTED.fullmatch(name)
    if invented:
        return Series(*_INVENTED_KINDS[invented[2]], invented[1])
    series = SERIES.get(name) or Series(document.headers.get("frequency", "").lower())
    if series.frequency not in FREQUENCIES:
        raise ValueError(f"the frequency of {name} is not known: add the series to the table")
    return series


def _shared(name: str, series: Series) -> dict[str, Any]:
    area = area_of(series.country) if series.country else None
    return {
        "country": area[0] if area else None,
        "country_iso3": area[1] if area else None,
        "series": f"FRED.{name}",
        "series_type": series.series_type,
        "frequency": series.frequency,
        "unit": series.unit,
        "base_period": series.base_period,
        "obs_status": None,
    }


def _row(entry: dict[str, Any], frequency: str) -> dict[str, Any]:
    known_from = calendar_day(entry.get("realtime_start"))
    first, last = span_from(calendar_day(entry.get("date")), frequency)
    if entry.get("value") in (".", "", None):
        raise ValueError("no value given")
    return {
        "available_at": known_from,
        "publication": known_from.isoformat(),
        "period_start": first,
        "period_end": last,
        "value": number_in(entry["value"]),
    }
