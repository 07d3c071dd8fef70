"""What pages show of a whole build and no list answers, computed when the build is published.

The service renders all pages. It may read the mart alone, so each part is a row of the table
``page_data`` there, by name, as JSON. Pages are read without a key: of licensed rows there are
only counts, a few first rows and one restated line. The statements are in ``sql/page_data.sql``.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pyarrow.parquet as pq

from assets.exports.artifacts import EXPORT_FILES
from quality.floors import MAXIMUMS
from warehouse.methodology.signals import PANELS
from warehouse.publish.served_rows import CHANGES, NAMED_ENTITIES
from warehouse.publish.snapshot import Snapshot
from warehouse.serve.exports import Manifest, PublishedExports, file_name
from warehouse.shared.data_files import sql_file
from warehouse.tables.sighting import OPEN_CLASSES

_OPEN = f"license_class IN ({', '.join(repr(name) for name in OPEN_CLASSES)})"
_SQL = sql_file(
    __name__,
    "page_data",
    fragments={"named_entities": NAMED_ENTITIES, "changes": CHANGES, "is_open": _OPEN},
)
# The rows of each dataset and the column of their day, by the path of its page.
_DATASETS = {
    "datasets/af-fund": (
        f"(FROM fundamentals LEFT JOIN ({NAMED_ENTITIES}) USING (service_id))",
        "period_end",
    ),
    "datasets/af-tender": ("tender_releases", "released_on"),
    "datasets/af-macro": ("(FROM macro_series UNION ALL BY NAME FROM macro_annual)", "period_end"),
    "datasets/macro-series": (f"(FROM macro_series WHERE {_OPEN})", "period_end"),
}
# Far fewer than a sample key gets in one response.
_FIRST_ROWS = 5
_MOST_SIGNS = 60
# Publications in the strip next to a measurement.
_MAX_HISTORY = 30


def page_data(
    snapshot: Snapshot, manifest: Manifest, published: PublishedExports
) -> dict[str, Any]:
    """Return what the pages of a build show, by name; ``published`` has its files."""
    return {
        "first": {
            "counts": _rows(snapshot, "counts")[0],
            "story": _restated_line(snapshot),
            "changes": _rows(snapshot, "last_changes"),
        },
        "datasets": {**_datasets(snapshot), **_panels(snapshot)},
        "examples": _examples(snapshot, manifest.generated_at.date()),
        "files": {each.key: _file(manifest, published, each.key) for each in manifest.artifacts},
        "issuers": [list(row.values()) for row in _rows(snapshot, "issuers")],
        "revisions": _silent_revisions(snapshot),
        "striking-revisions": _rows(snapshot, "striking_revisions"),
        "quality": _quality_board(snapshot),
        # The series of each panel, and what indicators were before; both are open data.
        **_by_name(snapshot, "panel_series", "signals", "signal_key", "country"),
        **_by_name(snapshot, "revised_indicators", "revisions", "indicator", "country"),
        # What lists of parties and suppliers leave out, which are counted only.
        **_by_name(snapshot, "withheld_parties", "withheld", "country"),
    }


def _rows(snapshot: Snapshot, statement: str, **fragments: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = snapshot.read(_SQL.statement(statement, **fragments)).to_pylist()
    return rows


def _by_name(
    snapshot: Snapshot, statement: str, folder: str, *columns: str
) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of a statement by a name that some of their columns make, without these."""
    groups = defaultdict(list)
    for row in _rows(snapshot, statement):
        groups["/".join((folder, *(row.pop(column) for column in columns)))].append(row)
    return groups


def _restated_line(snapshot: Snapshot) -> dict[str, Any] | None:
    """Return the line that was restated most, as its chart needs it; None if there is none."""
    rows = _rows(snapshot, "restated_line")
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


def _datasets(snapshot: Snapshot) -> dict[str, Any]:
    """Return rows by country and year, and the last days by source; some have no countries."""
    return {
        **{
            path: {
                "coverage": _rows(snapshot, "coverage", rows=rows, day=day),
                "freshness": _rows(snapshot, "freshness", rows=rows),
            }
            for path, (rows, day) in _DATASETS.items()
        },
        "datasets/silent-revisions": {
            "coverage": None,
            "freshness": _rows(snapshot, "freshness_of_revisions"),
        },
        "datasets/quality-history": {
            "coverage": None,
            "freshness": _rows(snapshot, "freshness_of_quality"),
        },
    }


def _panels(snapshot: Snapshot) -> dict[str, Any]:
    found: dict[str, Any] = {
        f"signals/{panel.key}": {"coverage": [], "freshness": []} for panel in PANELS
    }
    for member in ("coverage", "freshness"):
        for row in _rows(snapshot, f"{member}_of_panels"):
            found[f"signals/{row.pop('signal_key')}"][member].append(row)
    return found


def _examples(snapshot: Snapshot, published_on: date) -> dict[str, str]:
    """Return an issuer with a restatement, a country, a series and a past ``as_of`` day."""
    as_of = date(published_on.year - 1, 6, 30).isoformat()
    found = {
        "issuer": _rows(snapshot, "example_issuer", as_of=as_of),
        "country": _rows(snapshot, "example_country"),
        "series": _rows(snapshot, "example_series", as_of=as_of),
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
    newest = _by_name(snapshot, "newest_revisions", "newest", "source", "dataset")
    return [
        {**counts, "newest": newest[f"newest/{counts['source']}/{counts['dataset']}"]}
        for counts in _rows(snapshot, "revised_sources")
    ]


def _quality_board(snapshot: Snapshot) -> dict[str, Any]:
    """Return the measurements of the build, with those of the publications before it."""
    rows = _rows(snapshot, "measurements")
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
        "left_out": _rows(snapshot, "left_out"),
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
