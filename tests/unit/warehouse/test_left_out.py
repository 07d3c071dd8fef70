"""Rows that a snapshot leaves out are as if they had never been loaded."""

import tempfile
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.helpers.audited import staged
from tests.helpers.facts import fact, facts
from tests.helpers.nightly import times
from tests.helpers.unchecked import append_unchecked
from warehouse.publish.snapshot import Snapshot
from warehouse.record.append import Load, append
from warehouse.record.merge import CompleteScope, Rereading
from warehouse.record.store import Record
from warehouse.record.tables import FUNDAMENTALS

pytestmark = pytest.mark.slow

_RULE = "values are plausible"
_START = datetime(2026, 1, 1, 6, tzinfo=UTC)
_SHOWN = "SELECT * EXCLUDE (load_id) FROM fundamentals ORDER BY ALL"


def vintages(snapshot: Snapshot) -> list[dict[str, Any]]:
    return list(snapshot.read(_SHOWN).to_pylist())


def values(snapshot: Snapshot) -> list[tuple[Any, ...]]:
    rows = snapshot.read(
        "SELECT CAST(value_reported AS INTEGER), vintage, available_at, superseded_at, latest "
        "FROM fundamentals ORDER BY line_item, vintage"
    )
    return [tuple(row.values()) for row in rows.to_pylist()]


# Readings of two figures: which, in which publication, read when, the value (none: withdrawn), and
# whether to leave it out.
_readings = st.lists(
    st.tuples(
        st.sampled_from(["revenue", "profit"]),
        st.integers(0, 2),
        st.integers(0, 5),
        st.sampled_from(["1", "2", "3", None]),
        st.booleans(),
    ),
    min_size=1,
    max_size=12,
    unique_by=lambda reading: reading[:3],
)


def _row(number: int, item: str, publication: int, day: int, value: str | None) -> dict[str, Any]:
    observed_at = _START + timedelta(days=day)
    published = date(2026, 1, 1) + timedelta(days=publication)
    return fact(
        value,
        item=item,
        publication=f"p{publication}",
        available_at=max(published, observed_at.date()) if day > publication else date(2025, 1, 1),
        observed_at=observed_at,
        document=f"d{day}",
        source_ref=f"d{day}#/{number}",
    )


@settings(max_examples=times(4), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(_readings)
def test_a_record_without_any_set_of_rows_has_the_same_vintages(
    readings: list[tuple[str, int, int, str | None, bool]],
) -> None:
    ordered = sorted(readings, key=lambda reading: reading[2])
    rows = [_row(number, *reading[:4]) for number, reading in enumerate(ordered)]
    again = [True] * len(rows)
    unwanted = {row["source_ref"] for row, reading in zip(rows, ordered, strict=True) if reading[4]}
    touched = {row["line_item"] for row in rows if row["source_ref"] in unwanted}
    kept: list[dict[str, Any]] = []
    for row in rows:
        # With what it withdrew, a withdrawal goes too.
        follows = any(
            other["line_item"] == row["line_item"]
            and not other["withdrawn"]
            and other["observed_at"] < row["observed_at"]
            for other in kept
        )
        withdraws_nothing = row["withdrawn"] and row["line_item"] in touched and not follows
        if row["source_ref"] not in unwanted and not withdraws_nothing:
            kept.append(row)
    with tempfile.TemporaryDirectory() as folder:
        whole, without = Record(f"{folder}/whole"), Record(f"{folder}/without")
        append_unchecked(whole, FUNDAMENTALS, *rows, again=again)
        if kept:
            append_unchecked(without, FUNDAMENTALS, *kept, again=again[: len(kept)])
        with staged(without, Path(folder, "expected")) as snapshot:
            expected = vintages(snapshot)
        condition = " OR ".join(f"source_ref = '{ref}'" for ref in sorted(unwanted)) or "FALSE"
        with staged(whole, Path(folder, "stage")) as snapshot:
            left_out = snapshot.leave_out(FUNDAMENTALS, {_RULE: condition})

            assert vintages(snapshot) == expected
            assert left_out == len(rows) - len(kept)
            assert snapshot.leave_out(FUNDAMENTALS, {_RULE: condition}) == 0


def test_a_left_out_restatement_ends_no_interval(record: Record, tmp_path: Path) -> None:
    rows = (
        fact("1", available_at=date(2019, 3, 1), publication="a"),
        fact("666", available_at=date(2020, 3, 1), publication="b", source_ref="d#/bad"),
        fact("3", available_at=date(2021, 3, 1), publication="c"),
    )
    append(record, FUNDAMENTALS, facts(*rows), Load("test", ()))

    with staged(record, tmp_path / "stage") as snapshot:
        assert snapshot.leave_out(FUNDAMENTALS, {_RULE: "value_reported > 100"}) == 1

        assert values(snapshot) == [
            (1, 1, date(2019, 3, 1), date(2021, 3, 1), False),
            (3, 2, date(2021, 3, 1), None, True),
        ]
        (left_out,) = snapshot.left_out().to_pylist()
    assert left_out.pop("example").startswith("d#/bad (row ")
    assert left_out == {
        "table_name": "fundamentals",
        "rule": _RULE,
        "source": "test",
        "rows_left_out": 1,
        "rows_stored": 3,
    }


def test_the_reading_that_a_left_out_one_replaced_comes_back(
    record: Record, tmp_path: Path
) -> None:
    for value in ("1", "666"):
        # Newer code reads the same document again and gives another value.
        append(record, FUNDAMENTALS, facts(fact(value)), Load("test", ()), reread=Rereading([]))

    with staged(record, tmp_path / "stage") as snapshot:
        assert [row[0] for row in values(snapshot)] == [666]
        snapshot.leave_out(FUNDAMENTALS, {_RULE: "value_reported > 100"})
        assert [row[0] for row in values(snapshot)] == [1]


def test_with_a_figure_goes_its_withdrawal(record: Record, tmp_path: Path) -> None:
    append(record, FUNDAMENTALS, facts(fact("1"), fact("2", item="profit")), Load("test", ("d",)))
    march = datetime(2026, 3, 1, 6, tzinfo=UTC)
    shown = fact("1", observed_at=march, document="later")
    complete = CompleteScope({"service_id": "DCTEST1"}, march, "later", "later#/")
    append(record, FUNDAMENTALS, facts(shown), Load("test", ("later",)), complete=complete)

    with staged(record, tmp_path / "stage") as snapshot:
        assert snapshot.leave_out(FUNDAMENTALS, {_RULE: "value_reported = 2"}) == 2
        assert [row[0] for row in values(snapshot)] == [1]


def test_of_several_rules_the_first_counts_and_the_copy_needs_no_second_writing(
    record: Record, tmp_path: Path
) -> None:
    append(record, FUNDAMENTALS, facts(fact("1"), fact("7", year=2017)), Load("test", ()))
    loads = {"fundamentals": record.load_seq(FUNDAMENTALS)}

    with Snapshot(tmp_path / "stage", record, loads, "20261115.1") as snapshot:
        rules = {"first": "value_reported > 5", "second": "value_reported > 6"}
        assert snapshot.leave_out(FUNDAMENTALS, rules) == 1
        assert not snapshot.path("fundamentals").exists()
        assert [row["rule"] for row in snapshot.left_out().to_pylist()] == ["first"]
