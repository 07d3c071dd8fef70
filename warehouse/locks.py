"""File locks among the processes of one machine.

They are ``flock`` locks: the kernel releases the lock of a process that dies, so a lock file
left behind by a killed process never blocks anyone. They belong to the open file and not to the
process, so two threads that open the same path exclude each other as well.

Lock files are never deleted: a process that waits for a deleted file would get a lock that nobody
else sees.
"""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


@contextmanager
def file_lock(path: Path) -> Iterator[IO[str]]:
    """Wait for the lock on a file and take it; yield the file, open at its start."""
    with _open(path) as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        yield file


@contextmanager
def shared_file_lock(path: Path) -> Iterator[None]:
    """Wait until nobody has ``file_lock`` of a file; many can have it shared at once."""
    with _open(path) as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        yield


@contextmanager
def try_file_lock(path: Path) -> Iterator[bool]:
    """Take the lock on a file if it is free; yield False at once if another process has it."""
    with _open(path) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield True


def _open(path: Path) -> IO[str]:
    path.parent.mkdir(parents=True, exist_ok=True)
    # Append mode creates the file and keeps what an earlier holder wrote into it.
    return path.open("a+", encoding="ascii", errors="replace")
