"""SQL over a build, the same on both engines: ``?`` for a value, rows as tuples.

The SQLite engine is here, the PostgreSQL engine in ``postgres``; ``mart`` chooses.
"""

import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from warehouse.errors import DatastoreUnavailable, NothingPublished
from warehouse.mart.sqlite_builds import (
    build_file,
    current_build_file,
    not_available,
    pointer_file,
)

SqlRows = list[tuple[Any, ...]]
RunQuery = Callable[[str, Sequence[object]], SqlRows]

NOTHING_PUBLISHED = "nothing has been published yet; run `sankofa publish`"


class Engine(Protocol):
    """The builds at a mart URL, as one thread reads them."""

    def current(self) -> str:
        """Return the data_version of the current build."""

    def open(self, data_version: str) -> RunQuery:
        """Open a build for queries; returns the same function as long as it stays open."""

    def close(self) -> None:
        """Close what is open; the next read opens it again."""


# The current build, and older ones that clients still page through by cursor.
_MAX_OPEN = 4
# The most that SQLite can map; what lies beyond is read page by page.
_MMAP_SIZE = 0x7FFF0000


class SqliteEngine:
    """Builds in a folder; each file is opened read-only and immutable."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._pointer = str(pointer_file(folder))
        self._pointer_seen: tuple[int, int] | None = None
        self._current = ""
        self._looked_up: str | None = None
        self._open: dict[str, tuple[sqlite3.Connection, RunQuery]] = {}

    def current(self) -> str:
        """Return the data_version of the current build."""
        # Called for every request: stat the pointer, and read it only after it was replaced.
        try:
            stat = os.stat(self._pointer)  # noqa: PTH116
        except FileNotFoundError:
            raise NothingPublished(NOTHING_PUBLISHED) from None
        # Every switch is a rename of a new file. Its inode may be a reused one, hence the time too.
        seen = (stat.st_ino, stat.st_mtime_ns)
        if seen != self._pointer_seen:
            build = current_build_file(self._folder)
            if build is None:
                raise NothingPublished(NOTHING_PUBLISHED)
            self._current, self._pointer_seen = build.stem, seen
        self._looked_up = self._current
        return self._current

    def open(self, data_version: str) -> RunQuery:
        """Open the file of a build, or return the query function of the one that is open."""
        # Popped and put back: the dictionary is ordered by last use.
        opened = self._open.pop(data_version, None)
        # Without a look at the pointer just before, this is a pin; the build that was current when
        # the thread last looked can have been deleted as well.
        is_current, self._looked_up = data_version == self._looked_up, None
        if opened is None or not is_current:
            # A build may have been deleted since; SQLite could still read the open file.
            path = build_file(self._folder, data_version)
            if not path.is_file():
                if opened is not None:
                    opened[0].close()
                raise not_available(self._folder, data_version)
        if opened is None:
            connection = _connect(path)
            opened = connection, _query_function(connection)
        self._open[data_version] = opened
        while len(self._open) > _MAX_OPEN:
            self._open.pop(next(iter(self._open)))[0].close()
        return opened[1]

    def close(self) -> None:
        """Close every file that is open."""
        while self._open:
            self._open.popitem()[1][0].close()


def _connect(path: Path) -> sqlite3.Connection:
    # A published file never changes: immutable spares SQLite all locking and change detection.
    uri = f"{path.absolute().as_uri()}?mode=ro&immutable=1"
    with translate_errors(sqlite3.Error):
        connection = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)
        connection.execute(f"PRAGMA mmap_size = {_MMAP_SIZE}")
        return connection


def _query_function(connection: sqlite3.Connection) -> RunQuery:
    execute = connection.execute

    def query(statement: str, values: Sequence[object]) -> SqlRows:
        try:
            return execute(statement, values).fetchall()
        except sqlite3.Error as error:
            raise _unreadable(error) from error

    return query


@contextmanager
def translate_errors(error_type: type[Exception]) -> Iterator[None]:
    """Raise ``DatastoreUnavailable`` for an engine's own errors."""
    try:
        yield
    except error_type as error:
        raise _unreadable(error) from error


def _unreadable(error: Exception) -> DatastoreUnavailable:
    return DatastoreUnavailable(f"the build cannot be read: {error}")
