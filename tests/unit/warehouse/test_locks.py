"""Locks and leases: whoever waits knows for whom, and a process that is gone keeps nothing."""

import logging
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from tests.helpers.waiting import wait_until
from warehouse.record import lease as leases
from warehouse.record.lease import Lease, hold_lease, holder_of
from warehouse.shared import locks
from warehouse.shared.errors import SankofaError
from warehouse.shared.file_store import FileStore
from warehouse.shared.locks import alive_file, is_locked, lock_owner, named_lock

# Takes a lock of each kind in the folder that is its argument, and waits to be killed.
KEEPER = """
import sys, time
from pathlib import Path
from warehouse.shared.locks import alive_file, named_lock
folder = Path(sys.argv[1])
with named_lock(folder / "lock", "the builds"), alive_file(folder / "alive"):
    time.sleep(600)
"""


def test_whoever_waits_for_long_says_for_what_and_who_uses_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(locks, "_ANNOUNCED_AFTER", 0.01)
    lock, taken = tmp_path / "lock", threading.Event()

    def take() -> None:
        with named_lock(lock, "the builds"):
            taken.set()

    waiting = threading.Thread(target=take)
    with named_lock(lock, "the builds"):
        owner = lock_owner(lock)
        waiting.start()
        wait_until(lambda: caplog.records)
        assert not taken.is_set()
    waiting.join()

    assert taken.is_set() and lock_owner(lock) is None
    assert owner is not None and owner.startswith(f"process {os.getpid()} on ")
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert f"waiting for the builds, in use by {owner}; " in record.getMessage()


def test_what_a_killed_process_had_is_free_and_shows_that_it_was_killed(tmp_path: Path) -> None:
    lock, alive = tmp_path / "lock", tmp_path / "alive"
    with subprocess.Popen([sys.executable, "-c", KEEPER, str(tmp_path)]) as keeper:
        wait_until(alive.exists)
        assert is_locked(alive)
        assert str(keeper.pid) in str(lock_owner(lock))
        keeper.kill()
    assert lock_owner(lock) is None
    assert alive.exists() and not is_locked(alive)


def test_a_file_of_a_living_process_goes_when_its_work_is_done(tmp_path: Path) -> None:
    alive = tmp_path / "alive"
    with alive_file(alive):
        # As of a run whose process shows already that it is alive.
        with alive_file(alive):
            pass
        assert is_locked(alive)
    assert not alive.exists() and not is_locked(alive)


# Leases


@pytest.fixture
def store(tmp_path: Path) -> FileStore:
    return FileStore.of(str(tmp_path))


def test_it_is_held_by_one_at_a_time(store: FileStore) -> None:
    holders: list[int] = []

    def work(number: int) -> None:
        with hold_lease(store, "work", poll=0.01) as lease:
            holders.append(number)
            assert len(holders) == 1
            time.sleep(0.02)
            lease.check()
            holders.remove(number)

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(work, range(8)))
    assert holder_of(store, "work") is None
    # Each taking and release replaces the object before it.
    assert len(store.listing(".leases", "work")) == 1


def test_it_is_renewed_while_it_is_held(store: FileStore, monkeypatch: pytest.MonkeyPatch) -> None:
    # Renewed often within a long duration: a machine that halts for seconds does not lose it.
    monkeypatch.setattr(leases, "_RENEWALS", 600)
    with hold_lease(store, "work") as lease:
        first = lease._deadline
        wait_until(lambda: lease._deadline > first, 20, every=0.1, failure=lambda: "not renewed")
        lease.check()
        assert holder_of(store, "work") is not None


def test_one_that_is_renewed_no_more_is_taken_over_and_lost(
    store: FileStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as killed:
        killed.setattr(Lease, "_renew", lambda _: None)
        dead = Lease(store, "work", "dead", 0.3)
        assert dead.take(1)
    began = time.monotonic()
    with hold_lease(store, "work", poll=0.01) as lease:
        assert time.monotonic() - began >= 0.3
        lease.check()
        with pytest.raises(SankofaError, match="could not be renewed in time"):
            dead.check()
        # It wakes up, and learns that it is no longer the holder.
        assert not dead._advance(2)
        dead.release()
        lease.check()
        assert len(store.listing(".leases", "work")) == 1


@pytest.mark.parametrize("ahead", [-3600, 3600])
def test_a_wrong_clock_of_the_holder_does_not_end_it_early(store: FileStore, ahead: float) -> None:
    """Only one that is long over by its own clock is taken over at once."""
    until = datetime.now(UTC) + timedelta(seconds=ahead)
    seconds = 600 if ahead < 0 else 0.4
    state = leases._State("other:1:x", seconds, until)
    store.put(msgspec.json.encode(state), ".leases", "work", f"{7:020}.json")
    began = time.monotonic()
    with hold_lease(store, "work", poll=0.01):
        waited = time.monotonic() - began
    assert waited < seconds if ahead < 0 else waited >= seconds


def test_a_number_that_was_used_before_takes_nothing(store: FileStore) -> None:
    """Somebody saw that it was free, slept, and writes the number that was next then."""
    sleeper = Lease(store, "work", "sleeper", 60)
    for _ in range(3):
        with hold_lease(store, "work"):
            pass
    with hold_lease(store, "work") as lease:
        assert not sleeper.take(1)
        lease.check()
        assert len(store.listing(".leases", "work")) == 1
