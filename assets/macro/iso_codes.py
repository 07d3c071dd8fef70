"""ISO codes as sources write them: countries (ISO 3166) and currencies (ISO 4217).

The codes in use come from ``pycountry``. The tables add the few codes of sources that are not
ISO's, and the currencies that were withdrawn.
"""

from datetime import date
from functools import cache
from typing import Any

import pycountry

# ``pycountry`` types its lookups loosely.
_COUNTRIES: Any = pycountry.countries
_FORMER: Any = pycountry.historic_countries

# Codes of the World Bank that are not or were not those of ISO, and two of Eurostat.
_OTHER_CODES = {
    "EL": "GR",
    "UK": "GB",
    "ADO": "AND",
    "IMY": "IMN",
    "KSV": "XKX",
    "ROM": "ROU",
    "TMP": "TLS",
    "WBG": "PSE",
    "ZAR": "COD",
}

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
    code: date.fromisoformat(day)
    for code, day in (
        ("AOR", "1999-11-30"),
        ("ATS", "2002-02-28"),
        ("AZM", "2005-12-31"),
        ("BEF", "2002-02-28"),
        ("BGL", "1999-07-04"),
        ("BGN", "2025-12-31"),
        ("BYR", "2016-12-31"),
        ("CUC", "2020-12-31"),
        ("CYP", "2007-12-31"),
        ("DEM", "2001-12-31"),
        ("EEK", "2010-12-31"),
        ("ESP", "2002-02-28"),
        ("FIM", "2002-02-28"),
        ("FRF", "2002-02-17"),
        ("GHC", "2007-12-31"),
        ("GRD", "2002-02-28"),
        ("HRK", "2022-12-31"),
        ("IEP", "2002-02-09"),
        ("ITL", "2002-02-28"),
        ("LTL", "2014-12-31"),
        ("LUF", "2002-02-28"),
        ("LVL", "2013-12-31"),
        ("MGF", "2004-12-31"),
        ("MRO", "2018-06-30"),
        ("MTL", "2007-12-31"),
        ("MZM", "2006-12-31"),
        ("NLG", "2002-01-28"),
        ("PTE", "2002-02-28"),
        ("ROL", "2005-06-30"),
        ("SDD", "2007-06-30"),
        ("SIT", "2006-12-31"),
        ("SKK", "2008-12-31"),
        ("SLL", "2024-03-31"),
        ("STD", "2018-06-30"),
        ("TMM", "2008-12-31"),
        ("TRL", "2005-12-31"),
        ("VEB", "2007-12-31"),
        ("VEF", "2018-08-19"),
        ("ZAL", "1995-03-12"),
        ("ZMK", "2012-12-31"),
        ("ZWD", "2006-08-21"),
        ("ZWL", "2024-04-05"),
        ("ZWN", "2008-07-31"),
        ("ZWR", "2009-02-02"),
        ("ANG", "2025-06-30"),
    )
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


# Countries as international organisations call them in words.
#
# ISO's own names come from ``pycountry``; the table adds those that the IMF, the OECD and the World
# Bank write otherwise. A name that is in neither, such as that of a group, is no country.


_OTHER_NAMES = {
    "Bahamas": "BS",
    "Cape Verde": "CV",
    "China (People's Republic of)": "CN",
    "Congo, Democratic Republic of the": "CD",
    "Congo, Republic of": "CG",
    "Czech Republic": "CZ",
    "Democratic Republic of the Congo": "CD",
    "FYR Macedonia": "MK",
    "Gambia": "GM",
    "Hong Kong SAR": "HK",
    "Hong Kong, China": "HK",
    "Islamic Republic of Iran": "IR",
    "Korea": "KR",
    "Kosovo": "XK",
    "Kosovo, Republic of": "XK",
    "Lao P.D.R.": "LA",
    "Macao SAR": "MO",
    "Micronesia": "FM",
    "Republic of Congo": "CG",
    "Russia": "RU",
    "St. Kitts and Nevis": "KN",
    "St. Lucia": "LC",
    "St. Vincent and the Grenadines": "VC",
    "Swaziland": "SZ",
    "São Tomé and Príncipe": "ST",
    "Taiwan Province of China": "TW",
    "The Bahamas": "BS",
    "The Gambia": "GM",
    "Turkey": "TR",
    "West Bank and Gaza": "PS",
}


def area_named(name: str) -> Area | None:
    """Return the country of a name; None for a group of countries or an unknown name."""
    plain = " ".join(name.replace("\u2019", "'").split())
    other = _OTHER_NAMES.get(plain)
    return area_of(other) if other else area_of_name(plain)
