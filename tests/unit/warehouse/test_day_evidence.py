"""A row says whether its publisher gives the day that dates it, or we read it first on that day."""

from datetime import UTC, date, datetime
from typing import Any

import pytest

from tests.helpers.facts import fact, facts
from warehouse.record.append import Load, append
from warehouse.record.as_of import vintages_query
from warehouse.record.landing import Document
from warehouse.record.merge import CompleteScope, Rereading
from warehouse.record.store import Record
from warehouse.record.tables import FUNDAMENTALS
from warehouse.tables.operations import LoadEntry
from warehouse.tables.sighting import FIRST_READ, PUBLISHED

pytestmark = pytest.mark.slow

FILED = date(2019, 3, 29)
JANUARY, FEBRUARY = datetime(2026, 1, 1, 6, tzinfo=UTC), datetime(2026, 2, 1, 6, tzinfo=UTC)

Dated = tuple[date | None, str | None]


def read(
    record: Record,
    *rows: dict[str, Any],
    reread: bool = False,
    complete: CompleteScope | None = None,
) -> LoadEntry:
    documents = {(row["document"], row["observed_at"]) for row in rows}
    again = [
        Document(name, "test", name, "public-domain", moment, 200, {}, 1)
        for name, moment in documents
    ]
    return append(
        record,
        FUNDAMENTALS,
        facts(*rows),
        Load("test", tuple(name for name, _ in documents)),
        complete=complete,
        reread=Rereading(again) if reread else None,
    )


def dated(record: Record, item: str = "revenue", load_seq: int | None = None) -> list[Dated]:
    """Return the day of each vintage of a line, and how it is known."""
    relation = record.relation("fundamentals")
    statement = vintages_query(FUNDAMENTALS, relation, vintages="all", load_seq=load_seq)
    rows = [row for row in record.query(statement).to_pylist() if row["line_item"] == item]
    rows.sort(key=lambda row: int(row["vintage"]))
    return [(row["available_at"], row["available_at_evidence"]) for row in rows]


def test_the_day_of_a_silent_edit_is_that_of_our_reading(record: Record) -> None:
    first = fact("1", available_at_evidence=PUBLISHED)
    edited = first | fact("2", observed_at=FEBRUARY, document="d1")
    read(record, first)
    read(record, edited | {"available_at_evidence": PUBLISHED})
    assert dated(record) == [(FILED, PUBLISHED), (FEBRUARY.date(), FIRST_READ)]


def test_the_day_of_a_withdrawal_is_that_of_our_reading(record: Record) -> None:
    shown = [
        fact("1", item=item, available_at=FEBRUARY.date(), observed_at=FEBRUARY)
        | {"available_at_evidence": PUBLISHED}
        for item in ("revenue", "profit")
    ]
    read(record, *shown)
    later = FEBRUARY.replace(hour=9)
    still = shown[0] | {"observed_at": later, "document": "d1"}
    complete = CompleteScope({"service_id": "DCTEST1"}, later, "d1", "the scope")
    assert read(record, still, complete=complete).withdrawn == 1
    assert dated(record, "profit")[-1] == (FEBRUARY.date(), FIRST_READ)


@pytest.mark.parametrize("evidence", [PUBLISHED, FIRST_READ])
def test_newer_code_adds_how_a_day_is_known_and_no_vintage(record: Record, evidence: str) -> None:
    """Rows stored before the column was there have a null; no one edited anything."""
    first = fact("1", available_at_evidence=None)
    edited = fact("2", observed_at=FEBRUARY, document="d1", available_at_evidence=None)
    read(record, first)
    read(record, edited)
    pinned = record.load_seq(FUNDAMENTALS)
    before = dated(record)
    assert [day for day, _ in before] == [FILED, FEBRUARY.date()]
    entries = [
        read(record, row | {"available_at_evidence": evidence}, reread=True)
        for row in (first, edited)
    ]
    assert [(entry.appended, entry.retracted) for entry in entries] == [(1, 0), (0, 0)]
    assert dated(record) == [(FILED, evidence), (FEBRUARY.date(), FIRST_READ)]
    assert dated(record, load_seq=pinned) == before
    # Read once more, everything is as it is stored.
    for row in (first, edited):
        again = read(record, row | {"available_at_evidence": evidence}, reread=True)
        assert (again.appended, again.held) == (0, 1)


def test_a_reading_that_differs_in_nothing_but_the_evidence_is_the_same_content(
    record: Record,
) -> None:
    read(record, fact("1", available_at_evidence=None))
    later = fact("1", observed_at=FEBRUARY, document="d1", available_at_evidence=PUBLISHED)
    assert (entry := read(record, later)).appended == 0 and entry.held == 1
    assert dated(record) == [(FILED, None)]
