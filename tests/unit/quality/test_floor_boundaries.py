"""Floors at their exact boundary: equal passes, one step beyond fails, unmeasured stays so."""

from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from quality.floors import FLOORS, Floor, measure
from tests.helpers.audited import MOMENT, audited, staged
from tests.helpers.facts import fact, facts
from warehouse.record.append import Load, append
from warehouse.record.store import Record
from warehouse.record.tables import FUNDAMENTALS

# The smallest step that a published value can show: ten digits, truncated.
STEP = Decimal("0.0000000001")
NOT_MEASURED = "SELECT 'x' AS scope, 0 AS n_checked, 0 AS n_passed, NULL AS value WHERE false"


def with_value(floor: Floor, value: Decimal) -> Floor:
    """Return the floor with a measurement that finds a given value."""
    measured = f"CAST('{value}' AS DECIMAL(30, 10))"
    statement = f"SELECT 'x' AS scope, {measured} AS value, 1 AS n_checked, NULL AS n_passed"
    return replace(floor, statement=statement)


def test_every_floor_passes_at_its_boundary_and_fails_one_step_beyond(
    record: Record, tmp_path: Path
) -> None:
    with staged(record, tmp_path / "stage") as snapshot:
        for floor in FLOORS:
            beyond = floor.floor + (STEP if floor.is_maximum else -STEP)
            within = floor.floor + (-STEP if floor.is_maximum else STEP)
            floors = [
                with_value(floor, floor.floor),
                with_value(floor, within),
                with_value(floor, beyond),
                replace(floor, statement=NOT_MEASURED),
            ]
            statuses = [row.status for _, row in measure(snapshot, MOMENT, floors)]
            assert statuses == ["PASS", "PASS", "FAIL", "UNMEASURED"], floor.metric


def test_a_share_is_compared_before_it_is_rounded(record: Record, tmp_path: Path) -> None:
    """Of very many rows one too few is below the floor, whatever ten digits show."""
    half = next(floor for floor in FLOORS if floor.floor == Decimal("0.5"))
    with staged(record, tmp_path / "stage") as snapshot:
        for checked, passed, status in (
            (2_000_000, 1_000_000, "PASS"),
            (2_000_000, 999_999, "FAIL"),
            (2_000_001, 1_000_000, "FAIL"),
        ):
            counts = f"SELECT 'x' AS scope, {checked} AS n_checked, {passed} AS n_passed"
            ((_, row),) = measure(snapshot, MOMENT, [replace(half, statement=counts)])
            assert row.status == status


def balance(year: int, *, balanced: bool) -> list[dict[str, Any]]:
    lines = {
        "total_assets": "100",
        "total_liabilities": "70",
        "total_equity": "30" if balanced else "10",
    }
    return [
        fact(
            value,
            item=item,
            year=year,
            period_start=None,
            period_type="INSTANT",
            statement="balance",
        )
        for item, value in lines.items()
    ]


@pytest.mark.parametrize(
    ("balanced", "unbalanced", "status"),
    [(1, 1, "PASS"), (2, 1, "PASS"), (1, 2, "FAIL"), (0, 0, "UNMEASURED")],
)
def test_the_report_of_a_publication_says_so_at_the_boundary(
    record: Record, tmp_path: Path, balanced: int, unbalanced: int, status: str
) -> None:
    rows = [fact("1", item="revenue")]
    for number in range(balanced + unbalanced):
        rows += balance(2000 + number, balanced=number < balanced)
    append(record, FUNDAMENTALS, facts(*rows), Load("test", ()))

    report = audited(record, tmp_path / "stage")

    (identity,) = [row for row in report.measurements if row.metric == "accounting_identity"]
    assert identity.status == status
    assert any("accounting_identity" in str(failure) for failure in report.failures) == (
        status == "FAIL"
    )
