"""From landed documents to the record: every document is read once, late ones in order."""

import hashlib
from datetime import date
from decimal import Decimal
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from assets.ingest.assets import load_metadata
from tests.helpers.monthly_portal import SOURCE, MonthlyPortal
from tests.helpers.record_rows import party_row, series_row
from warehouse.record.append import Load, append
from warehouse.record.as_of import vintages_query
from warehouse.record.incoming import RejectedRow, to_arrow
from warehouse.record.store import Record
from warehouse.record.tables import MACRO_SERIES, TENDER_PARTIES, RecordTable

pytestmark = pytest.mark.usefixtures("in_this_process")


def orders(*three: int) -> list[Any]:
    """Return all orders of three; by day those in which the last is not the last to come."""
    return [
        pytest.param(order, marks=[pytest.mark.nightly] if order[2] == three[2] else [])
        for order in permutations(three)
    ]


@pytest.fixture
def portal(tmp_path: Path) -> MonthlyPortal:
    return MonthlyPortal(tmp_path)


def test_a_document_is_read_once(portal: MonthlyPortal) -> None:
    portal.publish(1, b"revenue=1 profit=2")
    assert portal.load() == {"read": 2, "appended": 2}
    assert portal.load() == {}
    portal.publish(2, b"revenue=1 profit=2")
    assert portal.load() == {}


def test_a_document_that_gives_nothing_is_reported(portal: MonthlyPortal) -> None:
    portal.publish(1, b" ")
    assert portal.load() == {"read": 1, "quarantined": 1}
    (row,) = portal.record.query(f"FROM {portal.record.relation('quarantine')}").to_pylist()
    assert "has no rows that are stored" in row["reason"]


def test_an_edit_and_a_withdrawal_are_known_from_the_day_they_were_observed(
    portal: MonthlyPortal,
) -> None:
    portal.publish(1, b"revenue=1 profit=2")
    portal.publish(2, b"revenue=3")
    assert portal.load() == {"read": 3, "appended": 3, "withdrawn": 1}
    assert portal.values(date(2026, 1, 31)) == {"revenue": 1, "profit": 2}
    assert portal.values(date(2026, 2, 1)) == {"revenue": 3}


def test_a_figure_missing_at_one_url_may_be_shown_at_another(portal: MonthlyPortal) -> None:
    portal.publish(1, b"revenue=1", path="a")
    portal.publish(1, b"profit=2", path="b")
    portal.publish(2, b"revenue=1 tax=3", path="a")
    portal.load()
    assert portal.values() == {"revenue": 1, "profit": 2, "tax": 3}


@pytest.mark.parametrize("order", orders(1, 2, 3))
def test_a_late_document_is_read_in_the_order_of_observation(
    portal: MonthlyPortal, order: tuple[int, ...]
) -> None:
    """The portal showed 1, then 2, then 1 again; the documents reach us in any order."""
    bodies = {1: b"revenue=1", 2: b"revenue=2", 3: b"revenue=1 "}
    for month in order:
        portal.publish(month, bodies[month])
        portal.load()
    assert portal.values(date(2026, 1, 31)) == {"revenue": 1}
    assert portal.values(date(2026, 2, 28)) == {"revenue": 2}
    assert portal.values(date(2026, 3, 31)) == {"revenue": 1}


def test_a_value_that_comes_back_in_the_same_bytes_is_known_again(portal: MonthlyPortal) -> None:
    for month, body in ((1, b"revenue=1"), (2, b"revenue=2"), (3, b"revenue=1")):
        portal.publish(month, body)
    portal.load()
    assert portal.values(date(2026, 2, 28)) == {"revenue": 2}
    assert portal.values(date(2026, 3, 31)) == {"revenue": 1}


@pytest.mark.parametrize("order", orders(6, 12, 18))
@pytest.mark.parametrize("available_at", [None, date(2026, 1, 5)])
def test_the_last_reading_of_a_day_or_without_a_date_counts(
    portal: MonthlyPortal, order: tuple[int, ...], available_at: date | None
) -> None:
    portal.available_at = available_at
    for hour in order:
        portal.publish(1, f"revenue={hour}".encode(), day=5, hour=hour)
        portal.load()
    assert portal.values() == {"revenue": 18}


@pytest.mark.parametrize("first", ["a", "b"])
@pytest.mark.parametrize("together", [True, False])
def test_contradicting_documents_of_one_moment_end_the_same_in_any_order(
    portal: MonthlyPortal, first: str, together: bool
) -> None:
    bodies = {"a": b"revenue=1", "b": b"revenue=2"}
    for path in (first, "b" if first == "a" else "a"):
        portal.publish(1, bodies[path], path=path)
        if not together:
            portal.load()
    portal.load()
    winner = max(bodies.values(), key=lambda body: hashlib.sha256(body).hexdigest())
    assert portal.values() == {"revenue": int(winner[-1:])}


def test_an_unreadable_part_is_quarantined_and_withdraws_nothing(portal: MonthlyPortal) -> None:
    portal.publish(1, b"revenue=1 profit=2")
    portal.publish(2, b"revenue=3 profit")
    assert portal.load() == {"read": 4, "appended": 3, "quarantined": 1}
    assert portal.values() == {"revenue": 3, "profit": 2}


def test_corrected_code_replaces_the_rows_of_a_document(portal: MonthlyPortal) -> None:
    """The first version of a parser took the wrong day, the wrong country and wrong values."""
    portal.available_at = date(2019, 9, 30)
    portal.publish(1, b"revenue=1 profit=2")
    portal.load()
    portal.version = 2
    portal.available_at = date(2019, 3, 29)
    portal.corrections = {"country": "ZW", "value": Decimal(5)}
    assert portal.load() == {"read": 2, "appended": 2}
    assert portal.load() == {}
    relation = portal.record.relation("macro_series")
    rows = portal.record.query(vintages_query(MACRO_SERIES, relation, vintages="all")).to_pylist()
    assert [(row["vintage"], row["value"], row["available_at"]) for row in rows] == [
        (1, Decimal(5), date(2019, 3, 29))
    ] * 2
    assert portal.values(date(2019, 4, 1)) == {"revenue": 5, "profit": 5}


def test_a_corrected_reading_that_equals_the_one_before_replaces_the_wrong_one(
    portal: MonthlyPortal,
) -> None:
    portal.publish(1, b"revenue=1", path="a")
    portal.load()
    portal.publish(2, b"revenue=1 ", path="b")
    portal.version, portal.corrections = 2, {"value": Decimal(7)}
    portal.load()
    assert portal.values() == {"revenue": 7}
    portal.version, portal.corrections = 3, {}
    portal.load()
    assert portal.values(date(2026, 1, 31)) == portal.values() == {"revenue": 1}
    assert portal.load() == {}


def test_a_corrected_document_that_repeats_the_one_before_is_no_change(
    portal: MonthlyPortal,
) -> None:
    portal.publish(1, b"revenue=1", path="a")
    portal.publish(2, b"revenue=2", path="b")
    portal.load()
    assert portal.values() == {"revenue": 2}
    portal.version, portal.corrections = 2, {"value": Decimal(1)}
    portal.load()
    assert portal.values(date(2026, 1, 31)) == portal.values() == {"revenue": 1}


# What Dagster keeps of a load


SECRET = "Nomsa Fictional Dlamini"
HIDDEN = {"| 2 | country |", "| 2 | see `sankofa quarantine list` |"}


@pytest.mark.parametrize(("table", "hidden"), [(TENDER_PARTIES, True), (MACRO_SERIES, False)])
def test_reasons_quote_values_of_tables_without_people_only(
    tmp_path: Path, table: RecordTable, hidden: bool
) -> None:
    record = Record(str(tmp_path))
    row = party_row() if table is TENDER_PARTIES else series_row("1", party_row()["available_at"])
    faulty = [{**row, "country": SECRET}, {**row, "country": f"{SECRET} 2"}]
    rows, _ = to_arrow(table, faulty)
    # The first word of the second could be a column, and is a value.
    reasons = (f"{SECRET} is no organisation", "dlamini: not known")
    rejected = [RejectedRow("d1", f"d1#/{number}", why) for number, why in enumerate(reasons)]
    entry = append(record, table, rows, Load("test", ("d1",)), rejected=rejected)
    assert entry.quarantined == 4
    metadata = load_metadata(record, SOURCE, table, [entry])
    why = metadata["why quarantined"].value
    assert ("dlamini" in why.lower()) != hidden
    assert (set(why.splitlines()[2:]) == HIDDEN) == hidden
