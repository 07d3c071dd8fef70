"""File locks among the processes of one machine.

They are ``flock`` locks: the kernel releases the lock of a process that dies, so a lock file
left behind by a killed process never blocks anyone. They belong to the open file and not to the
process, so two threads that open the same path exclude each other as well.

Lock files are never deleted: a process that waits for a deleted file would get a lock that no
other process sees. Files that show that a process is alive are deleted: nothing waits for them.
"""

import fcntl
import logging
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from threading import Timer
from typing import IO

# Seconds after which a wait is announced: most end sooner.
_ANNOUNCED_AFTER = 5.0
# Dagster shows what it logs in the run that waits (``pipelines/dagster_home.py``).
_log = logging.getLogger(__name__)


@contextmanager
def file_lock(path: Path) -> Iterator[IO[str]]:
    """Wait for the lock on a file and take it; yield the file, open at its start."""
    with _open(path) as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        yield file


@contextmanager
def named_lock(path: Path, what: str) -> Iterator[None]:
    """Wait for the lock on a file and take it; the file says who uses ``what`` it protects."""
    with _open(path) as file:
        if not _try_lock(file):
            with announced_wait(what, lambda: _written(path)):
                fcntl.flock(file, fcntl.LOCK_EX)
        file.truncate(0)
        now = datetime.now(UTC)
        file.write(f"process {os.getpid()} on {socket.gethostname()}, since {now:%F %T} UTC")
        file.flush()
        yield


def lock_owner(path: Path) -> str | None:
    """Return who has a named lock, and since when; None if it is free."""
    return _written(path) if is_locked(path) else None


@contextmanager
def announced_wait(what: str, owner: Callable[[], str]) -> Iterator[None]:
    """Wait in here; if that takes seconds, log what for and who uses it."""

    def announce() -> None:
        words = "waiting for %s, in use by %s; this goes on by itself once it is free"
        _log.warning(words, what, owner())

    timer = Timer(_ANNOUNCED_AFTER, announce)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


@contextmanager
def shared_file_lock(path: Path) -> Iterator[None]:
    """Wait until no one has ``file_lock`` of a file; many can have it shared at once."""
    with _open(path) as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        yield


@contextmanager
def try_file_lock(path: Path) -> Iterator[bool]:
    """Take the lock on a file if it is free; yield False at once if another process has it."""
    with _open(path) as file:
        yield _try_lock(file)


@contextmanager
def alive_file(path: Path) -> Iterator[None]:
    """Have a locked file while this process does something, unless it has it already.

    One that is there and not locked was left by a process that was killed.
    """
    if path.exists():
        yield
        return
    # It appears with its lock: no moment in which a living process looks dead.
    with _open(path.with_name(f".{path.name}")) as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        Path(file.name).rename(path)
        yield
        # While it is locked, for the same reason.
        path.unlink(missing_ok=True)


def is_locked(path: Path) -> bool:
    """Return whether a process has the lock on a file; creates no file."""
    try:
        with path.open() as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False


def _try_lock(file: IO[str]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _written(path: Path) -> str:
    return path.read_text("ascii", "replace") or "another process"


def _open(path: Path) -> IO[str]:
    path.parent.mkdir(parents=True, exist_ok=True)
    # Append mode creates the file and keeps what an earlier holder wrote into it.
    return path.open("a+", encoding="ascii", errors="replace")
