"""A point-in-time backtest: hold the three issuers whose profit grew most, year by year.

The service has no prices, so the growth that the three report in the following year stands in
for a return. Run it twice over: with what was known at each year-end, and with look-ahead, the
figures of years that had ended by then but were published months later.

Set SANKOFA_API_KEY first; the sandbox key is enough.
"""

import json
import os
from functools import cache
from typing import Any
from urllib.parse import urlencode
from urllib.request import Request, urlopen

SERVICE = "http://127.0.0.1:8321"
KEY = os.environ["SANKOFA_API_KEY"]
Ranked = dict[str, dict[str, Any]]


@cache
def screen(as_of: str) -> Ranked:
    """Rank issuers by the growth of profit that was computable on a day."""
    query = urlencode({"metric": "profit_growth", "as_of": as_of})
    request = Request(f"{SERVICE}/v1/screen?{query}", headers={"X-API-Key": KEY})
    with urlopen(request) as answer:
        return {row["service_id"]: row for row in json.load(answer)["data"]}


def mean_growth(picks: list[str], later: Ranked) -> float:
    """Give what those picked reported in the year that followed."""
    found = [float(later[issuer]["value"]) for issuer in picks if issuer in later]
    return sum(found) / len(found)


honest, cheating = [], []
for year in range(2019, 2025):
    year_end = f"{year}-12-31"
    known, published_later = screen(year_end), screen(f"{year + 1}-06-30")
    ended = [each for each, row in published_later.items() if row["period_end"] <= year_end]
    outcome = screen(f"{year + 1}-12-31")
    honest.append(mean_growth(list(known)[:3], outcome))
    cheating.append(mean_growth(ended[:3], outcome))
    print(f"{year_end}  known then {honest[-1]:+8.1%}   with look-ahead {cheating[-1]:+8.1%}")
print(f"mean        known then {sum(honest) / 6:+8.1%}   with look-ahead {sum(cheating) / 6:+8.1%}")
