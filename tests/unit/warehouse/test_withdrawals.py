"""What a publisher took back is withdrawn by appending, and what failed is not."""

from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from tests.helpers.facts import fact, facts
from warehouse.errors import BadTable
from warehouse.record.append import Load, append
from warehouse.record.as_of import vintages_query
from warehouse.record.incoming import RejectedRow
from warehouse.record.merge import CompleteScope
from warehouse.record.store import Record
from warehouse.record.tables import FUNDAMENTALS
from warehouse.tables import LoadEntry

FEBRUARY = datetime(2026, 2, 1, 6, tzinfo=UTC)
MARCH = datetime(2026, 3, 1, 6, tzinfo=UTC)


def look(
    record: Record, observed_at: datetime, *items: str, rejected: tuple[RejectedRow, ...] = ()
) -> LoadEntry:
    """All of the issuer's figures, as one look at the publisher showed them."""
    document = observed_at.isoformat()
    rows = [fact("1", item=item, observed_at=observed_at, document=document) for item in items]
    complete = CompleteScope({"service_id": "DCTEST1"}, observed_at, document, "the look")
    load = Load("test", (document,))
    return append(record, FUNDAMENTALS, facts(*rows), load, rejected=rejected, complete=complete)


def items(record: Record, as_of: date | None = None) -> set[str]:
    statement = vintages_query(FUNDAMENTALS, record.relation("fundamentals"), as_of=as_of)
    return set(record.query(statement)["line_item"].to_pylist())


@pytest.fixture
def both(record: Record) -> Record:
    rows = facts(fact("1"), fact("1", item="profit"), fact("1", issuer="DCOTHER", item="tax"))
    append(record, FUNDAMENTALS, rows, Load("test", ("d0",)))
    return record


def test_what_is_no_longer_shown_is_withdrawn_from_that_day_on(both: Record) -> None:
    entry = look(both, FEBRUARY, "revenue")
    assert (entry.read, entry.held, entry.appended, entry.withdrawn) == (1, 1, 0, 1)
    assert items(both) == {"revenue", "tax"}
    assert items(both, date(2026, 1, 31)) == {"revenue", "profit", "tax"}
    statement = vintages_query(FUNDAMENTALS, both.relation("fundamentals"), vintages="all")
    values = [
        (row["vintage"], row["value_reported"], row["withdrawn"])
        for row in both.query(statement).to_pylist()
        if row["line_item"] == "profit"
    ]
    assert sorted(values) == [(1, Decimal(1), False), (2, None, True)]


def test_looking_again_withdraws_nothing_more(both: Record) -> None:
    look(both, FEBRUARY, "revenue")
    assert look(both, MARCH, "revenue").withdrawn == 0


def test_what_comes_back_is_known_again_from_that_day_on(both: Record) -> None:
    look(both, FEBRUARY, "revenue")
    assert look(both, MARCH, "revenue", "profit").appended == 1
    assert "profit" not in items(both, date(2026, 2, 15))
    assert "profit" in items(both, date(2026, 3, 1))


def test_a_look_in_which_anything_was_unreadable_withdraws_nothing(both: Record) -> None:
    broken = RejectedRow("d", "d#/1", "not a number")
    assert look(both, FEBRUARY, "revenue", rejected=(broken,)).withdrawn == 0


def test_an_empty_look_withdraws_nothing(both: Record) -> None:
    assert look(both, FEBRUARY).withdrawn == 0
    assert items(both) == {"revenue", "profit", "tax"}


def test_a_look_older_than_a_reading_does_not_withdraw_it(record: Record) -> None:
    append(record, FUNDAMENTALS, facts(fact("1", observed_at=MARCH)), Load("test", ("d0",)))
    assert look(record, FEBRUARY, "profit").withdrawn == 0
    assert items(record) == {"revenue", "profit"}


def test_a_scope_that_does_not_identify_a_figure_is_refused(both: Record) -> None:
    complete = CompleteScope({"method": "xbrl"}, FEBRUARY, "d", "r")
    with pytest.raises(BadTable, match="'method' does not identify a figure"):
        append(both, FUNDAMENTALS, facts(fact()), Load("test", ("d",)), complete=complete)
