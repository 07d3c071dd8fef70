"""What the first page shows: counts, one figure that was restated, what changed last."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from assets.pages.cards import OPEN
from warehouse.mart.catalogue import CHANGES
from warehouse.mart.served_rows import NAMED_ENTITIES
from warehouse.mart.snapshot import Snapshot

# As many vintages as a sample key gets in one answer.
_MOST_VINTAGES = 25
_COUNTS = f"""
WITH held AS (
    SELECT country FROM tender_releases WHERE latest
    UNION ALL SELECT country FROM macro_series WHERE latest
    UNION ALL SELECT country FROM macro_annual WHERE latest
    UNION ALL SELECT country FROM fundamentals JOIN ({NAMED_ENTITIES}) USING (service_id)
)
SELECT
    (SELECT count(DISTINCT country) FROM held) AS countries,
    (SELECT count(DISTINCT service_id) FROM fundamentals) AS companies,
    (SELECT count(*) FROM tender_releases WHERE latest) AS releases,
    (SELECT count(DISTINCT series) FROM macro_series) AS series,
    (SELECT count(*) FROM fundamentals) + (SELECT count(*) FROM macro_series) AS vintages,
    (SELECT count(*) FROM fundamentals WHERE vintage > 1)
    + (SELECT count(*) FROM macro_series WHERE vintage > 1) AS restatements,
    (SELECT count(*) FROM silent_revisions WHERE {OPEN}) AS silent_revisions"""
# The line of an issuer of which most full years were restated.
_STORY = f"""
WITH chosen AS (
    SELECT service_id, line_item, unit, basis FROM fundamentals
    WHERE period_type = 'FY' AND NOT withdrawn AND available_at IS NOT NULL
    GROUP BY service_id, line_item, unit, basis
    ORDER BY count(*) FILTER (WHERE vintage > 1) DESC, line_item = 'revenue' DESC,
        service_id, line_item, unit, basis
    LIMIT 1
)
SELECT service_id, legal_name, line_item, unit, period_end,
    coalesce(fiscal_label, CAST(period_end AS VARCHAR)) AS label,
    CAST(available_at AS VARCHAR) AS available_at, value_reported AS value
FROM fundamentals JOIN chosen USING (service_id, line_item, unit, basis)
LEFT JOIN ({NAMED_ENTITIES}) USING (service_id)
WHERE period_type = 'FY' AND NOT withdrawn AND available_at IS NOT NULL
ORDER BY period_end DESC, vintage DESC LIMIT {_MOST_VINTAGES}"""


@dataclass(frozen=True)
class Story:
    """One restated line of an issuer, as the script of the first page draws it."""

    service_id: str
    name: str
    line_item: str
    data: dict[str, Any]


def read_counts(snapshot: Snapshot) -> dict[str, int]:
    """Return the counts that matter."""
    return dict(snapshot.read(_COUNTS).to_pylist()[0])


def read_changes(snapshot: Snapshot) -> list[dict[str, Any]]:
    """Return what arrived on the last day on which something did, by dataset."""
    changes: list[dict[str, Any]] = snapshot.read(
        f"""
SELECT dataset, changed_on, count(*) AS things, sum(added)::BIGINT AS added,
    sum(restated)::BIGINT AS restated, sum(withdrawn)::BIGINT AS withdrawn
FROM ({CHANGES}) AS every_change
WHERE changed_on = (SELECT max(changed_on) FROM ({CHANGES}) AS all_changes)
GROUP BY dataset, changed_on ORDER BY dataset"""
    ).to_pylist()
    return changes


def read_change_totals(snapshot: Snapshot) -> list[dict[str, Any]]:
    """Return how many vintages were ever new, restated and withdrawn, by dataset.

    What a publication brought is the difference to the one before.
    """
    totals: list[dict[str, Any]] = snapshot.read(
        f"""
SELECT dataset, sum(added)::BIGINT AS added, sum(restated)::BIGINT AS restated,
    sum(withdrawn)::BIGINT AS withdrawn
FROM ({CHANGES}) AS every_change GROUP BY dataset ORDER BY dataset"""
    ).to_pylist()
    return totals


def read_story(snapshot: Snapshot) -> Story | None:
    """Return the line that was restated most; None if nothing was reported."""
    rows = snapshot.read(_STORY).to_pylist()
    if not rows:
        return None
    first = rows[0]
    figures: dict[str, list[list[str]]] = {}
    for row in reversed(rows):
        vintages = figures.setdefault(row["label"], [])
        vintages.append([row["available_at"], _digits(row["value"])])
    name = first["legal_name"] or first["service_id"]
    line = str(first["line_item"]).replace("_", " ")
    data = {
        "line": line,
        "days": sorted({row["available_at"] for row in rows}),
        "figures": [{"label": label, "vintages": kept} for label, kept in figures.items()],
        "chart": {
            "title": f"{line.capitalize()} of {name}",
            "unit": first["unit"],
            "source": f"filings of {name}",
            "kind": "line",
            "x": "year",
            "zero": True,
        },
    }
    return Story(first["service_id"], name, first["line_item"], data)


def _digits(value: Decimal) -> str:
    return format(value, "f")
