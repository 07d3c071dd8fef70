"""ISO codes as sources write them: countries (ISO 3166) and currencies (ISO 4217).

Codes and names in use come from ``pycountry``. The tables add the few codes of sources that are not
ISO's, names that the IMF, the OECD and the World Bank write otherwise (``country_names.csv``), and
the currencies that were withdrawn (``ended_currencies.csv``).
"""

from datetime import date
from functools import cache, lru_cache
from typing import Any

import pycountry

from warehouse.shared.data_files import csv_rows

# ``pycountry`` types its lookups loosely.
_COUNTRIES: Any = pycountry.countries
_FORMER: Any = pycountry.historic_countries

# Codes of the World Bank that are not or were not those of ISO, and two of Eurostat.
_OTHER_CODES = {row["code"]: row["country"] for row in csv_rows(__name__, "country_codes")}
_OTHER_NAMES = {row["name"]: row["country"] for row in csv_rows(__name__, "country_names")}

# Kosovo has no ISO code; sources write these two, from the range left to users.
_KOSOVO = ("XK", "XKX")

Area = tuple[str, str]


@cache
def area_of(code: str) -> Area | None:
    """Return alpha-2 and alpha-3 of a country; None for an aggregate or an unknown code.

    ``NA`` and ``NAM`` are Namibia, never a missing value.
    """
    code = _OTHER_CODES.get(code.strip().upper(), code.strip().upper())
    if code in _KOSOVO:
        return _KOSOVO
    country = None
    if len(code) == 2:
        country = _COUNTRIES.get(alpha_2=code)
    elif len(code) == 3:
        country = _COUNTRIES.get(alpha_3=code)
    return (country.alpha_2, country.alpha_3) if country is not None else None


def area_named(name: str) -> Area | None:
    """Return the country of a name; None for a group of countries or an unknown name."""
    plain = " ".join(name.replace("\u2019", "'").split())
    other = _OTHER_NAMES.get(plain)
    return area_of(other) if other else area_of_name(plain)


@cache
def area_of_name(name: str) -> Area | None:
    """Return the country that ISO calls by a name: its short, common or official one.

    No match by likeness: a wrong country is worse than none.
    """
    for key in ("name", "common_name", "official_name"):
        country = _COUNTRIES.get(**{key: name})
        if country is not None:
            return area_of(country.alpha_2)
    return None


# Bounded: what documents write is without end.
@lru_cache(maxsize=1 << 10)
def country_code(written: str) -> str | None:
    """Return the alpha-2 code of a country by any of its codes or its exact name; else None."""
    try:
        return str(_COUNTRIES.lookup(written).alpha_2)
    except LookupError:
        return None


@cache
def is_former_country(code: str) -> bool:
    """Return whether an alpha-3 code is that of a country that no longer exists."""
    return _FORMER.get(alpha_3=code.strip().upper()) is not None


def area_of_currency(code: str) -> Area | None:
    """Return the country of a currency: ISO 4217 codes begin with the country's ISO 3166 code.

    Currencies of several countries (EUR, XOF) have none.
    """
    # EU and XO are codes of no country, so EUR and XOF have none without being listed.
    return area_of(code[:2])


# The last day of each withdrawn code. Where the currency ended before ISO took its code
# off the list, the earlier day counts: ZWL was replaced by the ZiG on 5 April 2024 and left
# the list on 31 August, and what was quoted as ZWL in between was the ZiG.
ENDED: dict[str, date] = {
    row["currency"]: date.fromisoformat(row["last_day"])
    for row in csv_rows(__name__, "ended_currencies")
}


@cache
def is_currency(code: str) -> bool:
    """Return whether a code is a currency, today or in the past."""
    return code in ENDED or pycountry.currencies.get(alpha_3=code) is not None


def require_currency(code: str, on: date) -> None:
    """Raise ValueError unless a code was a currency on that day."""
    if not is_currency(code):
        raise ValueError(f"{code!r:.20} is not an ISO 4217 code")
    ended = ENDED.get(code)
    if ended is not None and on > ended:
        raise ValueError(f"{code} was withdrawn after {ended}: no rate of {on} can be in it")
