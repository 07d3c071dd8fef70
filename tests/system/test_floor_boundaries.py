"""Floors at their exact boundary: equal passes, one step beyond fails, unmeasured stays so."""

import json
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from falcon import testing

from api.app import create_app
from quality.audit import audit
from quality.floors import FLOORS, Floor, measure
from tests.helpers.audited import MOMENT, audited, staged
from tests.helpers.facts import fact, facts
from tests.helpers.publishing import publish
from warehouse.control.keys import KeyStore, create_key
from warehouse.publish.snapshot import DerivedTables, Snapshot
from warehouse.record.append import Load, append
from warehouse.record.store import Record
from warehouse.record.tables import FUNDAMENTALS
from warehouse.serve.build import Mart

# The smallest step that a published value can show: ten digits, truncated.
STEP = Decimal("0.0000000001")
NOT_MEASURED = "SELECT 'x' AS scope, 0 AS n_checked, 0 AS n_passed, NULL AS value WHERE false"


def with_value(floor: Floor, value: Decimal, scope: str = "x") -> Floor:
    """Return the floor with a measurement that finds a given value."""
    measured = f"CAST('{value}' AS DECIMAL(30, 10))"
    statement = f"SELECT '{scope}' AS scope, {measured} AS value, 1 AS n_checked, NULL AS n_passed"
    return replace(floor, statement=statement)


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Snapshot]:
    folder = tmp_path_factory.mktemp("empty")
    with staged(Record(str(folder / "record")), folder / "stage") as snapshot:
        yield snapshot


def test_every_floor_passes_at_its_boundary_and_fails_one_step_beyond(snapshot: Snapshot) -> None:
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


def test_a_share_is_compared_before_it_is_rounded(snapshot: Snapshot) -> None:
    """Of very many rows one too few is below the floor, whatever ten digits show."""
    half = next(floor for floor in FLOORS if floor.floor == Decimal("0.5"))
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
    [(19, 1, "PASS"), (18, 1, "FAIL")],
)
def test_the_report_of_a_publication_says_so_at_the_boundary(
    record: Record, tmp_path: Path, balanced: int, unbalanced: int, status: str
) -> None:
    rows = [fact("1", item="revenue")]
    for number in range(balanced + unbalanced):
        rows += balance(2000 + number, balanced=number < balanced)
    append(record, FUNDAMENTALS, facts(*rows), Load("test", ()))

    report = audited(record, tmp_path / "stage", suites=())

    (identity,) = [row for row in report.measurements if row.metric == "accounting_identity"]
    assert identity.status == status
    # It measures filings and not us: it never stops a publication.
    assert not any("accounting_identity" in str(failure) for failure in report.failures)


def test_the_published_build_serves_the_status_at_the_boundary(
    record: Record, tmp_path: Path
) -> None:
    append(record, FUNDAMENTALS, facts(fact()), Load("test", ()))
    floors: list[Floor] = []
    expected: dict[str, dict[tuple[str, str], tuple[str, Decimal | str]]] = {}
    for floor in FLOORS:
        beyond = floor.floor + (STEP if floor.is_maximum else -STEP)
        unmeasured = f"{floor.scope} without rows"
        floors += [
            with_value(floor, floor.floor, f"{floor.scope} at the floor"),
            with_value(floor, beyond, f"{floor.scope} beyond it"),
            replace(floor, statement=NOT_MEASURED, scope=unmeasured),
        ]
        expected.setdefault(floor.sku, {}).update(
            {
                (floor.metric, f"{floor.scope} at the floor"): ("PASS", floor.floor),
                (floor.metric, f"{floor.scope} beyond it"): ("FAIL", beyond),
                (floor.metric, unmeasured): ("UNMEASURED", "UNMEASURED"),
            }
        )

    def measure_only(snapshot: Snapshot, _: str | None) -> DerivedTables:
        # A floor that blocks would stop a real publication; here all that is measured is served.
        audit(snapshot, measured_at=MOMENT, floors=floors, suites=())
        return {}

    publish(record, tmp_path / "marts", audit=measure_only, work=tmp_path / "work")
    keys, mart = KeyStore(tmp_path / "control.sqlite"), Mart(tmp_path / "marts")
    client = testing.TestClient(create_app(mart, keys))
    headers = {"X-API-Key": create_key(keys, "sample")}
    for sku, measurements in expected.items():
        answer = client.simulate_get(f"/v1/quality-metrics/{sku}", headers=headers)
        rows = json.loads(answer.text, parse_float=Decimal, parse_int=Decimal)["data"]
        assert {
            (row["metric"], row["scope"]): (row["status"], row["value"]) for row in rows
        } == measurements
        assert len(rows) == len(measurements)
    mart.close()
