"""The quality page: the measurements of this build and of the publications before it."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from assets.pages.coverage import format_cell
from quality.floors import MAXIMUMS
from warehouse.mart.snapshot import Snapshot
from warehouse.site.formats import country_name
from warehouse.tables.operations import QualityStatus

# Publications in the strip next to a measurement.
_MAX_HISTORY = 30


@dataclass(frozen=True)
class BoardRow:
    """One measurement with its value as text and its past statuses, the last one at the end."""

    sku: str
    dimension: str
    metric: str
    scope: str
    value: str
    floor: str
    status: QualityStatus
    checked: int | None
    history: tuple[tuple[str, QualityStatus], ...]

    @property
    def title(self) -> str:
        """The metric in plain words."""
        return self.metric.replace("_", " ").capitalize()

    @property
    def place(self) -> str:
        """What was measured: a country, a source or a table."""
        is_country = len(self.scope) == 2
        return country_name(self.scope) if is_country else self.scope.replace("_", " ")

    @property
    def history_text(self) -> str:
        """The history in words, for screen readers."""
        counts = Counter(status for _, status in self.history)
        return ", ".join(f"{number} {status}" for status, number in sorted(counts.items()))


@dataclass(frozen=True)
class LeftOutRow:
    """How many rows of a source one rule left out of a table."""

    table: str
    rule: str
    source: str
    rows: int


@dataclass(frozen=True)
class QualityBoard:
    """All measurements, how many had which status at each publication, and what was left out."""

    measurements: tuple[BoardRow, ...]
    versions: tuple[str, ...]
    counts: dict[QualityStatus, list[int]]
    left_out: tuple[LeftOutRow, ...]

    @property
    def totals(self) -> dict[QualityStatus, int]:
        """How many measurements of this build have which status, failures first."""
        counts = Counter(row.status for row in self.measurements)
        statuses: tuple[QualityStatus, ...] = ("FAIL", "UNMEASURED", "PASS")
        return {status: counts[status] for status in statuses}

    @property
    def chart(self) -> dict[str, Any]:
        """The history as the script of charts draws it."""
        return {
            "title": "Measurements passed, failed and not made, per publication",
            "unit": "measurements",
            "source": "the audits of each publication",
            "kind": "line",
            "x": "data_version",
            "zero": True,
            "series": [
                {
                    "name": status,
                    "points": [
                        [version, str(count)]
                        for version, count in zip(self.versions, counts, strict=True)
                    ],
                }
                for status, counts in self.counts.items()
            ],
        }


def read_quality_board(snapshot: Snapshot) -> QualityBoard:
    """Read the measurements of a build, with their history."""
    rows = snapshot.read(
        "SELECT * FROM quality ORDER BY sku, dimension, metric, scope, measured_at"
    ).to_pylist()
    # By time: the rows themselves are in the order of the page.
    versions = list(
        dict.fromkeys(
            row["data_version"] for row in sorted(rows, key=lambda row: row["measured_at"])
        )
    )
    counts = Counter((row["data_version"], row["status"]) for row in rows)
    statuses: tuple[QualityStatus, ...] = ("PASS", "FAIL", "UNMEASURED")
    return QualityBoard(
        tuple(_board_rows(rows, snapshot.data_version)),
        tuple(versions),
        {status: [counts[version, status] for version in versions] for status in statuses},
        # Without the examples: the page must not lead to a person who is left out.
        tuple(
            LeftOutRow(*row.values())
            for row in snapshot.read(
                "SELECT table_name, rule, source, rows_left_out FROM left_out "
                "ORDER BY table_name, rule, source"
            ).to_pylist()
        ),
    )


def _board_rows(rows: Sequence[dict[str, Any]], data_version: str) -> list[BoardRow]:
    histories: dict[tuple[str, ...], list[tuple[str, QualityStatus]]] = {}
    current = []
    for row in rows:
        key = (row["sku"], row["dimension"], row["metric"], row["scope"])
        histories.setdefault(key, []).append((row["data_version"], row["status"]))
        if row["data_version"] == data_version:
            current.append((key, row))
    failures_first = ("FAIL", "UNMEASURED", "PASS")
    current.sort(key=lambda pair: (pair[0][0], failures_first.index(pair[1]["status"]), pair[0]))
    return [
        BoardRow(
            *key,
            value=_format_amount(row["value"], row["unit"]) or "UNMEASURED",
            floor=_format_floor(row),
            status=row["status"],
            checked=row["n_checked"],
            history=tuple(histories[key][-_MAX_HISTORY:]),
        )
        for key, row in current
    ]


def _format_floor(row: dict[str, Any]) -> str:
    amount = _format_amount(row["floor"], row["unit"])
    if amount is None:
        return "–"
    return f"at {'most' if (row['sku'], row['metric']) in MAXIMUMS else 'least'} {amount}"


def _format_amount(value: Decimal | None, unit: str) -> str | None:
    if value is None:
        return None
    if unit == "share":
        return f"{format_cell(round(value * 100, 2))} %"
    return f"{format_cell(value)} {unit.removesuffix('s') if value == 1 else unit}"
