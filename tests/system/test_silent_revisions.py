"""Silent revisions: what a publisher changed without saying so, and nothing else."""

import hashlib
from datetime import UTC, date, datetime
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

PERIOD = date(2026, 1, 31)
GDP = "NY.GDP.MKTP.CD"


def moment(day: int, hour: int = 6) -> datetime:
    return datetime(2026, 3, day, hour, tzinfo=UTC)


def read(
    record: Record, table: RecordTable, name: str, at: datetime, *rows: dict[str, Any]
) -> None:
    """Load rows as a document of a name showed them at a moment."""
    url = f"https://example.org/{name}.csv"
    digest = hashlib.sha256(str((at, rows)).encode()).hexdigest()
    shared = {"observed_at": at, "document": digest, "source_ref": f"{url}#/1"}
    arrow, rejected = to_arrow(table, [row | shared for row in rows])
    assert not rejected
    key = document_key(url_hash(url), f"{compact_moment(at)}-{digest}")
    append(record, table, arrow, Load("test", (key,)))


def overwritten(record: Record) -> None:
    """A publisher that gives no day changes a value."""
    for day, value in ((2, "16.05"), (3, "16.05"), (5, "18.97"), (6, "18.97")):
        at = moment(day)
        undated = {"publication": str(at.date()), "available_at_evidence": "first_read"}
        row = series_row(value, PERIOD, series="OVERWRITTEN", available_at=at.date(), **undated)
        read(record, MACRO_SERIES, "overwritten", at, row)


def announced(record: Record) -> None:
    for day, value in ((2, "16.05"), (5, "18.97")):
        row = series_row(value, PERIOD, series="ANNOUNCED", available_at=date(2026, 3, day))
        row |= {"available_at_evidence": "published"}
        read(record, MACRO_SERIES, "announced", moment(day), row)


def edited(record: Record) -> None:
    for day, value in ((2, "16.05"), (5, "18.97")):
        row = series_row(value, PERIOD, series="EDITED", available_at=date(2026, 1, 15))
        read(record, MACRO_SERIES, "edited", moment(day), row)


def annual(record: Record) -> None:
    for day, value in ((2, "1.0"), (5, "1.5")):
        row = observation(value, PERIOD, available_at=None, indicator=GDP)
        row |= {"publication": f"2026-03-{day:02}"}
        read(record, MACRO_ANNUAL, "annual", moment(day), row)


def filed(record: Record) -> None:
    """A new version of a filing, and a later filing."""
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


def released(record: Record) -> None:
    changed = '{"tender":{"value":{"amount":1700000.00,"currency":"ZAR"}},"buyer":null}'
    read(record, TENDER_RELEASES, "released", moment(2), release_row(7))
    changed_row = release_row(7, release=changed, tag="tender")
    read(record, TENDER_RELEASES, "released", moment(5), changed_row)


def removed(record: Record) -> None:
    """A release that is shown, then not, then again, by a source that shows all it has."""
    for day, numbers in ((2, (1, 2)), (5, (2,)), (7, (1, 2))):
        at = moment(day)
        place = {"document": f"d{at:%d}", "source_ref": "https://example.org/removed.csv#/1"}
        rows = [release_row(n, source="shows all", observed_at=at, **place) for n in numbers]
        arrow, _ = to_arrow(TENDER_RELEASES, rows)
        scope = CompleteScope({"source": "shows all"}, at, f"d{at:%d}", place["source_ref"])
        append(record, TENDER_RELEASES, arrow, Load("shows all", ("d",)), complete=scope)


STORIES = (overwritten, announced, edited, annual, filed, released, removed)


@pytest.fixture(scope="module")
def revisions(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """What one publication finds in the readings of all stories."""
    folder = tmp_path_factory.mktemp("silent")
    record, found = Record(str(folder / "record")), list[dict[str, Any]]()
    for story in STORIES:
        story(record)

    def look(snapshot: Snapshot, _: str | None) -> DerivedTables:
        found.extend(snapshot.read(f"FROM {TABLE} ORDER BY revision_id").to_pylist())
        return {}

    joins, *derived = derivations()
    chosen = [each for each in derived if TABLE in each.makes]
    publish(record, folder / "mart", joins=joins, derivations=chosen, audit=look)
    return found


def of(revisions: list[dict[str, Any]], column: str, *values: str | None) -> list[dict[str, Any]]:
    return [row for row in revisions if row[column] in values]


def test_a_value_that_a_publisher_overwrites_is_listed_with_the_readings_around_it(
    revisions: list[dict[str, Any]],
) -> None:
    (revision,) = of(revisions, "series", "OVERWRITTEN")

    assert revision["kind"] == "overwritten"
    assert (revision["dataset"], revision["member"]) == ("AF-MACRO", "value")
    assert (revision["before"], revision["after"]) == ("16.05", "18.97")
    assert revision["before_since"] == date(2026, 3, 2)
    # Nothing was stored on the third: the ledger alone knows that the document was read.
    assert revision["before_last_seen_at"] == moment(3)
    assert revision["after_first_seen_at"] == moment(5)


def test_an_announced_revision_is_not_silent(revisions: list[dict[str, Any]]) -> None:
    assert of(revisions, "series", "ANNOUNCED") == []


def test_a_publication_that_shows_another_value_was_edited(
    revisions: list[dict[str, Any]],
) -> None:
    (revision,) = of(revisions, "series", "EDITED")

    values = (revision["kind"], revision["before"], revision["after"])
    assert values == ("edited", "16.05", "18.97")
    assert revision["before_since"] == date(2026, 1, 15)


def test_annual_indicators_show_one_state_and_are_overwritten(
    revisions: list[dict[str, Any]],
) -> None:
    (revision,) = of(revisions, "indicator", GDP)

    assert revision["kind"] == "overwritten"
    assert revision["before_since"] == date(2026, 3, 2)


def test_a_new_version_of_a_filing_overwrites_and_a_later_filing_does_not(
    revisions: list[dict[str, Any]],
) -> None:
    (revision,) = of(revisions, "dataset", "AF-FUND")

    assert (revision["before"], revision["after"]) == ("-11016", "-8031")
    assert revision["publication_before"] == "20931/2022-12-31/0004"


def test_a_release_is_compared_member_by_member(revisions: list[dict[str, Any]]) -> None:
    rows = of(revisions, "ocid", "ocds-0007")
    found = {row["member"]: (row["before"], row["after"], row["kind"]) for row in rows}

    assert found == {
        "tender.value.amount": ("1500000.10", "1700000.00", "edited"),
        "tag": ("tender,planning", "tender", "edited"),
    }


def test_what_is_no_longer_shown_was_removed_and_may_be_restored(
    revisions: list[dict[str, Any]],
) -> None:
    rows = of(revisions, "ocid", "ocds-0001", "ocds-0002")
    found = [(row["ocid"], row["kind"], row["before"], row["after"]) for row in rows]

    assert sorted(found) == [
        ("ocds-0001", "removed", "2026-01-02", None),
        ("ocds-0001", "restored", None, "2026-01-02"),
    ]
