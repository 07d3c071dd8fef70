"""Countries as sources and readers write them: any code or name -> their codes of ISO 3166.

Codes and names in use come from ``pycountry``. The tables add codes of sources that are not ISO's
(``country_codes.csv``) and names that others write (``country_names.csv``). Case, accents and
punctuation do not matter; likeness is no match: a wrong country is worse than none.
"""

import unicodedata
from functools import cache, lru_cache
from typing import Any

import pycountry

from warehouse.shared.data_files import csv_rows

# ``pycountry`` types its lookups loosely.
_COUNTRIES: Any = pycountry.countries
# Kosovo has no ISO code; sources write these two, from the range left to users.
_KOSOVO = ("XK", "XKX")
_OTHER_CODES = {row["code"]: row["country"] for row in csv_rows(__name__, "country_codes")}
_CODE_KEYS = {2: "alpha_2", 3: "alpha_3"}
_NAME_KEYS = ("name", "common_name", "official_name")

Area = tuple[str, str]


@cache
def area_of(code: str) -> Area | None:
    """Return alpha-2 and alpha-3 of a country; None for an aggregate or an unknown code.

    ``NA`` and ``NAM`` are Namibia, never a missing value.
    """
    code = _OTHER_CODES.get(code.strip().upper(), code.strip().upper())
    if code in _KOSOVO:
        return _KOSOVO
    key = _CODE_KEYS.get(len(code))
    country = _COUNTRIES.get(**{key: code}) if key else None
    return (country.alpha_2, country.alpha_3) if country is not None else None


# Bounded: what documents write is without end.
@lru_cache(maxsize=1 << 10)
def area_named(name: str) -> Area | None:
    """Return the country of a name; None for a group of countries or an unknown name."""
    code = _codes_by_name().get(_folded(name))
    return area_of(code) if code else None


def country_code(written: str) -> str | None:
    """Return the alpha-2 code of a country by any of its codes or names; else None."""
    area = area_of(written) if len(written) <= max(_CODE_KEYS) else area_named(written)
    return area[0] if area else None


@cache
def _codes_by_name() -> dict[str, str]:
    names = {
        _folded(name): country.alpha_2
        for country in _COUNTRIES
        for key in _NAME_KEYS
        if (name := getattr(country, key, None))
    }
    others = csv_rows(__name__, "country_names")
    return names | {_folded(row["name"]): row["country"] for row in others}


def _folded(name: str) -> str:
    parts = unicodedata.normalize("NFKD", name.casefold())
    letters = (part for part in parts if not unicodedata.combining(part))
    return " ".join("".join(char if char.isalnum() else " " for char in letters).split())
