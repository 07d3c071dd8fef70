"""Measuring a staged build against its floors: each floor, each scope, one row."""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from decimal import ROUND_DOWN, Context, Decimal
from typing import Any

from quality.floors import FLOORS, MOMENT, Floor
from warehouse.mart.snapshot import Snapshot
from warehouse.tables.quality import QualityMetric, QualityStatus

# Cut and not rounded: one row that fails among any number must never look like none.
_TEN_DIGITS = Context(prec=10, rounding=ROUND_DOWN)


def measure(
    snapshot: Snapshot, measured_at: datetime, floors: Iterable[Floor] = FLOORS
) -> list[tuple[Floor, QualityMetric]]:
    """Measure every floor; what finds nothing to look at is UNMEASURED, and never a pass."""
    return [(floor, row) for floor in floors for row in _measured(snapshot, floor, measured_at)]


def _measured(snapshot: Snapshot, floor: Floor, measured_at: datetime) -> Iterator[QualityMetric]:
    moment = f"TIMESTAMPTZ '{measured_at.astimezone(UTC).isoformat()}'"
    found = [
        row
        for row in snapshot.read(floor.statement.replace(MOMENT, moment)).to_pylist()
        if row["n_checked"]
    ]
    for row in sorted(found, key=lambda each: str(each["scope"])) or [{"scope": floor.scope}]:
        value = _value(row)
        yield QualityMetric(
            sku=floor.sku,
            dimension=floor.dimension,
            metric=floor.metric,
            scope=row["scope"],
            value=value,
            unit=floor.unit,
            floor=floor.floor,
            status=_status(floor, value),
            n_checked=_count(row, "n_checked"),
            n_passed=_count(row, "n_passed"),
            measured_at=measured_at,
            data_version=snapshot.data_version,
        )


def _status(floor: Floor, value: Decimal | None) -> QualityStatus:
    if value is None:
        return "UNMEASURED"
    return "PASS" if floor.passes(value) else "FAIL"


def _value(row: dict[str, Any]) -> Decimal | None:
    if row.get("value") is not None:
        return Decimal(row["value"])
    if row.get("n_passed") is None:
        return None
    return _TEN_DIGITS.divide(Decimal(row["n_passed"]), Decimal(row["n_checked"]))


def _count(row: dict[str, Any], name: str) -> int | None:
    return None if row.get(name) is None else int(row[name])
