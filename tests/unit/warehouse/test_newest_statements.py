"""Each statement of a period is served whole, from the newest publication that has it."""

import tempfile
from collections import defaultdict
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.facts import fact, facts
from tests.helpers.nightly import times
from warehouse.publish.snapshot import Snapshot
from warehouse.record.append import Load, append
from warehouse.record.incoming import to_arrow
from warehouse.record.store import Record
from warehouse.record.tables import FILINGS, FUNDAMENTALS, RECORD_TABLES

pytestmark = pytest.mark.slow

FIRST_DAY = date(2019, 3, 29)
BALANCE: dict[str, Any] = {"statement": "balance", "period_start": None, "period_type": "INSTANT"}
SHOWN = ("line_item", "period_end", "publication", "value_reported")

Lines = dict[str, int]
# Line, last day of the period, publication, value.
Shown = tuple[str, date, str, int]


class Published(NamedTuple):
    """A publication, the day on which it was published, and the balances it states."""

    name: str
    day: int
    balances: dict[date, Lines]


def rows_of(published: Published) -> list[dict[str, Any]]:
    return [
        fact(
            value=str(value),
            line_item=line,
            period_end=period_end,
            publication=published.name,
            available_at=FIRST_DAY + timedelta(days=published.day),
            **BALANCE,
        )
        for period_end, lines in published.balances.items()
        for line, value in lines.items()
    ]


def newest(rows: list[dict[str, Any]], days: range) -> dict[int, set[Shown]]:
    """Return what is shown on each day."""
    with tempfile.TemporaryDirectory() as temporary:
        record = Record(str(Path(temporary, "record")))
        append(record, FUNDAMENTALS, facts(*rows), Load("test", ("d",)))
        loads = {table.name: record.load_seq(table) for table in RECORD_TABLES}
        with Snapshot(Path(temporary, "stage"), record, loads, "20990101.1") as snapshot:
            snapshot.copy_record([FUNDAMENTALS])
            shown = snapshot.read("FROM newest_statements").to_pylist()
    by_day: dict[int, list[Shown]] = defaultdict(list)
    for row in shown:
        assert row["latest"] == (row["superseded_at"] is None)
        begin = (row["available_at"] - FIRST_DAY).days
        end = days.stop if row["latest"] else (row["superseded_at"] - FIRST_DAY).days
        for day in range(begin, end):
            by_day[day].append(tuple(row[name] for name in SHOWN))
    # On no day is a line shown twice.
    assert all(len(set(rows)) == len(rows) for rows in by_day.values())
    return {day: set(by_day[day]) for day in days}


THIS_YEAR, LAST_YEAR = date(2018, 12, 31), date(2017, 12, 31)
REPORT = Published("a-1", 0, {LAST_YEAR: {"total_assets": 100, "total_equity": 40}})


def test_a_later_statement_of_changes_does_not_take_a_line_out_of_its_balance_sheet() -> None:
    changes = {LAST_YEAR: {"total_equity": 38}, THIS_YEAR: {"total_assets": 120}}
    shown = newest(rows_of(REPORT) + rows_of(Published("a-2", 365, changes)), range(400))
    assert shown[399] == {
        ("total_assets", LAST_YEAR, "a-1", 100),
        ("total_equity", LAST_YEAR, "a-1", 40),
        ("total_assets", THIS_YEAR, "a-2", 120),
    }


def test_the_newest_publication_that_has_the_main_line_gives_every_line_that_it_states() -> None:
    restated = {LAST_YEAR: {"total_assets": 103, "inventories": 9}}
    shown = newest(rows_of(REPORT) + rows_of(Published("a-2", 365, restated)), range(400))
    assert {publication for _, _, publication, _ in shown[364]} == {"a-1"}
    assert shown[365] == {
        ("total_assets", LAST_YEAR, "a-2", 103),
        ("inventories", LAST_YEAR, "a-2", 9),
    }


def test_a_publication_without_the_main_line_counts_until_there_is_one_with_it() -> None:
    early = Published("a-0", 0, {THIS_YEAR: {"total_equity": 41}})
    whole = Published("a-1", 10, {THIS_YEAR: {"total_assets": 100}})
    late = Published("a-2", 20, {THIS_YEAR: {"total_equity": 42}})
    shown = newest([row for each in (late, early, whole) for row in rows_of(each)], range(30))
    assert shown[9] == {("total_equity", THIS_YEAR, "a-0", 41)}
    assert shown[29] == {("total_assets", THIS_YEAR, "a-1", 100)}


def test_a_publication_that_is_withdrawn_gives_way_to_the_one_before() -> None:
    newer = rows_of(Published("a-2", 5, {LAST_YEAR: {"total_assets": 103}}))
    missed_at = datetime(2026, 1, 9, 6, tzinfo=UTC)
    removal = {"value_reported": None, "withdrawn": True, "document": "d1"}
    seen = {"available_at": missed_at.date(), "observed_at": missed_at}
    gone = [{**row, **removal, **seen} for row in newer]
    day = (missed_at.date() - FIRST_DAY).days
    shown = newest(rows_of(REPORT) + newer + gone, range(day + 1))
    assert {publication for _, _, publication, _ in shown[day - 1]} == {"a-2"}
    assert {publication for _, _, publication, _ in shown[day]} == {"a-1"}


def test_a_figure_has_the_moment_of_the_filing_that_states_it(tmp_path: Path) -> None:
    record = Record(str(tmp_path / "record"))
    published = [
        Published(f"a-{number}", number, {LAST_YEAR: {"total_assets": 100}}) for number in (1, 2)
    ]
    # A data set states the minute; the list has the second.
    minutes = {"a-1": "2019-03-29T16:31:00-04:00"}
    named = [
        row | {"document_id": each.name, "accepted_at": minutes.get(each.name)}
        for each in published
        for row in rows_of(each)
    ]
    append(record, FUNDAMENTALS, facts(*named), Load("test", ("d",)))
    moments = {"a-1": "2019-03-29T16:31:22-04:00", "a-2": "2019-03-30T09:00:00-04:00", "a-3": None}
    listing = {"form": "20-F", "received_on": FIRST_DAY, "withdrawn": False}
    same = {**listing, "source": "list", "source_ref": "list#/0", "document": "d1", "method": "api"}
    common = {
        name: named[0][name]
        for name in ("available_at", "observed_at", "license_class", "service_id")
    }
    listed = [
        {**common, **same, "publication": name, "document_id": name, "accepted_at": moment}
        for name, moment in moments.items()
    ]
    table, misfits = to_arrow(FILINGS, listed)
    assert not misfits
    append(record, FILINGS, table, Load("test", ("d1",)))
    loads = {table.name: record.load_seq(table) for table in RECORD_TABLES}
    with Snapshot(tmp_path / "stage", record, loads, "20990101.1") as snapshot:
        snapshot.copy_record([FUNDAMENTALS])
        moment = "SELECT accepted_at FROM {} WHERE latest"
        (vintage,) = snapshot.rows(moment.format("fundamentals"))
        (whole,) = snapshot.rows(moment.format("newest_statements"))
    # The value is that of the first filing; the statement as a whole that of the second.
    assert (vintage, whole) == ((moments["a-1"],), (moments["a-2"],))


def test_the_minute_of_a_data_set_counts_for_the_whole_filing_where_no_list_has_it(
    tmp_path: Path,
) -> None:
    record, minute = Record(str(tmp_path / "record")), "2019-03-29T16:31:00-04:00"
    lines: dict[str, int] = {"total_assets": 100, "total_equity": 40}
    rows = [
        row | {"document_id": "a-1", "accepted_at": moment}
        for row, moment in zip(
            rows_of(Published("a-1", 1, {LAST_YEAR: lines})), (minute, None), strict=True
        )
    ]
    append(record, FUNDAMENTALS, facts(*rows), Load("test", ("d",)))
    loads = {table.name: record.load_seq(table) for table in RECORD_TABLES}
    with Snapshot(tmp_path / "stage", record, loads, "20990101.1") as snapshot:
        snapshot.copy_record([FUNDAMENTALS])
        assert snapshot.rows("SELECT accepted_at FROM fundamentals") == [(minute,), (minute,)]


LINES = st.dictionaries(
    st.sampled_from(["total_assets", "total_equity", "inventories"]), st.integers(1, 3), min_size=1
)
BALANCES = st.dictionaries(st.sampled_from([LAST_YEAR, THIS_YEAR]), LINES, min_size=1)


@settings(max_examples=times(10))
@given(st.lists(st.tuples(st.integers(0, 4), BALANCES), min_size=1, max_size=5))
def test_every_day_shows_what_a_reader_of_the_publications_would_take(
    stated: list[tuple[int, dict[date, Lines]]],
) -> None:
    published = [
        Published(f"a-{number}", day, balances) for number, (day, balances) in enumerate(stated)
    ]
    shown = newest([row for each in published for row in rows_of(each)], range(6))
    for day, rows in shown.items():
        expected: set[Shown] = set()
        for period in (LAST_YEAR, THIS_YEAR):
            known = [each for each in published if each.day <= day and period in each.balances]
            whole = [each for each in known if "total_assets" in each.balances[period]]
            for last in sorted(whole or known, key=lambda each: (each.day, each.name))[-1:]:
                lines = last.balances[period].items()
                expected |= {(line, period, last.name, value) for line, value in lines}
        assert rows == expected
