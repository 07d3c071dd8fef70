"""Reading a build by SQL, the same on both engines: ``?`` for a value, rows as tuples."""

import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from warehouse.errors import DatastoreUnavailable, NothingPublished, UnknownVersion
from warehouse.mart.sqlite_builds import build_file, current_build_file, pointer_file

SqlRows = list[tuple[Any, ...]]
RunQuery = Callable[[str, Sequence[object]], SqlRows]

NOTHING = "nothing has been published yet; run `sankofa publish`"


class Engine(Protocol):
    """The builds of a place, as one thread reads them."""

    def current(self) -> str:
        """Name the build to read now."""

    def open(self, data_version: str) -> RunQuery:
        """Open a build for asking; the same ``Ask`` as long as it stays open."""

    def close(self) -> None:
        """Let go of what is open; the next read opens it again."""


# The current build, and the ones that walks by cursor still read.
_HELD_OPEN = 4
# As much as SQLite maps; what lies beyond is read page by page.
_MAPPED = 0x7FFF0000


class SqliteEngine:
    """Files of a folder, each opened read-only and immutable."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._pointer = str(pointer_file(folder))
        self._seen: tuple[int, int] | None = None
        self._current = ""
        self._open: dict[str, tuple[sqlite3.Connection, RunQuery]] = {}

    def current(self) -> str:
        """Name the build that the pointer names; its file is read when it is another one."""
        try:
            stat = os.stat(self._pointer)  # noqa: PTH116
        except FileNotFoundError:
            raise NothingPublished(NOTHING) from None
        seen = (stat.st_ino, stat.st_mtime_ns)
        if seen != self._seen:
            build = current_build_file(self._folder)
            if build is None:
                raise NothingPublished(NOTHING)
            self._current, self._seen = build.stem, seen
        return self._current

    def open(self, data_version: str) -> RunQuery:
        """Open the file of a build, or take the one that is open."""
        held = self._open.pop(data_version, None)
        if held is None or data_version != self._current:
            path = build_file(self._folder, data_version)
            if not path.is_file():
                if held is not None:
                    held[0].close()
                raise UnknownVersion(f"{data_version!r} is not held any more")
        if held is None:
            connection = _opened(path)
            held = connection, _asking(connection)
        self._open[data_version] = held
        while len(self._open) > _HELD_OPEN:
            self._open.pop(next(iter(self._open)))[0].close()
        return held[1]

    def close(self) -> None:
        """Close every file that is open."""
        while self._open:
            self._open.popitem()[1][0].close()


def _opened(path: Path) -> sqlite3.Connection:
    address = f"{path.absolute().as_uri()}?mode=ro&immutable=1"
    with translate_errors(sqlite3.Error):
        connection = sqlite3.connect(
            address, uri=True, isolation_level=None, check_same_thread=False
        )
        connection.execute(f"PRAGMA mmap_size = {_MAPPED}")
        return connection


def _asking(connection: sqlite3.Connection) -> RunQuery:
    execute = connection.execute

    def ask(statement: str, values: Sequence[object]) -> SqlRows:
        try:
            return execute(statement, values).fetchall()
        except sqlite3.Error as failed:
            raise _unreadable(failed) from failed

    return ask


@contextmanager
def translate_errors(error: type[Exception]) -> Iterator[None]:
    """Say of an engine's own error that the build cannot be read."""
    try:
        yield
    except error as failed:
        raise _unreadable(failed) from failed


def _unreadable(failed: Exception) -> DatastoreUnavailable:
    return DatastoreUnavailable(f"the build cannot be read: {failed}")
