"""A point-in-time backtest: pick the three issuers whose revenue grew most, year by year.

The service has no prices, so the growth that the three report in the following year serves as
the return. Each year is run twice: with what was known at the year-end, and with look-ahead,
that is with figures for years that had ended by then but were published months later. With
prices, act one session after ``as_of``, or on a figure from its ``tradable_from`` on: the first
session after it was public, by the calendar of the exchange.

Set SANKOFA_API_KEY first; the sandbox key is enough. SANKOFA_URL names another service.
"""

import json
import os
import sys
from functools import cache
from typing import Any
from urllib.parse import urlencode
from urllib.request import Request, urlopen

SERVICE = os.environ.get("SANKOFA_URL", "http://127.0.0.1:8321")
KEY = os.environ.get("SANKOFA_API_KEY") or sys.exit(
    "set SANKOFA_API_KEY: `sankofa keys sandbox` prints one"
)
Ranked = dict[str, dict[str, Any]]


@cache
def screen(as_of: str) -> Ranked:
    """Return issuers ranked by revenue growth, as computable on a day."""
    query = urlencode({"metric": "revenue_growth", "as_of": as_of})
    request = Request(f"{SERVICE}/v1/screen?{query}", headers={"X-API-Key": KEY})
    with urlopen(request) as response:
        return {row["service_id"]: row for row in json.load(response)["data"]}


def mean_growth(picks: list[str], outcome: Ranked) -> float:
    """Return the mean growth that the picked issuers reported in the following year."""
    growth = [float(outcome[issuer]["value"]) for issuer in picks if issuer in outcome]
    return sum(growth) / len(growth)


point_in_time, look_ahead = [], []
for year in range(2014, 2020):
    year_end = f"{year}-12-31"
    known_then, published_later = screen(year_end), screen(f"{year + 1}-06-30")
    ended = [issuer for issuer, row in published_later.items() if row["period_end"] <= year_end]
    outcome = screen(f"{year + 1}-12-31")
    point_in_time.append(mean_growth(list(known_then)[:3], outcome))
    look_ahead.append(mean_growth(ended[:3], outcome))
    print(
        f"{year_end}  known then {point_in_time[-1]:+8.1%}   with look-ahead {look_ahead[-1]:+8.1%}"
    )
means = [sum(growth) / len(growth) for growth in (point_in_time, look_ahead)]
print("mean        known then {:+8.1%}   with look-ahead {:+8.1%}".format(*means))
