"""What pages show of a whole build and no list answers, computed when the build is published.

The service renders all pages. It may read the mart alone, so each part is a row of the table
``page_data`` there, by name, as JSON. Pages are read without a key: of licensed rows there are
only counts, a few first rows and one restated line.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from assets.exports.artifacts import EXPORT_FILES
from quality.floors import MAXIMUMS
from warehouse.methodology.signals import PANELS
from warehouse.publish.served_rows import CHANGES, NAMED_ENTITIES
from warehouse.publish.snapshot import Snapshot
from warehouse.serve.exports import Manifest, PublishedExports, file_name
from warehouse.tables import OPEN_CLASSES

_OPEN = f"license_class IN ({', '.join(repr(name) for name in OPEN_CLASSES)})"
# Far fewer than a sample key gets in one response.
_FIRST_ROWS = 5
_MOST_SIGNS = 60
# Publications in the strip next to a measurement.
_MAX_HISTORY = 30
# Revisions of a source that the page shows; the file has all.
_NEWEST = 25


# -- the first page ------------------------------------------------------------------------------

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
    (SELECT count(*) FROM silent_revisions WHERE {_OPEN}) AS silent_revisions"""
# As many vintages as a sample key gets in one answer.
_MOST_VINTAGES = 25
# The line of an issuer of which most full years were restated.
_RESTATED = f"""
WITH chosen AS (
    SELECT service_id, line_item, unit, basis FROM fundamentals
    WHERE period_type = 'FY' AND NOT withdrawn AND available_at IS NOT NULL
    GROUP BY service_id, line_item, unit, basis
    ORDER BY count(*) FILTER (WHERE vintage > 1) DESC, line_item = 'revenue' DESC,
        service_id, line_item, unit, basis
    LIMIT 1
)
SELECT service_id, legal_name, line_item, unit,
    coalesce(fiscal_label, CAST(period_end AS VARCHAR)) AS label,
    CAST(available_at AS VARCHAR) AS available_at, value_reported AS value
FROM fundamentals JOIN chosen USING (service_id, line_item, unit, basis)
LEFT JOIN ({NAMED_ENTITIES}) USING (service_id)
WHERE period_type = 'FY' AND NOT withdrawn AND available_at IS NOT NULL
ORDER BY period_end DESC, vintage DESC LIMIT {_MOST_VINTAGES}"""
# What arrived on the last day on which something did.
_LAST_CHANGES = f"""
SELECT dataset, changed_on, count(*) AS things, sum(added)::BIGINT AS added,
    sum(restated)::BIGINT AS restated, sum(withdrawn)::BIGINT AS withdrawn
FROM ({CHANGES}) AS every_change
WHERE changed_on = (SELECT max(changed_on) FROM ({CHANGES}) AS all_changes)
GROUP BY dataset, changed_on ORDER BY dataset"""
_CHANGE_TOTALS = f"""
SELECT dataset, sum(added)::BIGINT AS added, sum(restated)::BIGINT AS restated,
    sum(withdrawn)::BIGINT AS withdrawn
FROM ({CHANGES}) AS every_change GROUP BY dataset ORDER BY dataset"""

# -- datasets and panels, by the paths of their pages --------------------------------------------


def _by_year(table: str, day: str, where: str = "latest") -> str:
    return f"""
SELECT country, year({day}) AS year, count(*) AS n FROM {table}
WHERE {where} AND {day} IS NOT NULL GROUP BY ALL"""


def _sources(tables: Sequence[str], where: str = "TRUE") -> str:
    rows = " UNION ALL ".join(
        "SELECT source, coalesce(available_at, try_cast(left(publication, 10) AS DATE)) "
        f"AS available_at, observed_at FROM {table} WHERE NOT withdrawn AND {where}"
        for table in tables
    )
    return f"""
SELECT source AS name, count(*) AS n, max(available_at) AS available_at,
    max(observed_at) AS observed_at FROM ({rows}) GROUP BY ALL ORDER BY ALL"""


def _open_panel(key: str) -> str:
    # Pages are read without a key, so they may only count what is open.
    return f"signals WHERE signal_key = '{key}' AND superseded_at IS NULL AND {_OPEN}"


# Each selects ``country``, ``year`` and ``n``; those of panels also ``total``.
_COVERAGE = {
    "datasets/af-fund": f"""
SELECT country, year(period_end) AS year, count(*) AS n
FROM fundamentals LEFT JOIN ({NAMED_ENTITIES}) USING (service_id)
WHERE latest GROUP BY ALL""",
    "datasets/af-tender": _by_year("tender_releases", "released_on"),
    "datasets/af-macro": " UNION ALL ".join(
        _by_year(table, "period_end") for table in ("macro_series", "macro_annual")
    ),
    "datasets/macro-series": _by_year("macro_series", "period_end", f"latest AND {_OPEN}"),
    **{
        f"signals/{panel.key}": f"""
SELECT country, year(month) AS year, sum(n_observed) AS n, sum(n_eligible) AS total
FROM {_open_panel(panel.key)} GROUP BY ALL"""
        for panel in PANELS
    },
}
# Each selects ``name``, ``n`` and the last days.
_FRESHNESS = {
    "datasets/af-fund": _sources(("fundamentals",)),
    "datasets/af-tender": _sources(("tender_releases",)),
    "datasets/af-macro": _sources(("macro_series", "macro_annual")),
    "datasets/macro-series": _sources(("macro_series",), _OPEN),
    "datasets/silent-revisions": f"""
SELECT source AS name, count(*) AS n, NULL::DATE AS available_at,
    max(after_first_seen_at) AS observed_at
FROM silent_revisions WHERE {_OPEN} GROUP BY ALL ORDER BY ALL""",
    "datasets/quality-history": """
SELECT sku AS name, count(*) AS n, NULL::DATE AS available_at, max(measured_at) AS observed_at
FROM quality GROUP BY ALL ORDER BY ALL""",
    **{
        f"signals/{panel.key}": f"""
SELECT country AS name, count(*) AS n, max(available_at) AS available_at,
    max(observed_at) AS observed_at FROM {_open_panel(panel.key)} GROUP BY ALL ORDER BY ALL"""
        for panel in PANELS
    },
}
# Charts show only the buyers or issuers with the most processes; the file of a panel has all.
_MAX_SERIES = 12
_SERIES = f"""
WITH current_rows AS (FROM signals WHERE superseded_at IS NULL AND {_OPEN}),
largest AS (
    SELECT signal_key, country, dimension, dimension_value, sum(n_eligible) AS weight
    FROM current_rows GROUP BY signal_key, country, dimension, dimension_value
    QUALIFY row_number() OVER (
        PARTITION BY signal_key, country, dimension ORDER BY weight DESC, dimension_value
    ) <= {_MAX_SERIES}
)
SELECT signal_key, country, measure, unit, currency, dimension, dimension_value,
    list(strftime(month, '%Y-%m-%d') ORDER BY month) AS month,
    -- DOUBLE, since these are drawn and not calculated with; the file has the exact digits
    list(value::DOUBLE ORDER BY month) AS value,
    list(coverage::DOUBLE ORDER BY month) AS coverage,
    list(n_eligible ORDER BY month) AS eligible,
    list(n_observed ORDER BY month) AS observed
FROM current_rows JOIN largest USING (signal_key, country, dimension, dimension_value)
GROUP BY signal_key, country, measure, unit, currency, dimension, dimension_value, weight
ORDER BY signal_key, country, measure, dimension, weight DESC, dimension_value,
    currency"""
# Examples that exist in the build: the issuer has a figure with many vintages.
_EXAMPLES = {
    "issuer": """
SELECT service_id AS example FROM fundamentals WHERE available_at <= DATE '{as_of}'
GROUP BY ALL ORDER BY max(vintage) DESC, count(*) DESC, service_id LIMIT 1""",
    "country": """
SELECT country AS example FROM tender_releases WHERE latest
GROUP BY ALL ORDER BY count(*) DESC, country LIMIT 1""",
    "series": """
SELECT series AS example FROM macro_series WHERE available_at <= DATE '{as_of}'
GROUP BY ALL ORDER BY count(*) DESC, series LIMIT 1""",
}

# -- issuers, silent revisions -------------------------------------------------------------------

_ISSUERS = f"""
-- all vintages: a restatement is counted even if the figure was withdrawn later
WITH figures AS (
    SELECT service_id, count(*) FILTER (WHERE latest) AS figures,
        count(*) FILTER (WHERE vintage > 1) AS restated
    FROM fundamentals GROUP BY ALL
)
SELECT service_id, legal_name AS name, country, figures, restated
FROM figures LEFT JOIN ({NAMED_ENTITIES}) USING (service_id)
ORDER BY name, service_id"""
_REVISED_SOURCES = f"""
SELECT source, dataset, count(*) AS revisions,
    count(*) FILTER (WHERE kind = 'edited') AS edited,
    count(*) FILTER (WHERE kind = 'overwritten') AS overwritten,
    count(*) FILTER (WHERE kind = 'removed') AS removed,
    count(*) FILTER (WHERE kind = 'restored') AS restored,
    max(after_first_seen_at) AS last_seen_at
FROM silent_revisions WHERE {_OPEN} GROUP BY ALL ORDER BY revisions DESC, source, dataset"""
_REVISIONS = f"""
SELECT revisions.*, legal_name AS company
FROM silent_revisions AS revisions LEFT JOIN ({NAMED_ENTITIES}) USING (service_id)
WHERE {_OPEN}
QUALIFY row_number() OVER (
    PARTITION BY source, dataset ORDER BY after_first_seen_at DESC, revision_id
) <= {_NEWEST}
ORDER BY after_first_seen_at DESC, revision_id"""


def page_data(
    snapshot: Snapshot, manifest: Manifest, published: PublishedExports
) -> dict[str, Any]:
    """Return what the pages of a build show, by name; ``published`` has its files."""
    issuers = [list(row.values()) for row in _rows(snapshot, _ISSUERS)]
    return {
        "first": {
            "counts": _rows(snapshot, _COUNTS)[0],
            "story": _restated_line(snapshot),
            "changes": _rows(snapshot, _LAST_CHANGES),
        },
        "datasets": {
            path: {
                "coverage": _coverage(snapshot, _COVERAGE.get(path)),
                "freshness": _rows(snapshot, statement),
            }
            for path, statement in _FRESHNESS.items()
        },
        "examples": _examples(snapshot, manifest.generated_at.date()),
        "files": {each.key: _file(manifest, published, each.key) for each in manifest.artifacts},
        "issuers": issuers,
        "revisions": _silent_revisions(snapshot),
        "quality": _quality_board(snapshot),
        **_panel_series(snapshot),
    }


def data_docs(folder: Path) -> dict[str, str]:
    """Return the Data Docs of an audit by name, as they were written to a folder."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {
        f"data-docs/{path.relative_to(folder).as_posix()}": path.read_text("utf-8")
        for path in paths
    }


def change_totals(snapshot: Snapshot) -> list[dict[str, Any]]:
    """Return how many vintages were ever new, restated and withdrawn, by dataset.

    What a publication brought is the difference to the one before.
    """
    return _rows(snapshot, _CHANGE_TOTALS)


def _rows(snapshot: Snapshot, statement: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = snapshot.read(statement).to_pylist()
    return rows


def _restated_line(snapshot: Snapshot) -> dict[str, Any] | None:
    """Return the line that was restated most, as its chart needs it; None if there is none."""
    rows = _rows(snapshot, _RESTATED)
    if not rows:
        return None
    first = rows[0]
    figures: dict[str, list[list[str]]] = {}
    for row in reversed(rows):
        vintages = figures.setdefault(row["label"], [])
        vintages.append([row["available_at"], format(row["value"], "f")])
    return {
        "service_id": first["service_id"],
        "name": first["legal_name"] or first["service_id"],
        "line_item": first["line_item"],
        "unit": first["unit"],
        "days": sorted({row["available_at"] for row in rows}),
        "figures": [{"label": label, "vintages": kept} for label, kept in figures.items()],
    }


def _coverage(snapshot: Snapshot, statement: str | None) -> list[dict[str, Any]] | None:
    """Return rows by country and year; None for what has no countries."""
    if statement is None:
        return None
    total = "sum(total)::DOUBLE" if "total" in statement else "NULL::DOUBLE"
    summed = f"SELECT country, year, sum(n)::DOUBLE AS n, {total} AS total FROM ({statement})"
    return _rows(snapshot, f"{summed} GROUP BY ALL ORDER BY ALL")


def _examples(snapshot: Snapshot, published_on: date) -> dict[str, str]:
    """Return an issuer with a restatement, a country, a series and a past ``as_of`` day."""
    as_of = date(published_on.year - 1, 6, 30).isoformat()
    found = {
        name: _rows(snapshot, statement.format(as_of=as_of))
        for name, statement in _EXAMPLES.items()
    }
    return {
        **{name: str(rows[0]["example"]) if rows else "none" for name, rows in found.items()},
        "as_of": as_of,
    }


def _file(manifest: Manifest, published: PublishedExports, key: str) -> dict[str, Any]:
    """Return the columns of a file with their meaning, and its first rows."""
    (declared,) = (file for file in EXPORT_FILES if file.key == key)
    file = published.file(manifest.data_version, file_name(key))
    # The manifest of this build names it.
    assert file is not None
    with file.open() as opened:
        batch = next(pq.ParquetFile(opened).iter_batches(batch_size=_FIRST_ROWS), None)
    rows = [] if batch is None else batch.to_pylist()
    return {
        "fields": [
            (column.name, str(column.field.type), column.meaning, bool(column.field.nullable))
            for column in declared.columns
        ],
        "rows": [[_cell(value) for value in row.values()] for row in rows],
    }


def _cell(value: Any) -> str | None:
    """Return a value for a table cell; None stays None, which a page shows as null."""
    if value is None:
        return None
    if isinstance(value, Decimal):
        # Not str: a small Decimal would come out as 1E-7.
        text = format(value, "f")
        return text.rstrip("0").rstrip(".") if "." in text else text
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%d %H:%M:%SZ")
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return text if len(text) <= _MOST_SIGNS else f"{text[: _MOST_SIGNS - 1]}…"


def _silent_revisions(snapshot: Snapshot) -> list[dict[str, Any]]:
    """Return the sources with open revisions, those with most of them first, and their newest."""
    newest: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for row in _rows(snapshot, _REVISIONS):
        newest[row["source"], row["dataset"]].append(row)
    return [
        {**counts, "newest": newest[counts["source"], counts["dataset"]]}
        for counts in _rows(snapshot, _REVISED_SOURCES)
    ]


def _panel_series(snapshot: Snapshot) -> dict[str, Any]:
    """Return the series of each panel and country for its charts; panels are open data."""
    series: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in _rows(snapshot, _SERIES):
        series[f"signals/{row.pop('signal_key')}/{row.pop('country')}"].append(row)
    return {name: {"series": rows} for name, rows in series.items()}


def _quality_board(snapshot: Snapshot) -> dict[str, Any]:
    """Return the measurements of the build, with those of the publications before it."""
    rows = _rows(
        snapshot, "SELECT * FROM quality ORDER BY sku, dimension, metric, scope, measured_at"
    )
    # By time: the rows themselves are in the order of the page.
    by_time = sorted(rows, key=lambda row: row["measured_at"])
    versions = list(dict.fromkeys(row["data_version"] for row in by_time))
    counts = Counter((row["data_version"], row["status"]) for row in rows)
    return {
        "versions": versions,
        "counts": {
            status: [counts[version, status] for version in versions]
            for status in ("PASS", "FAIL", "UNMEASURED")
        },
        "measurements": _measurements(rows, snapshot.data_version),
        # Without the examples: the page must not lead to a person who is left out.
        "left_out": _rows(
            snapshot,
            'SELECT table_name AS "table", rule, source, rows_left_out AS rows FROM left_out '
            "ORDER BY table_name, rule, source",
        ),
    }


def _measurements(rows: Sequence[dict[str, Any]], data_version: str) -> list[dict[str, Any]]:
    """Return the measurements of a version with their past statuses, failures first."""
    histories: dict[tuple[str, ...], list[tuple[str, str]]] = defaultdict(list)
    for row in rows:
        histories[_measured(row)].append((row["data_version"], row["status"]))
    current = [row for row in rows if row["data_version"] == data_version]
    failures_first = ("FAIL", "UNMEASURED", "PASS")
    current.sort(key=lambda row: (row["sku"], failures_first.index(row["status"]), _measured(row)))
    return [
        {
            **row,
            "value": _amount(row["value"], row["unit"]) or "UNMEASURED",
            "floor": _floor(row),
            "history": histories[_measured(row)][-_MAX_HISTORY:],
        }
        for row in current
    ]


def _measured(row: dict[str, Any]) -> tuple[str, ...]:
    return row["sku"], row["dimension"], row["metric"], row["scope"]


def _floor(row: dict[str, Any]) -> str:
    amount = _amount(row["floor"], row["unit"])
    if amount is None:
        return "–"
    return f"at {'most' if (row['sku'], row['metric']) in MAXIMUMS else 'least'} {amount}"


def _amount(value: Decimal | None, unit: str) -> str | None:
    if value is None:
        return None
    if unit == "share":
        return f"{_cell(round(value * 100, 2))} %"
    return f"{_cell(value)} {unit.removesuffix('s') if value == 1 else unit}"
