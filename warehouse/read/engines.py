"""The files of builds, the same on both engines: SQL with ``?`` for a value, rows as tuples.

The SQLite engine is here, the PostgreSQL engine in ``postgres``; ``mart`` chooses.
"""

import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

from warehouse.errors import DatastoreUnavailable, NothingPublished
from warehouse.mart.sqlite_builds import (
    build_file,
    current_build_file,
    not_available,
    pointer_file,
    read_manifest,
)
from warehouse.read.open_files import OpenFiles
from warehouse.steps.files import BuildFile, BuildManifest

SqlRows = list[tuple[Any, ...]]
RunQuery = Callable[[str, Sequence[object]], SqlRows]

NOTHING_PUBLISHED = "nothing has been published yet; run `sankofa publish`"


@dataclass(frozen=True, slots=True)
class FileReader:
    """One file of a build, open for queries.

    ``prefix`` stands before the name of a table in a statement. ``label`` says which rows lie in
    the file. Full-text search is written otherwise for each ``engine``.
    """

    label: str
    prefix: str
    run: RunQuery
    engine: Literal["sqlite", "postgresql"] = "sqlite"

    def query(self, statement: str, *values: object) -> SqlRows:
        """Run an SQL statement with a ``?`` for each value."""
        return self.run(statement, values)


class Engine(Protocol):
    """The builds at a mart URL, as one thread reads them."""

    def current(self) -> str:
        """Return the data_version of the current build."""

    def check(self, data_version: str) -> None:
        """Raise ``UnknownVersion`` if there is no such build, or no longer."""

    def manifest(self, data_version: str) -> BuildManifest:
        """Return the manifest of a build."""

    def reader(self, data_version: str, file: BuildFile) -> FileReader:
        """Return a reader of a file of a build."""

    def close(self) -> None:
        """Close what is open; the next read opens it again."""


class SqliteEngine:
    """Builds in a folder; threads share the files that are open."""

    def __init__(self, folder: Path, open_files: OpenFiles) -> None:
        self._folder, self._open_files = folder, open_files
        self._pointer = str(pointer_file(folder))
        self._pointer_seen: tuple[int, int] | None = None
        self._current = ""
        self._looked_up: str | None = None

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

    def check(self, data_version: str) -> None:
        """Raise ``UnknownVersion`` if there is no such build, or no longer."""
        # Without a look at the pointer just before, this is a pin; the build that was current when
        # the thread last looked can have been deleted as well.
        is_current, self._looked_up = data_version == self._looked_up, None
        # A build may have been deleted since; SQLite could still read the open files.
        if not is_current and not build_file(self._folder, data_version).is_file():
            raise not_available(self._folder, data_version)

    def manifest(self, data_version: str) -> BuildManifest:
        """Return the manifest of a build."""
        manifest = read_manifest(self._folder, data_version)
        if manifest is None:
            if not build_file(self._folder, data_version).is_file():
                raise not_available(self._folder, data_version)
            raise DatastoreUnavailable(f"the build cannot be read: {data_version} has no manifest")
        return manifest

    def reader(self, data_version: str, file: BuildFile) -> FileReader:
        """Return a reader of a file of a build."""
        path = str((self._folder / file.path).absolute())
        run_in = self._open_files.query

        def query(statement: str, values: Sequence[object]) -> SqlRows:
            try:
                return run_in(path, statement, values)
            except sqlite3.Error as error:
                # Deleted while it was read: a pin must be told so.
                if not build_file(self._folder, data_version).is_file():
                    raise not_available(self._folder, data_version) from error
                raise _unreadable(error) from error

        return FileReader(file.partition, "", query)

    def close(self) -> None:
        """Close every file that is open."""
        self._open_files.close()


@contextmanager
def translate_errors(error_type: type[Exception]) -> Iterator[None]:
    """Raise ``DatastoreUnavailable`` for an engine's own errors."""
    try:
        yield
    except error_type as error:
        raise _unreadable(error) from error


def _unreadable(error: Exception) -> DatastoreUnavailable:
    return DatastoreUnavailable(f"the build cannot be read: {error}")
