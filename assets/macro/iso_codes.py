"""Codes of ISO in documents: currencies (ISO 4217), former countries (ISO 3166-3).

``warehouse.shared.countries`` knows the countries that exist. ``ended_currencies.csv`` has the
currencies that were withdrawn.
"""

from datetime import date
from functools import cache
from typing import Any

import pycountry

from warehouse.shared.countries import Area, area_of
from warehouse.shared.data_files import csv_rows

# ``pycountry`` types its lookups loosely.
_FORMER: Any = pycountry.historic_countries


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
