"""Examples for snippets, taken from the build itself: what they ask for is there."""

from datetime import date
from typing import Any

from warehouse.mart.snapshot import Snapshot

_EXAMPLES = {
    "issuer": """
SELECT service_id AS found FROM fundamentals WHERE available_at <= DATE '{as_of}'
GROUP BY ALL ORDER BY max(vintage) DESC, count(*) DESC, service_id LIMIT 1""",
    "country": """
SELECT country AS found FROM tender_releases WHERE latest
GROUP BY ALL ORDER BY count(*) DESC, country LIMIT 1""",
    "series": """
SELECT series AS found FROM macro_series WHERE available_at <= DATE '{as_of}'
GROUP BY ALL ORDER BY count(*) DESC, series LIMIT 1""",
}


def examples(snapshot: Snapshot, published_on: date) -> dict[str, str]:
    """Give an issuer that restated something, a country, a series and a day that lies back."""
    as_of = date(published_on.year - 1, 6, 30).isoformat()
    found = {name: _first(snapshot, each.format(as_of=as_of)) for name, each in _EXAMPLES.items()}
    return {**found, "as_of": as_of}


def _first(snapshot: Snapshot, statement: str) -> str:
    rows: list[dict[str, Any]] = snapshot.read(statement).to_pylist()
    return str(rows[0]["found"]) if rows else "none"
