"""Figures that a publisher no longer shows are withdrawn by appending; failures are not."""

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest

from tests.helpers.facts import fact, facts
from warehouse.record.append import Load, append
from warehouse.record.as_of import vintages_query
from warehouse.record.incoming import RejectedRow
from warehouse.record.merge import CompleteScope
from warehouse.record.store import Record
from warehouse.record.tables import FUNDAMENTALS
from warehouse.shared.errors import BadTable
from warehouse.tables.operations import LoadEntry

pytestmark = pytest.mark.slow

FEBRUARY = datetime(2026, 2, 1, 6, tzinfo=UTC)
MARCH = datetime(2026, 3, 1, 6, tzinfo=UTC)


def load_scope(
    record: Record, observed_at: datetime, *items: str, rejected: tuple[RejectedRow, ...] = ()
) -> LoadEntry:
    """Load all figures that the publisher shows of the issuer at a moment."""
    document = observed_at.isoformat()
    rows = [fact("1", item=item, observed_at=observed_at, document=document) for item in items]
    complete = CompleteScope({"service_id": "DCTEST1"}, observed_at, document, "the scope")
    load = Load("test", (document,))
    return append(record, FUNDAMENTALS, facts(*rows), load, rejected=rejected, complete=complete)


def items(record: Record, as_of: date | None = None) -> set[str]:
    statement = vintages_query(FUNDAMENTALS, record.relation("fundamentals"), as_of=as_of)
    return set(record.query(statement)["line_item"].to_pylist())


@pytest.fixture
def two_issuers(record: Record) -> Record:
    rows = facts(fact("1"), fact("1", item="profit"), fact("1", issuer="DCOTHER", item="tax"))
    append(record, FUNDAMENTALS, rows, Load("test", ("d0",)))
    return record


def test_a_figure_that_is_no_longer_shown_is_withdrawn_from_that_day_on(
    two_issuers: Record,
) -> None:
    entry = load_scope(two_issuers, FEBRUARY, "revenue")
    assert (entry.read, entry.held, entry.appended, entry.withdrawn) == (1, 1, 0, 1)
    assert items(two_issuers) == {"revenue", "tax"}
    assert items(two_issuers, date(2026, 1, 31)) == {"revenue", "profit", "tax"}
    statement = vintages_query(FUNDAMENTALS, two_issuers.relation("fundamentals"), vintages="all")
    values = [
        (row["vintage"], row["value_reported"], row["withdrawn"])
        for row in two_issuers.query(statement).to_pylist()
        if row["line_item"] == "profit"
    ]
    assert sorted(values) == [(1, Decimal(1), False), (2, None, True)]


def test_loading_the_same_scope_later_withdraws_nothing_more(two_issuers: Record) -> None:
    load_scope(two_issuers, FEBRUARY, "revenue")
    assert load_scope(two_issuers, MARCH, "revenue").withdrawn == 0


def test_a_figure_that_comes_back_is_known_again_from_that_day_on(two_issuers: Record) -> None:
    load_scope(two_issuers, FEBRUARY, "revenue")
    assert load_scope(two_issuers, MARCH, "revenue", "profit").appended == 1
    assert "profit" not in items(two_issuers, date(2026, 2, 15))
    assert "profit" in items(two_issuers, date(2026, 3, 1))


def test_a_scope_with_an_unreadable_row_withdraws_nothing(two_issuers: Record) -> None:
    broken = RejectedRow("d", "d#/1", "not a number")
    assert load_scope(two_issuers, FEBRUARY, "revenue", rejected=(broken,)).withdrawn == 0


def test_what_is_left_out_of_a_row_that_was_read_hides_no_missing_one(two_issuers: Record) -> None:
    part = RejectedRow("d", "d#/1", "the name is withheld", partial=True)
    entry = load_scope(two_issuers, FEBRUARY, "revenue", rejected=(part,))
    assert (entry.withdrawn, entry.quarantined) == (1, 1)


def test_a_row_that_fails_a_rule_is_not_withdrawn_and_the_missing_ones_are(
    two_issuers: Record,
) -> None:
    def scope(*rows: dict[str, object]) -> LoadEntry:
        complete = CompleteScope({"service_id": "DCTEST1"}, FEBRUARY, "february", "the scope")
        load = Load("test", ("february",))
        return append(two_issuers, FUNDAMENTALS, facts(*rows), load, complete=complete)

    append(two_issuers, FUNDAMENTALS, facts(fact("1", item="assets")), Load("test", ("d0",)))
    read: dict[str, Any] = {"observed_at": FEBRUARY, "document": "february"}

    # Which figure it is about is not known: it may be any.
    entry = scope(fact("1", **read), fact("2", **read, item=""))
    assert (entry.quarantined, entry.withdrawn) == (1, 0)

    entry = scope(fact("1", **read), fact("2", **read, item="profit", currency_reported="Rand"))

    assert (entry.quarantined, entry.withdrawn) == (1, 1)
    assert items(two_issuers) == {"revenue", "profit", "tax"}


def test_an_empty_scope_withdraws_nothing(two_issuers: Record) -> None:
    assert load_scope(two_issuers, FEBRUARY).withdrawn == 0
    assert items(two_issuers) == {"revenue", "profit", "tax"}


def test_a_scope_observed_before_a_reading_does_not_withdraw_it(record: Record) -> None:
    append(record, FUNDAMENTALS, facts(fact("1", observed_at=MARCH)), Load("test", ("d0",)))
    assert load_scope(record, FEBRUARY, "profit").withdrawn == 0
    assert items(record) == {"revenue", "profit"}


def test_a_scope_that_does_not_identify_a_figure_is_refused(two_issuers: Record) -> None:
    complete = CompleteScope({"method": "xbrl"}, FEBRUARY, "d", "r")
    with pytest.raises(BadTable, match="'method' does not identify a figure"):
        append(two_issuers, FUNDAMENTALS, facts(fact()), Load("test", ("d",)), complete=complete)
