"""Lines of the CSV files of the IMF's data portal, wide or long, in words or in codes.

``DATASET`` has the flow with the version of its structure, ``SERIES_CODE`` the codes of all
dimensions, the country first. The other columns name the same things in words, which the IMF
rewrites: so the key of a series is made of codes, and a new version of the structure is no new
series. ``sdmx_csv`` reads the file and dates its values.
"""

import re
from typing import Any

from assets.macro.iso_codes import Area, area_named, area_of
from assets.parsing.strict import printable_text
from warehouse.tables.macro import SeriesType

COLUMNS = frozenset({"DATASET", "SERIES_CODE"})

_TYPES: dict[str, SeriesType] = {"CPI": "cpi", "ER": "fx", "ANEA": "gdp", "QNEA": "gdp"}
_UNITS = ("UNIT_MEASURE", "UNIT", "TYPE_OF_TRANSFORMATION")
# Flows in which no column states the unit, which all their series share.
_UNITS_OF_FLOWS = {"MFS_IR": "Percent per annum"}
_BASES = ("BASE_PERIOD", "REFERENCE_PERIOD")
_SCALES = frozenset({"Hundreds", "Thousands", "Millions", "Billions", "Trillions"})
_NO_SCALE = frozenset({"", "Units", "0"})
_POWER = re.compile(r"-?[0-9]{1,2}")


def portal_key(line: dict[str, str], flow: str) -> str:
    """Return the key of the series of a line."""
    return f"{flow}.{line['SERIES_CODE']}"


def portal_subject(line: dict[str, str], flow: str) -> dict[str, Any]:
    """Return the columns that say what a line is about; raise where it does not say it clearly."""
    measure = line.get("OBS_MEASURE", "")
    if measure not in ("", "OBS_VALUE"):
        raise ValueError(f"{measure!r:.40} is no measure of values")
    if not line["SERIES_CODE"]:
        raise ValueError("no code of a series given")
    # There the latest actual year differs from country to country, and these files leave it out.
    if flow.startswith("WEO"):
        raise ValueError(f"flow {flow}: the file does not tell estimates from actuals")
    area = _area(line)
    unit = _stated(line, _UNITS) or _UNITS_OF_FLOWS.get(flow)
    return {
        "country": area[0] if area else None,
        "country_iso3": area[1] if area else None,
        "series": printable_text(portal_key(line, flow)),
        "series_type": _TYPES.get(flow, "macro"),
        "unit": _scaled(unit, line.get("SCALE", "")),
        "base_period": _stated(line, _BASES),
    }


def _area(line: dict[str, str]) -> Area | None:
    """Return the country by its code, or by its name; raise if they are of two."""
    area = area_of(line["SERIES_CODE"].partition(".")[0])
    name = line.get("COUNTRY", "")
    named = area_named(name) or area_of(name)
    if area and named and named != area:
        raise ValueError(f"{line['SERIES_CODE']!r:.60} is a series of another country than {name}")
    # The IMF's code of Kosovo is its own.
    return area or named


def _scaled(unit: str | None, scale: str) -> str | None:
    """Return the unit with its scale, in the word of the file."""
    if scale in _NO_SCALE:
        return unit
    if _POWER.fullmatch(scale):
        return f"10^{int(scale)} {unit or ''}".strip()
    if scale not in _SCALES:
        raise ValueError(f"{scale!r:.20} is no scale that we know: the unit is not known")
    return f"{unit}, {scale}" if unit else scale


def _stated(line: dict[str, str], names: tuple[str, ...]) -> str | None:
    return next((line[name] for name in names if line.get(name)), None)
