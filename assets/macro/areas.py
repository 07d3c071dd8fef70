"""Countries as sources write them: ISO 3166 codes, and the few that are not ISO's."""

from functools import cache
from typing import Any

import pycountry

# ``pycountry`` types its lookups loosely.
_COUNTRIES: Any = pycountry.countries
_FORMER: Any = pycountry.historic_countries

# Codes of the World Bank that are, or were once, not those of ISO, and two of Eurostat.
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

# Kosovo has no code of ISO; these two, from the range left to users, are what sources write.
_KOSOVO = ("XK", "XKX")

Area = tuple[str, str]


@cache
def area_of(code: str) -> Area | None:
    """Give alpha-2 and alpha-3 of a country; None for an aggregate or an unknown code.

    ``NA`` and ``NAM`` are Namibia.
    """
    code = _OTHER_CODES.get(code.strip().upper(), code.strip().upper())
    if code in _KOSOVO:
        return _KOSOVO
    found = None
    if len(code) == 2:
        found = _COUNTRIES.get(alpha_2=code)
    elif len(code) == 3:
        found = _COUNTRIES.get(alpha_3=code)
    return (found.alpha_2, found.alpha_3) if found is not None else None


@cache
def was_country(code: str) -> bool:
    """Say whether an alpha-3 code was that of a country which is no more."""
    return _FORMER.get(alpha_3=code.strip().upper()) is not None


def area_of_currency(code: str) -> Area | None:
    """Give the country whose currency a code is: ISO 4217 begins with its ISO 3166 code.

    Currencies of several countries (EUR, XOF) have none.
    """
    return area_of(code[:2])
