"""Silent revisions: what a publisher changed without saying so, and nothing else."""

import hashlib
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest

from assets.derive.silent_revisions import TABLE
from pipelines.stages import derivations
from tests.helpers.facts import fact, facts
from tests.helpers.publishing import publish
from tests.helpers.record_rows import observation, release_row, series_row
from warehouse.publish.snapshot import DerivedTables, Snapshot
from warehouse.record.append import Load, append
from warehouse.record.documents import compact_moment, document_key, url_hash
from warehouse.record.incoming import to_arrow
from warehouse.record.merge import CompleteScope
from warehouse.record.store import Record
from warehouse.record.tables import (
    FUNDAMENTALS,
    MACRO_ANNUAL,
    MACRO_SERIES,
    TENDER_RELEASES,
    RecordTable,
)

URL = "https://example.org/series.csv"
PERIOD = date(2026, 1, 31)


def moment(day: int, hour: int = 6) -> datetime:
    return datetime(2026, 3, day, hour, tzinfo=UTC)


def read(record: Record, table: RecordTable, at: datetime, *rows: dict[str, Any]) -> None:
    """Load rows as a document at ``URL`` showed them at a moment."""
    digest = hashlib.sha256(str((at, rows)).encode()).hexdigest()
    shared = {"observed_at": at, "document": digest, "source_ref": f"{URL}#/1"}
    arrow, rejected = to_arrow(table, [row | shared for row in rows])
    assert not rejected
    key = document_key(url_hash(URL), f"{compact_moment(at)}-{digest}")
    append(record, table, arrow, Load("test", (key,)))


def first_read(value: str, at: datetime, **others: Any) -> dict[str, Any]:
    """A value of a publisher that gives no day."""
    day = at.date()
    undated = {"publication": str(day), "available_at_evidence": "first_read"}
    return series_row(value, PERIOD, available_at=day, **undated, **others)


@pytest.fixture
def revisions(record: Record, tmp_path: Path) -> Any:
    def made() -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []

        def look(snapshot: Snapshot, _: str | None) -> DerivedTables:
            found.extend(snapshot.read(f"FROM {TABLE} ORDER BY revision_id").to_pylist())
            return {}

        joins, *derived = derivations()
        chosen = [each for each in derived if TABLE in each.makes]
        publish(record, tmp_path / "mart", joins=joins, derivations=chosen, audit=look)
        return found

    return made


def test_a_value_that_a_publisher_overwrites_is_listed_with_the_readings_around_it(
    record: Record, revisions: Any
) -> None:
    for day, value in ((2, "16.05"), (3, "16.05"), (5, "18.97"), (6, "18.97")):
        read(record, MACRO_SERIES, moment(day), first_read(value, moment(day)))

    (revision,) = revisions()

    assert revision["kind"] == "overwritten"
    assert (revision["dataset"], revision["member"]) == ("AF-MACRO", "value")
    assert (revision["before"], revision["after"]) == ("16.05", "18.97")
    assert revision["before_since"] == date(2026, 3, 2)
    # Nothing was stored on the third: the ledger alone knows that the document was read.
    assert revision["before_last_seen_at"] == moment(3)
    assert revision["after_first_seen_at"] == moment(5)


def test_an_announced_revision_is_not_silent(record: Record, revisions: Any) -> None:
    for day, value in ((2, "16.05"), (5, "18.97")):
        row = series_row(value, PERIOD, available_at=date(2026, 3, day))
        read(record, MACRO_SERIES, moment(day), row | {"available_at_evidence": "published"})

    assert revisions() == []


def test_a_publication_that_shows_another_value_was_edited(record: Record, revisions: Any) -> None:
    for day, value in ((2, "16.05"), (5, "18.97")):
        row = series_row(value, PERIOD, available_at=date(2026, 1, 15))
        read(record, MACRO_SERIES, moment(day), row)

    (revision,) = revisions()

    assert (revision["kind"], revision["before"], revision["after"]) == (
        "edited",
        "16.05",
        "18.97",
    )
    assert revision["before_since"] == date(2026, 1, 15)


def test_annual_indicators_show_one_state_and_are_overwritten(
    record: Record, revisions: Any
) -> None:
    for day, value in ((2, "1.0"), (5, "1.5")):
        row = observation(value, PERIOD, available_at=None, indicator="NY.GDP.MKTP.CD")
        read(record, MACRO_ANNUAL, moment(day), row | {"publication": f"2026-03-{day:02}"})

    (revision,) = revisions()

    assert (revision["kind"], revision["indicator"]) == ("overwritten", "NY.GDP.MKTP.CD")
    assert revision["before_since"] == date(2026, 3, 2)


def test_a_new_version_of_a_filing_overwrites_and_a_later_filing_does_not(
    record: Record, revisions: Any
) -> None:
    filings = (
        (2, "-11016", "20931/2022-12-31/0004"),
        (5, "-8031", "20931/2022-12-31/0005"),
        (9, "-8000", "20931/2023-12-31/0001"),
    )
    for day, value, publication in filings:
        row = fact(value, available_at=date(2026, 3, day), publication=publication)
        append(
            record,
            FUNDAMENTALS,
            facts(row | {"observed_at": moment(day), "document": f"d{day}"}),
            Load("test", ("d",)),
        )

    (revision,) = revisions()

    assert (revision["before"], revision["after"]) == ("-11016", "-8031")
    assert revision["publication_before"] == "20931/2022-12-31/0004"


def test_a_release_is_compared_member_by_member(record: Record, revisions: Any) -> None:
    edited = '{"tender":{"value":{"amount":1700000.00,"currency":"ZAR"}},"buyer":null}'
    read(record, TENDER_RELEASES, moment(2), release_row(1))
    read(record, TENDER_RELEASES, moment(5), release_row(1, release=edited, tag="tender"))

    found = {row["member"]: (row["before"], row["after"], row["kind"]) for row in revisions()}

    assert found == {
        "tender.value.amount": ("1500000.10", "1700000.00", "edited"),
        "tag": ("tender,planning", "tender", "edited"),
    }


def test_what_is_no_longer_shown_was_removed_and_may_be_restored(
    record: Record, revisions: Any
) -> None:
    def shown(at: datetime, *numbers: int) -> None:
        rows = [release_row(number) for number in numbers]
        shared = {"observed_at": at, "document": f"d{at:%d}", "source_ref": f"{URL}#/1"}
        arrow, _ = to_arrow(TENDER_RELEASES, [row | shared for row in rows])
        scope = CompleteScope({"source": "test"}, at, f"d{at:%d}", f"{URL}#")
        append(record, TENDER_RELEASES, arrow, Load("test", ("d",)), complete=scope)

    shown(moment(2), 1, 2)
    shown(moment(5), 2)
    shown(moment(7), 1, 2)

    found = [(row["ocid"], row["kind"], row["before"], row["after"]) for row in revisions()]

    assert sorted(found) == [
        ("ocds-0001", "removed", "2026-01-02", None),
        ("ocds-0001", "restored", None, "2026-01-02"),
    ]
