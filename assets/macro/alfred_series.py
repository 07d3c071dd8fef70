"""What a series of FRED is: its country, its cadence, and its unit on each day.

Observations say none of it. FRED describes a series in an answer of its own, with the days on which
each description held: a new base year is another unit from a day on, and no restatement. Who
fetched the observations puts those descriptions into the header ``series-versions``; the table
below knows the rest of a few series, and their units where no description came.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pycountry

from assets.macro.areas import Area, area_of
from assets.parsing.strict import members_of, read_json

VERSIONS = "series-versions"

_FREQUENCIES = {"D": "daily", "M": "monthly", "Q": "quarterly", "A": "annual"}
_MONTH = "(?:Q[1-4]|(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*)"
_BASE = re.compile(rf"(.*?)[\s,(]*((?:{_MONTH} )?[0-9]{{4}}(?:-[0-9]{{2,4}})?\s*=\s*100)\)?")
_ABOUT = re.compile(r".*\bfor (?:the )?(.+)")
_TYPES = {"consumer price ind": "cpi", "gross domestic product": "gdp"}
_OPEN = "9999-12-31"
# ``pycountry`` types its lookups loosely.
_COUNTRIES: Any = pycountry.countries


@dataclass(frozen=True)
class Series:
    """What a series is from a day on."""

    frequency: str
    series_type: str = "macro"
    country: str | None = None
    unit: str | None = None
    base_period: str | None = None
    since: str = "0001-01-01"


SERIES: dict[str, Series] = {
    "GDP": Series("quarterly", "gdp", "US", "Billions of Dollars"),
    "CPIAUCSL": Series("monthly", "cpi", "US", "Index", "1982-1984=100"),
    "CPILFESL": Series("monthly", "cpi", "US", "Index", "1982-1984=100"),
    "CPALTT01PTM659N": Series("monthly", "cpi", "PT", "Growth rate same period previous year"),
    "CPALTT01ZAM659N": Series("monthly", "cpi", "ZA", "Growth rate same period previous year"),
    "CPALTT01ZAM661N": Series("monthly", "cpi", "ZA", "Index", "2015=100"),
}


def versions_of(name: str, headers: Mapping[str, str]) -> list[Series]:
    """Give what a series was, one description after the other; at least one."""
    given = {key.lower(): value for key, value in headers.items()}
    told = [_version(name, each) for each in _told(given)]
    if not told:
        told = [_version(name, given)]
    for each in told:
        if not each.frequency:
            raise ValueError(f"the frequency of {name} is not known: add the series to the table")
        if each.frequency not in _FREQUENCIES.values():
            raise ValueError(f"{name}: series of frequency {each.frequency!r:.40} are not held")
    return sorted(told, key=lambda each: each.since)


def on_day(versions: list[Series], day: str) -> Series:
    """Give what a series was on a day; before the first description, what that one says."""
    return next((each for each in reversed(versions) if each.since <= day), versions[0])


def within(versions: list[Series], start: str, end: str) -> list[tuple[str, Series]]:
    """Cut an interval where the unit changes: the days from which each unit held."""
    cuts = [(start, on_day(versions, start))]
    for each in versions:
        unit = (cuts[-1][1].unit, cuts[-1][1].base_period)
        if start < each.since <= (end or _OPEN) and (each.unit, each.base_period) != unit:
            cuts.append((each.since, each))
    return cuts


def unit_and_base(units: str) -> tuple[str | None, str | None]:
    """Take the base of an index from its unit: ``Index 2017=100`` is an index with a base."""
    found = _BASE.fullmatch(units.strip())
    if not found:
        return units.strip() or None, None
    base = re.sub(r"\s*=\s*", "=", found[2])
    # FRED has written both 1982-84 and 1982-1984, and means one base.
    return found[1].strip() or None, re.sub(
        r"\b([0-9]{2})([0-9]{2})-([0-9]{2})=", r"\1\2-\1\3=", base
    )


def country_in(title: str) -> Area | None:
    """Give the country at the end of a title, as FRED writes it: ``… for South Africa``."""
    found = _ABOUT.fullmatch(title.strip())
    if not found:
        return None
    for key in ("name", "common_name", "official_name"):
        country = _COUNTRIES.get(**{key: found[1]})
        if country is not None:
            return area_of(country.alpha_2)
    return None


def _told(headers: Mapping[str, str]) -> list[dict[str, str]]:
    if VERSIONS not in headers:
        return []
    listed = read_json(headers[VERSIONS].encode())
    if not isinstance(listed, list):
        raise ValueError(f"the header {VERSIONS} is not a list of descriptions")
    texts = (members_of(each).items() for each in listed)
    return [{key: value for key, value in each if isinstance(value, str)} for each in texts]


def _version(name: str, told: Mapping[str, str]) -> Series:
    known = SERIES.get(name)
    short = _FREQUENCIES.get(told.get("frequency_short", ""), told.get("frequency", "").lower())
    unit, base = unit_and_base(told.get("units", ""))
    title = told.get("title", "")
    area = country_in(title)
    stated = Series(
        short,
        _type_in(title),
        area[0] if area else None,
        unit,
        base,
        told.get("realtime_start", ""),
    )
    if known is None:
        return stated
    unit, base = (unit, base) if unit or base else (known.unit, known.base_period)
    return Series(known.frequency, known.series_type, known.country, unit, base, stated.since)


def _type_in(title: str) -> str:
    lower = title.lower()
    return next((kind for words, kind in _TYPES.items() if words in lower), "macro")
