"""What newer code no longer reads in a document is retracted, and nothing else is."""

from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from assets.ingest import load as load_module
from tests.helpers.monthly_portal import MonthlyPortal
from tests.helpers.nightly import times
from warehouse.record.as_of import Vintages, vintages_query
from warehouse.record.tables import MACRO_SERIES

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("in_this_process")]

ITEMS = ("profit", "revenue", "tax")


@pytest.fixture
def portal(tmp_path: Path) -> MonthlyPortal:
    return MonthlyPortal(tmp_path, complete=False)


def test_a_row_that_newer_code_does_not_read_is_retracted_on_every_day(
    portal: MonthlyPortal,
) -> None:
    portal.publish(1, b"revenue=1 profit=2")
    portal.load()
    portal.version, portal.unread = 2, {"profit"}
    assert portal.load() == {"read": 1, "held": 1, "retracted": 1}
    assert portal.values() == portal.values(date(2019, 4, 1)) == {"revenue": 1}
    assert portal.load() == {}


def test_a_pinned_version_keeps_a_row_that_was_retracted_later(portal: MonthlyPortal) -> None:
    portal.publish(1, b"revenue=1 profit=2")
    portal.load()
    pinned = portal.record.load_seq(MACRO_SERIES)
    portal.version, portal.unread = 2, {"profit"}
    portal.load()
    assert {item for item, *_ in answer(portal, load_seq=pinned)} == {"revenue", "profit"}


def test_a_row_that_is_read_again_after_all_counts_from_its_own_day(portal: MonthlyPortal) -> None:
    portal.publish(1, b"revenue=1 profit=2")
    portal.load()
    portal.version, portal.unread = 2, {"profit"}
    portal.load()
    portal.version, portal.unread = 3, set()
    assert portal.load() == {"read": 2, "appended": 1, "held": 1}
    assert portal.values(date(2019, 4, 1)) == {"revenue": 1, "profit": 2}
    assert portal.load() == {}


def test_what_another_document_states_stays(portal: MonthlyPortal) -> None:
    portal.publish(1, b"profit=2", path="a")
    portal.load()
    portal.publish(2, b"tax=3", path="b")
    portal.load()
    portal.version, portal.unread = 2, {"profit"}
    # That nothing is read in the first document any more is said too.
    assert portal.load() == {"read": 2, "held": 1, "quarantined": 1, "retracted": 1}
    assert portal.values() == {"tax": 3}


def test_a_value_that_only_one_of_two_documents_loses_is_that_of_the_other(
    portal: MonthlyPortal,
) -> None:
    portal.publish(1, b"profit=3", path="a")
    portal.publish(2, b"profit=2", path="a")
    portal.load()
    portal.version, portal.unread = 2, {"profit=3"}
    portal.load()
    assert portal.values(date(2019, 4, 1)) == portal.values() == {"profit": 2}


def test_a_document_that_is_read_in_parts_is_judged_as_a_whole(
    portal: MonthlyPortal, monkeypatch: pytest.MonkeyPatch
) -> None:
    portal.publish(1, b"revenue=1 profit=2 tax=3")
    portal.load()
    monkeypatch.setattr(load_module, "LARGE", 1)
    portal.version, portal.unread = 2, {"profit"}
    assert portal.load()["retracted"] == 1
    assert portal.values() == {"revenue": 1, "tax": 3}


def test_a_document_at_which_newer_code_fails_loses_nothing(portal: MonthlyPortal) -> None:
    portal.publish(1, b"revenue=1 profit=2")
    portal.load()
    portal.version, portal.unread, portal.bugs = 2, {"profit"}, {"revenue"}
    assert portal.load() == {"failed": 1}
    assert portal.values() == {"revenue": 1, "profit": 2}


lines = st.dictionaries(st.sampled_from(ITEMS), st.integers(1, 3), min_size=1)
documents = st.tuples(st.integers(1, 10), st.sampled_from("ab"), lines)
unread = st.sampled_from([*ITEMS, *(f"{item}={value}" for item in ITEMS for value in (1, 2, 3))])
versions = st.lists(st.sets(unread, max_size=3), min_size=1, max_size=4)


# Three documents of one moment, two of which say the same.
_SAME_MOMENT = [(6, "a", {"profit": value, "tax": tax}) for value, tax in ((2, 1), (1, 1), (1, 2))]


@settings(max_examples=times(3))
@example(batches=[_SAME_MOMENT], versions=[set(), set()])
@given(batches=st.lists(st.lists(documents, max_size=3), min_size=1, max_size=3), versions=versions)
def test_after_any_versions_the_record_answers_as_if_only_the_last_had_read_it(
    batches: list[list[tuple[int, str, dict[str, int]]]], versions: list[set[str]]
) -> None:
    with TemporaryDirectory() as folder:
        grown = MonthlyPortal(Path(folder, "grown"), complete=False)
        fresh = MonthlyPortal(Path(folder, "fresh"), complete=False)
        for number, unread in enumerate(versions):
            grown.version, grown.unread = number + 1, unread
            for month, path, items in batches[number] if number < len(batches) else []:
                body = " ".join(f"{item}={value}" for item, value in items.items()).encode()
                for portal in (grown, fresh):
                    portal.publish(month, body, path)
            grown.load()
        fresh.version, fresh.unread = len(versions), versions[-1]
        fresh.load()
        choices: tuple[Vintages, ...] = ("all", "latest", "as_reported")
        for vintages in choices:
            for day in (None, date(2019, 4, 1), date(2026, 6, 15)):
                assert answer(grown, day, vintages) == answer(fresh, day, vintages)


def answer(
    portal: MonthlyPortal,
    as_of: date | None = None,
    vintages: Vintages = "latest",
    load_seq: int | None = None,
) -> list[tuple[object, ...]]:
    statement = vintages_query(
        MACRO_SERIES,
        portal.record.relation("macro_series"),
        as_of=as_of,
        vintages=vintages,
        load_seq=load_seq,
    )
    rows = portal.record.query(statement).to_pylist()
    return sorted(
        (row["series"], row["vintage"], row["available_at"], row["value"]) for row in rows
    )
