"""Country, year and unit of World Bank indicators, shared by all formats they come in."""

import re
from decimal import Decimal
from typing import Any

from assets.macro.iso_codes import Area, area_of, is_former_country
from assets.macro.periods import period_of

_YEAR = re.compile(r"[0-9]{4}")
_IN_BRACKETS = re.compile(r"\(([^()]+)\)")
_BASE = re.compile(r"\b([0-9]{4})\s*=\s*100\b")


def unit_in(name: object) -> tuple[str | None, str | None]:
    """Return the unit, and the base of an index, from the brackets in an indicator's name.

    ``GDP (current US$)`` is in current US$; ``Consumer price index (2010 = 100)`` has a base.
    """
    parts = _IN_BRACKETS.findall(name) if isinstance(name, str) else []
    unit = "; ".join(part.strip() for part in parts if part.isprintable()) or None
    base = _BASE.search(unit) if unit else None
    return unit, f"{base[1]}=100" if base else None


def observation(area: Area, year: str, value: Decimal) -> dict[str, Any]:
    """Return the columns of one value of one country and year."""
    if not _YEAR.fullmatch(year):
        raise ValueError(f"{year!r:.20} is not a year")
    (first, last), _ = period_of(year)
    return {
        "country": area[0],
        "country_iso3": area[1],
        "period_start": first,
        "period_end": last,
        "value": value,
    }


def country(*codes: object) -> Area:
    """Return the country of the first non-empty code; raise for an aggregate."""
    code = next((str(code) for code in codes if code), "")
    if not code:
        raise ValueError("no country given")
    area = area_of(code)
    # Not an aggregate: the quarantine says which of the two was left out.
    if area is None and is_former_country(code):
        raise ValueError(f"a country that is no more: {code!r:.20}")
    if area is None:
        raise ValueError(f"aggregate, not a country: {code!r:.20}")
    return area
