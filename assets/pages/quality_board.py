"""The quality board: what was measured for this build, and at the publications before it."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from assets.pages.coverage import shown
from warehouse.mart.snapshot import Snapshot
from warehouse.tables.operations import QualityStatus

# Publications that the strip beside a measurement shows.
_SHOWN = 30


@dataclass(frozen=True)
class Measured:
    """One measurement with its value as text and the statuses it had, the last one at the end."""

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
    def told(self) -> str:
        """Say the history in words, for whoever does not see the strip."""
        counted = Counter(status for _, status in self.history)
        return ", ".join(f"{number} {status}" for status, number in sorted(counted.items()))


@dataclass(frozen=True)
class Board:
    """All measurements, and how many had which status at each publication."""

    measured: tuple[Measured, ...]
    versions: tuple[str, ...]
    counts: dict[QualityStatus, list[int]]


def board(snapshot: Snapshot) -> Board:
    """Read what was measured, the history included."""
    rows = snapshot.read(
        "SELECT * FROM quality ORDER BY sku, dimension, metric, scope, measured_at"
    ).to_pylist()
    versions = list(
        dict.fromkeys(
            row["data_version"] for row in sorted(rows, key=lambda row: row["measured_at"])
        )
    )
    counted = Counter((row["data_version"], row["status"]) for row in rows)
    statuses: tuple[QualityStatus, ...] = ("PASS", "FAIL", "UNMEASURED")
    return Board(
        tuple(_measured(rows, snapshot.data_version)),
        tuple(versions),
        {status: [counted[version, status] for version in versions] for status in statuses},
    )


def _measured(rows: Sequence[dict[str, Any]], data_version: str) -> list[Measured]:
    histories: dict[tuple[str, ...], list[tuple[str, QualityStatus]]] = {}
    found = []
    for row in rows:
        place = (row["sku"], row["dimension"], row["metric"], row["scope"])
        histories.setdefault(place, []).append((row["data_version"], row["status"]))
        if row["data_version"] == data_version:
            found.append((place, row))
    return [
        Measured(
            *place,
            value=_amount(row["value"], row["unit"]) or "UNMEASURED",
            floor=_amount(row["floor"], row["unit"]) or "–",
            status=row["status"],
            checked=row["n_checked"],
            history=tuple(histories[place][-_SHOWN:]),
        )
        for place, row in found
    ]


def _amount(value: Decimal | None, unit: str) -> str | None:
    if value is None:
        return None
    if unit == "share":
        return f"{shown(round(value * 100, 2))} %"
    return f"{shown(value)} {unit}"
