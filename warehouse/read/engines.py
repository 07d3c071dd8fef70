"""Reading a build by SQL, the same on both engines: ``?`` for a value, rows as tuples."""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from warehouse.errors import DatastoreUnavailable, NothingPublished, UnknownVersion
from warehouse.mart.builds import is_database, local_folder
from warehouse.mart.pointer import build_file, current

Found = list[tuple[Any, ...]]
Ask = Callable[[str, Sequence[object]], Found]

NOTHING = "nothing has been published yet; run `sankofa publish`"


class Engine(Protocol):
    """The builds of a place, as one thread reads them."""

    def current(self) -> str:
        """Name the build to read now."""

    def open(self, data_version: str) -> Ask:
        """Open a build for asking."""

    def close(self) -> None:
        """Let go of what is open; the next read opens it again."""


def engine_at(place: str | Path) -> Callable[[], Engine]:
    """Give what makes an engine for a thread that reads a place."""
    if is_database(place):
        from warehouse.read.postgres import PostgresEngine

        return lambda: PostgresEngine(str(place))
    return lambda: SqliteEngine(local_folder(place))


# The current build, and the ones that walks by cursor still read.
_HELD_OPEN = 4


class SqliteEngine:
    """Files of a folder, each opened read-only and immutable."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._open: dict[Path, sqlite3.Connection] = {}

    def current(self) -> str:
        """Name the build that the pointer names."""
        build = current(self._folder)
        if build is None:
            raise NothingPublished(NOTHING)
        return build.stem

    def open(self, data_version: str) -> Ask:
        """Open the file of a build, or take the one that is open."""
        path = build_file(self._folder, data_version)
        held = self._open.pop(path, None)
        if held is None:
            if not path.is_file():
                raise UnknownVersion(f"{data_version!r} is not held any more")
            held = _opened(path)
        self._open[path] = held
        while len(self._open) > _HELD_OPEN:
            self._open.pop(next(iter(self._open))).close()
        connection = held

        def ask(statement: str, values: Sequence[object]) -> Found:
            with named(sqlite3.Error):
                return connection.execute(statement, values).fetchall()

        return ask

    def close(self) -> None:
        """Close every file that is open."""
        while self._open:
            self._open.popitem()[1].close()


def _opened(path: Path) -> sqlite3.Connection:
    address = f"{path.absolute().as_uri()}?mode=ro&immutable=1"
    with named(sqlite3.Error):
        connection = sqlite3.connect(
            address, uri=True, isolation_level=None, check_same_thread=False
        )
        connection.execute("PRAGMA mmap_size = 1073741824")
        return connection


@contextmanager
def named(error: type[Exception]) -> Iterator[None]:
    """Say of an engine's own error that the build cannot be read."""
    try:
        yield
    except error as failed:
        raise DatastoreUnavailable(f"the build cannot be read: {failed}") from failed
