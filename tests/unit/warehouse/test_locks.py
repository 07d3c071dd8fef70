"""File locks: whoever waits knows for whom, and a process that is gone keeps nothing."""

import logging
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.helpers.waiting import wait_until
from warehouse import locks
from warehouse.locks import alive_file, is_locked, lock_owner, named_lock

# Takes a lock of each kind in the folder that is its argument, and waits to be killed.
KEEPER = """
import sys, time
from pathlib import Path
from warehouse.locks import alive_file, named_lock
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
