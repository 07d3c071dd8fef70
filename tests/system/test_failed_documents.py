"""A parser that raises is our bug: its document stays unread, and is read once it is fixed."""

import threading
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import dagster as dg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assets.ingest import load
from assets.ingest.assets import ALIVE, FAILED_DOCUMENTS, loaded_assets
from assets.ingest.failures import ParserFailed, Raised, failure_of
from assets.ingest.load import failed_documents, has_unread, load_source
from assets.ingest.sources import SOURCES
from assets.parsing.parsed import Parsed
from pipelines.ingest_definitions import alive_resource
from tests.helpers.monthly_portal import MonthlyPortal
from tests.helpers.nightly import times
from tests.helpers.withheld_key import WITHHELD_KEY
from warehouse.record import upkeep
from warehouse.record.erase import enter_erasure, erase_rows
from warehouse.record.landing import Document
from warehouse.record.quarantine import add_failures, last_failures
from warehouse.record.store import Record
from warehouse.record.tables import MACRO_SERIES
from warehouse.shared.settings import read_settings

pytestmark = pytest.mark.usefixtures("in_this_process")


@pytest.fixture
def portal(tmp_path: Path) -> MonthlyPortal:
    return MonthlyPortal(tmp_path)


def test_one_that_fails_stays_unread_and_stops_nothing(portal: MonthlyPortal) -> None:
    portal.bugs = {"tax"}
    portal.publish(1, b"tax=1", path="a")
    portal.publish(1, b"revenue=2", path="b")
    portal.publish(1, b"profit=3", path="c")
    with pytest.raises(ParserFailed) as failed:
        load_source(portal.record, portal.landing, portal.source)
    message = str(failed.value)
    assert "the parser of test failed on 1 document; the rest of the source was loaded" in message
    assert "https://example.org/a: RuntimeError: a bug with tax" in message
    assert "(tests/helpers/monthly_portal.py:" in message and " in parse)" in message
    assert "the next `sankofa ingest test` reads them by itself" in message
    assert [entry.appended for entry in failed.value.entries] == [2]
    assert portal.values() == {"revenue": 2, "profit": 3}
    quarantine = portal.record.query(f"FROM {portal.record.relation('quarantine')}")
    assert len(quarantine) == 0


def test_once_fixed_it_is_read_and_nothing_else_is(portal: MonthlyPortal) -> None:
    portal.bugs = {"tax"}
    portal.publish(1, b"revenue=1", path="a")
    portal.publish(2, b"tax=1 profit=2", path="b")
    portal.publish(2, b"debt=3", path="c")
    assert portal.load() == {"read": 2, "appended": 2, "failed": 1}
    assert portal.load() == {"failed": 1}
    assert portal.parsed == ["tax=1 profit=2"]
    portal.bugs = set()
    assert portal.load() == {"read": 2, "appended": 2}
    # Tried, then read.
    assert portal.parsed == ["tax=1 profit=2"] * 2
    assert portal.load() == {} and portal.parsed == []


def test_those_observed_after_it_are_read_again_once_it_is_read(portal: MonthlyPortal) -> None:
    portal.bugs = {"=2"}
    for month, body in ((1, b"revenue=1"), (2, b"revenue=2"), (3, b"revenue=1 ")):
        portal.publish(month, body)
    assert portal.load() == {"read": 2, "appended": 1, "held": 1, "failed": 1}
    assert portal.load() == {"failed": 1} and portal.parsed == ["revenue=2"]
    portal.bugs = set()
    assert portal.load() == {"read": 2, "appended": 2}
    assert portal.values(date(2026, 2, 28)) == {"revenue": 2}
    assert portal.values(date(2026, 3, 31)) == {"revenue": 1}


def test_nothing_is_withdrawn_past_a_failed_document_of_the_same_address(
    portal: MonthlyPortal,
) -> None:
    portal.bugs = {"tax"}
    portal.publish(1, b"revenue=1 profit=2")
    portal.publish(2, b"revenue=1 tax=3")
    portal.publish(3, b"revenue=1")
    assert portal.load() == {"read": 3, "appended": 2, "held": 1, "failed": 1}
    assert portal.values() == {"revenue": 1, "profit": 2}
    portal.bugs = set()
    assert portal.load() == {"read": 3, "appended": 1, "held": 2, "withdrawn": 2}
    assert portal.values(date(2026, 2, 28)) == {"revenue": 1, "tax": 3}
    assert portal.values() == {"revenue": 1}


def test_a_load_that_dies_after_the_late_document_is_completed_by_the_next(
    portal: MonthlyPortal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(load, "BATCH", 1)
    portal.complete = False
    portal.publish(1, b"revenue=1")
    portal.publish(3, b"revenue=1 ")
    portal.load()
    portal.publish(2, b"revenue=2", path="b")

    def stop(done: int, _: int) -> None:
        if done == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        load_source(portal.record, portal.landing, portal.source, stop)
    assert portal.values(date(2026, 3, 31)) == {"revenue": 2}
    portal.load()
    assert portal.parsed == ["revenue=1 "]
    assert portal.values(date(2026, 3, 31)) == {"revenue": 1}


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_what_ends_the_process_enters_nothing_as_read(
    portal: MonthlyPortal, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    portal.publish(1, b"revenue=1")

    def interrupted(_: Document, __: bytes) -> Parsed:
        raise error

    with monkeypatch.context() as patched:
        patched.setattr(portal, "parse", interrupted)
        with pytest.raises(error):
            portal.load()
    assert has_unread(portal.record, portal.landing, portal.source)
    assert portal.load() == {"read": 1, "appended": 1}


def test_a_document_that_needs_too_much_memory_is_quarantined_and_not_tried_again(
    portal: MonthlyPortal, monkeypatch: pytest.MonkeyPatch
) -> None:
    portal.publish(1, b"revenue=1")

    def exhausted(_: Document, __: bytes) -> Parsed:
        raise MemoryError

    with monkeypatch.context() as patched:
        patched.setattr(portal, "parse", exhausted)
        assert portal.load() == {"read": 1, "quarantined": 1}
        assert portal.load() == {}


def test_rows_that_are_none_fail_their_document_and_not_its_batch(
    portal: MonthlyPortal, monkeypatch: pytest.MonkeyPatch
) -> None:
    portal.publish(1, b"revenue=1", path="a")
    portal.publish(1, b"profit=2", path="b")
    parse = portal.parse

    def broken(document: Document, body: bytes) -> Parsed:
        parsed = parse(document, body)
        if b"profit" in body:
            parsed.add(MACRO_SERIES, [None])  # type: ignore[list-item]
        return parsed

    with monkeypatch.context() as patched:
        patched.setattr(portal, "parse", broken)
        assert portal.load() == {"read": 1, "appended": 1, "failed": 1}
    assert portal.load() == {"read": 1, "appended": 1}


def test_a_stream_that_fails_half_way_stays_unread(
    portal: MonthlyPortal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(load, "LARGE", 0)
    portal.bugs = {"tax"}
    portal.publish(1, b"revenue=1 tax=2 profit=3")
    assert portal.load() == {"read": 1, "appended": 1, "failed": 1}
    # A large one costs much: once a day is enough while nothing has changed.
    assert portal.load() == {"failed": 1} and portal.parsed == []
    portal.bugs, portal.version = set(), 2
    assert portal.load() == {"read": 3, "appended": 2, "held": 1}
    assert portal.values() == {"revenue": 1, "tax": 2, "profit": 3}
    assert portal.load() == {}


def test_a_large_one_is_tried_again_after_a_day(
    portal: MonthlyPortal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(load, "LARGE", 0)
    portal.bugs = {"tax"}
    portal.publish(1, b"revenue=1 tax=2")
    portal.load()
    portal.bugs = set()
    assert portal.load() == {"failed": 1}
    monkeypatch.setattr(load, "_LARGE_AGAIN_AFTER", timedelta(0))
    assert portal.load() == {"read": 2, "appended": 1, "held": 1}


def test_trying_again_costs_no_more_with_more_failed_documents(
    portal: MonthlyPortal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(load, "MOST_FAILED_AGAIN", 2)
    portal.bugs = {"tax"}
    for number in range(5):
        portal.publish(1, f"tax={number}".encode(), path=str(number))
    assert portal.load() == {"failed": 5} and len(portal.parsed) == 5
    tried = set()
    for _ in range(3):
        assert portal.load() == {"failed": 5} and len(portal.parsed) == 2
        tried |= set(portal.parsed)
    assert tried == {f"tax={number}" for number in range(5)}
    portal.bugs = set()
    assert portal.load() == {"read": 5, "appended": 5}


def test_failures_of_a_batch_are_one_commit(portal: MonthlyPortal) -> None:
    portal.bugs = {"tax"}
    for number in range(5):
        portal.publish(1, b"tax=%d" % number, path=str(number))
    assert portal.load() == {"failed": 5}
    assert len(portal.record.files("failures")) == 1
    assert len(last_failures(portal.record, "test")) == 5


def test_failures_wait_for_an_erasure_and_leave_out_what_it_erased(portal: MonthlyPortal) -> None:
    portal.bugs = {"tax"}
    portal.publish(1, b"tax=1", path="a")
    portal.publish(1, b"tax=2", path="b")
    portal.load()
    failures = list(last_failures(portal.record, "test").values())
    erased = failures[0].document.partition("-")[0]
    # As in another process: it shares no lock of threads.
    writer = threading.Thread(
        target=add_failures, args=(Record(portal.record.root), failures), daemon=True
    )
    with portal.record.exclusive():
        moment = datetime(2026, 1, 1, tzinfo=UTC)
        enter_erasure(portal.record, erased, "test", moment, "a request", "op")
        writer.start()
        writer.join(0.3)
        assert writer.is_alive()
        erase_rows(portal.record, erased)
    writer.join(60)
    stored = portal.record.query(f"SELECT document FROM {portal.record.relation('failures')}")
    assert stored["document"].to_pylist() == [failures[1].document] * 2


def test_a_failed_document_is_no_reason_to_start_a_load(portal: MonthlyPortal) -> None:
    portal.bugs = {"tax"}
    portal.publish(1, b"tax=1")
    assert has_unread(portal.record, portal.landing, portal.source)
    portal.load()
    assert not has_unread(portal.record, portal.landing, portal.source)
    (failure,) = failed_documents(portal.record, portal.landing, portal.source)
    assert (failure.url, failure.error) == ("https://example.org/a", "RuntimeError")
    portal.version = 2
    assert has_unread(portal.record, portal.landing, portal.source)
    portal.bugs = set()
    portal.load()
    assert failed_documents(portal.record, portal.landing, portal.source) == []
    assert len(last_failures(portal.record, "test")) == 1


def test_another_version_reads_the_documents_of_its_source_and_no_other(tmp_path: Path) -> None:
    first, second = MonthlyPortal(tmp_path / "first"), MonthlyPortal(tmp_path / "second")
    for portal in (first, second):
        portal.publish(1, b"revenue=1 profit=2")
        portal.load()
    first.version = 2
    assert first.load() == {"read": 2, "held": 2}
    assert first.load() == {}
    assert second.load() == {}


def test_going_back_to_an_earlier_version_reads_again(portal: MonthlyPortal) -> None:
    """What the other version read has replaced the rows of the first."""
    portal.publish(1, b"revenue=1")
    portal.load()
    portal.version, portal.corrections = 2, {"value": Decimal(7)}
    assert portal.load() == {"read": 1, "appended": 1}
    portal.version, portal.corrections = 1, {}
    assert portal.load() == {"read": 1, "appended": 1}
    assert portal.load() == {}


def test_an_attempt_that_appended_nothing_leaves_what_was_read(portal: MonthlyPortal) -> None:
    """A bug that somebody tried in a working copy, and took back."""
    portal.publish(1, b"revenue=1", path="a")
    portal.load()
    portal.publish(1, b"profit=2", path="b")
    portal.version, portal.bugs = 2, {"="}
    assert portal.load() == {"failed": 2}
    portal.version, portal.bugs = 1, set()
    assert portal.load() == {"read": 1, "appended": 1}
    assert portal.parsed == ["profit=2"]


@pytest.mark.parametrize(("key", "kept"), [("h10", True), ("ke-ppip", False), ("gleif", False)])
def test_values_of_a_document_that_can_name_people_are_not_recorded(key: str, kept: bool) -> None:
    (source,) = (source for source in SOURCES if source.key == key)
    document = Document(
        "0" * 64, key, "https://example.org", "cc0", datetime(2026, 1, 1, tzinfo=UTC), 200, {}, 0
    )
    try:
        raise ValueError("A. Person is not\na number" + "!" * 1000)
    except ValueError as error:
        failure = failure_of(source, document, "1", Raised.of(error))
    assert failure.error == "ValueError" and "test_failed_documents.py:" in failure.location
    if kept:
        assert failure.message is not None and len(failure.message) == 300
        assert failure.message.startswith("A. Person is not a number!")
    else:
        assert "Person" not in failure.model_dump_json()


ITEMS = ("revenue", "profit", "tax")
bodies = st.dictionaries(st.sampled_from(ITEMS), st.integers(1, 3), min_size=1).map(
    lambda values: " ".join(f"{item}={value}" for item, value in values.items()).encode()
)
steps = st.one_of(
    st.tuples(st.just("land"), st.integers(1, 6), bodies, st.sampled_from("ab")),
    st.tuples(st.just("break"), st.sampled_from((*ITEMS, "=2"))),
    st.tuples(st.just("fix"), st.booleans()),
    st.tuples(st.just("ingest")),
)


@settings(max_examples=times(3), deadline=None)
@given(st.lists(steps, min_size=3, max_size=10), st.booleans(), st.booleans())
def test_after_any_failures_the_record_is_that_of_a_parser_that_never_failed(
    tmp_path_factory: pytest.TempPathFactory,
    steps: list[tuple[object, ...]],
    complete: bool,
    streamed: bool,
) -> None:
    folder = tmp_path_factory.mktemp("portals")
    failing = MonthlyPortal(folder / "failing", complete=complete)
    sound = MonthlyPortal(folder / "sound", complete=complete)
    with pytest.MonkeyPatch.context() as patched:
        if streamed:
            patched.setattr(load, "LARGE", 0)
        for step in [*at_moments(steps), ("fix", False), ("ingest",)]:
            for portal in (failing, sound):
                perform(portal, step, may_break=portal is failing)
        # Large documents wait for a day or a new version.
        if failing.load():
            failing.version += 1
            assert "failed" not in failing.load()
    assert failing.vintages() == sound.vintages()
    for month in range(1, 7):
        day = date(2026, month, 28)
        assert failing.values(day) == sound.values(day)
    assert failing.load() == {}


def at_moments(steps: list[tuple[object, ...]]) -> list[tuple[object, ...]]:
    """Return the steps without a second document of the same moment.

    Which of the two came first could not be known, and both orders would be right.
    """
    months: set[object] = set()
    kept = []
    for step in steps:
        if step[0] == "land":
            if step[1] in months:
                continue
            months.add(step[1])
        kept.append(step)
    return kept


def perform(portal: MonthlyPortal, step: tuple[object, ...], *, may_break: bool) -> None:
    match step:
        case ("land", int(month), bytes(body), str(path)):
            portal.publish(month, body, path)
        case ("break", str(bug)) if may_break:
            portal.bugs.add(bug)
        case ("fix", bool(with_version)):
            portal.bugs.clear()
            portal.version += with_version
        case ("ingest",):
            portal.load()


def test_the_dagster_step_fails_after_it_has_loaded_and_reported_the_rest(
    portal: MonthlyPortal, tmp_path: Path
) -> None:
    portal.bugs = {"tax"}
    portal.publish(1, b"tax=1", path="a")
    portal.publish(1, b"revenue=2", path="b")
    settings = read_settings({"SANKOFA_HOME": str(tmp_path), "SANKOFA_WITHHELD_KEY": WITHHELD_KEY})
    with dg.DagsterInstance.ephemeral() as instance:
        result = dg.materialize(
            [loaded_assets(portal.source, settings, None)],
            resources={ALIVE: alive_resource(settings)},
            instance=instance,
            raise_on_error=False,
        )
    (loaded,) = result.get_asset_materialization_events()
    metadata = loaded.step_materialization_data.materialization.metadata
    assert not result.success and metadata["appended"].value == 1
    (failed,) = (event for event in result.all_events if event.is_step_failure)
    user_failure = failed.step_failure_data.user_failure_data
    assert user_failure is not None and "failed on 1 document" in str(user_failure.description)
    listed = user_failure.metadata[FAILED_DOCUMENTS]
    assert isinstance(listed, dg.JsonMetadataValue) and isinstance(listed.value, list)
    assert [failure["url"] for failure in listed.value] == ["https://example.org/a"]
    assert portal.values() == {"revenue": 2}


def test_a_long_load_merges_its_files_and_enters_its_batches_together(
    portal: MonthlyPortal, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(12):
        portal.publish(1, b"a=%d" % number, day=number + 1)
    monkeypatch.setattr(load, "MOST_NOT_ENTERED", 4)
    monkeypatch.setattr(upkeep, "MAX_IN_LOAD", 4)
    assert portal.load()["appended"] == 12
    assert len(portal.record.files("macro_series")) <= 5
    assert len(portal.record.files("loads")) == 3
    assert portal.load() == {}
