"""Bodies that are older than the retention period go; nothing that was read of them changes."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assets.ingest.load import has_unread, lost_documents
from assets.ingest.quarantine import excerpt, retry
from assets.ingest.unread import RemovedBodies, remove_old_bodies
from tests.helpers.monthly_portal import MonthlyPortal
from tests.helpers.nightly import times
from warehouse.record.documents import Removal
from warehouse.record.erase import erasures
from warehouse.record.landing import Landing
from warehouse.record.quarantine import quarantined_rows
from warehouse.record.store import Record
from warehouse.shared.errors import LandingError

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("in_this_process")]

NOW = datetime(2026, 6, 1, tzinfo=UTC)
REMOVED = "its body was removed on 2026-06-01, after 90 days"


@pytest.fixture
def portal(tmp_path: Path) -> MonthlyPortal:
    return MonthlyPortal(tmp_path)


def remove(portal: MonthlyPortal, days: int = 90) -> RemovedBodies:
    return remove_old_bodies(portal.record, portal.landing, [portal.source], days, NOW)


def bodies(portal: MonthlyPortal) -> list[str]:
    """Return the content of every stored body, whoever could read it."""
    landing = portal.landing
    stored = {path.stem for path in Path(landing._root).glob("bodies/*/*.zst")}
    return sorted(
        landing.read(document).decode()
        for document in landing.documents("test")
        if document.removal is None and document.sha256 in stored
    )


def stored_files(portal: MonthlyPortal) -> int:
    return len(list(Path(portal.landing._root).glob("bodies/*/*")))


def test_an_old_body_goes_and_its_note_and_rows_stay(portal: MonthlyPortal) -> None:
    portal.publish(1, b"cpi=1")
    portal.publish(5, b"cpi=2")
    portal.load()
    before = portal.vintages()
    assert remove(portal).words == "1 bodies removed after 90 days"
    old, new = portal.landing.documents("test")
    assert (stored_files(portal), bodies(portal)) == (1, ["cpi=2"])
    assert (old.removal, new.removal) == (Removal(NOW, 90), None)
    assert portal.vintages() == before
    for read in (portal.landing.read, lambda document: portal.landing.beginning(document, 1)):
        with pytest.raises(LandingError, match=f"cannot be read again: {REMOVED}"):
            read(old)
    assert list(portal.landing.damage()) == []
    # Nothing is left to do.
    assert remove(portal).words == ""
    assert portal.load() == {}
    assert not has_unread(portal.record, portal.landing, portal.source)


def test_a_removal_is_entered_with_its_reason_and_is_no_erasure(portal: MonthlyPortal) -> None:
    portal.publish(1, b"cpi=1")
    portal.load()
    (document,) = portal.landing.documents("test")
    remove(portal)
    (entry,) = portal.record.query(f"FROM {portal.record.relation('erased')}").to_pylist()
    assert entry == {
        "document": document.sha256,
        "source": "test",
        "first_observed_at": document.observed_at,
        "data_versions": [],
        "why": "retention: older than 90 days (SANKOFA_LANDING_DAYS)",
        "who": "sankofa compact",
        "erased_at": NOW,
        "kept_days": 90,
    }
    # Rows of an erased document would be refused, and its later documents read again.
    assert erasures(portal.record) == []


def test_what_was_removed_and_another_record_never_read_is_lost_and_named(
    portal: MonthlyPortal,
) -> None:
    portal.publish(1, b"cpi=1")
    portal.load()
    remove(portal)
    assert lost_documents(portal.record, portal.landing, portal.source) == set()
    portal.version = 2
    assert lost_documents(portal.record, portal.landing, portal.source) == set()
    other = Record(f"{portal.record.root}-new")
    lost = lost_documents(other, portal.landing, portal.source)
    assert lost == portal.landing.keys("test") != set()


def test_what_is_unread_or_failed_stays_until_it_is_read(portal: MonthlyPortal) -> None:
    portal.publish(1, b"cpi=1")
    portal.publish(2, b"tax=2", path="b")
    assert remove(portal) == RemovedBodies(0, 2, 90)
    portal.bugs = {"tax"}
    assert portal.load()["failed"] == 1
    assert remove(portal) == RemovedBodies(1, 1, 90)
    assert bodies(portal) == ["tax=2"]
    portal.bugs = set()
    portal.load()
    assert remove(portal) == RemovedBodies(1, 0, 90)
    assert portal.values() == {"cpi": 1, "tax": 2}


def test_a_newer_version_reads_what_is_left_and_withdraws_nothing(portal: MonthlyPortal) -> None:
    portal.publish(1, b"cpi=1 tax=2")
    portal.publish(5, b"cpi=3 tax=2")
    portal.load()
    remove(portal)
    portal.version, portal.unread = 2, {"tax"}
    portal.load()
    # It reads no taxes any more. Those that the removed document stated stay as they were read.
    assert portal.parsed == ["cpi=3 tax=2"]
    assert portal.values() == {"cpi": 3, "tax": 2}
    assert portal.load() == {}
    assert not has_unread(portal.record, portal.landing, portal.source)


def test_the_same_bytes_again_are_stored_for_a_new_reading_alone(portal: MonthlyPortal) -> None:
    portal.publish(1, b"cpi=1")
    portal.load()
    remove(portal)
    portal.publish(5, b"cpi=1")
    assert (stored_files(portal), portal.load()) == (0, {})
    # The publisher goes back to them, and so does another address.
    portal.publish(5, b"cpi=2", day=2)
    portal.publish(5, b"cpi=1", day=3)
    portal.load()
    assert bodies(portal) == ["cpi=1", "cpi=2"]
    assert portal.values() == {"cpi": 1}
    assert [document.removal is None for document in portal.landing.documents("test")] == [
        *(False, True, True)
    ]


def test_a_body_stays_as_long_as_one_reading_of_it_is_young(portal: MonthlyPortal) -> None:
    portal.publish(1, b"cpi=1", path="a")
    portal.publish(5, b"cpi=1", path="b")
    portal.load()
    assert remove(portal) == RemovedBodies(0, 0, 90)
    assert remove(portal, days=5) == RemovedBodies(1, 0, 5)
    assert stored_files(portal) == 0


def test_a_removal_that_was_killed_is_finished_by_the_next(
    portal: MonthlyPortal, monkeypatch: pytest.MonkeyPatch
) -> None:
    portal.publish(1, b"cpi=1")
    portal.publish(2, b"tax=2", path="b")
    portal.load()
    before = portal.vintages()

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    for step in ("_write", "_delete_body"):
        with monkeypatch.context() as patched:
            patched.setattr(Landing, step, killed)
            with pytest.raises(KeyboardInterrupt):
                remove(portal)
        assert list(portal.landing.damage()) == []
        assert portal.load() == {}
    # A note that was replaced and not yet deleted counts once.
    assert len(portal.landing.documents("test")) == 2
    remove(portal)
    assert stored_files(portal) == 0
    assert portal.vintages() == before


def test_retrying_a_quarantined_row_says_that_the_body_was_removed(portal: MonthlyPortal) -> None:
    portal.publish(1, b"cpi=1 nonsense")
    portal.load()
    (refusal,) = quarantined_rows(portal.record, "test")
    (document,) = portal.landing.documents("test")
    assert excerpt(portal.landing, document, refusal) is not None
    remove(portal)
    (document,) = portal.landing.documents("test")
    assert excerpt(portal.landing, document, refusal) is None
    (outcome,) = retry(portal.record, portal.landing, portal.source, [refusal])
    assert outcome.became == "body removed"
    assert portal.values() == {"cpi": 1}


@settings(max_examples=times(3))
@given(
    published=st.lists(
        st.tuples(st.integers(1, 5), st.sampled_from("ab"), st.sampled_from(["x=1", "x=2 y=1"])),
        min_size=1,
        max_size=5,
    ),
    days=st.integers(1, 120),
)
def test_no_vintage_changes_whatever_is_removed_and_read_again(
    tmp_path_factory: pytest.TempPathFactory, published: list[tuple[int, str, str]], days: int
) -> None:
    portal = MonthlyPortal(tmp_path_factory.mktemp("removed"))
    for month, path, body in published:
        portal.publish(month, body.encode(), path)
    portal.load()
    before = [vintage[:4] for vintage in portal.vintages()]
    remove(portal, days)
    # A newer version that reads the same; of two equal documents it may name the other.
    portal.version = 2
    portal.load()
    assert [vintage[:4] for vintage in portal.vintages()] == before
    assert portal.load() == {}
