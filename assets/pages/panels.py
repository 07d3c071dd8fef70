"""What the charts of signal panels draw: one small file for each panel and country.

Panels are open, so that their values may lie without a key; of what is broken down by many
buyers or issuers only those with most processes are drawn, the file has all.
"""

from collections import defaultdict
from pathlib import Path
from typing import Any

import msgspec

from assets.pages.cards import OPEN
from assets.pages.coverage import country_name
from warehouse.mart.snapshot import Snapshot

_DRAWN = 12
_SERIES = f"""
WITH known AS (FROM signals WHERE superseded_at IS NULL AND {OPEN}),
weighed AS (
    SELECT signal_key, country, dimension, dimension_value, sum(n_eligible) AS weight
    FROM known GROUP BY signal_key, country, dimension, dimension_value
    QUALIFY row_number() OVER (
        PARTITION BY signal_key, country, dimension ORDER BY weight DESC, dimension_value
    ) <= {_DRAWN}
)
SELECT signal_key, country, measure, unit, currency, dimension, dimension_value,
    list(strftime(month, '%Y-%m-%d') ORDER BY month) AS month,
    list(value::DOUBLE ORDER BY month) AS value,
    list(coverage::DOUBLE ORDER BY month) AS coverage,
    list(n_eligible ORDER BY month) AS eligible,
    list(n_observed ORDER BY month) AS observed
FROM known JOIN weighed USING (signal_key, country, dimension, dimension_value)
GROUP BY signal_key, country, measure, unit, currency, dimension, dimension_value, weight
ORDER BY signal_key, country, measure, dimension, weight DESC, dimension_value,
    currency"""


def write_panels(snapshot: Snapshot, folder: Path) -> dict[str, dict[str, str]]:
    """Write the series of each panel and country; give the countries of each panel by name."""
    by_place: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for row in snapshot.read(_SERIES).to_pylist():
        by_place[row.pop("signal_key"), row.pop("country")].append(row)
    countries: dict[str, dict[str, str]] = defaultdict(dict)
    for (key, country), series in by_place.items():
        place = folder / key / f"{country}.json"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(msgspec.json.encode({"series": series}))
        countries[key][country] = country_name(country)
    return countries
