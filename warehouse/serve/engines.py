"""The builds of a folder as they are read: SQL with ``?`` for a value, rows as tuples."""

import os
import sqlite3
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from warehouse.publish.builds import (
    Builds,
    manifest_file,
    pointer_file,
    read_manifest,
    read_pointer,
)
from warehouse.publish.manifest import BuildFile, BuildManifest
from warehouse.shared.errors import (
    DamagedFile,
    DatastoreUnavailable,
    NothingPublished,
    SankofaError,
)
from warehouse.shared.files import CheckedFiles

SqlRows = list[tuple[Any, ...]]
RunQuery = Callable[[str, Sequence[object]], SqlRows]

# How long files that are open may be others, or gone, before a request notices.
_LOOK_SECONDS = 2.0
# Below the 1,024 files that a process may usually open, with room for connections and its log.
_MAX_OPEN = 384
# The most that SQLite can map; what lies beyond is read page by page.
_MMAP_SIZE = 0x7FFF0000
NOTHING_PUBLISHED = "nothing has been published yet; run `sankofa publish`"


@dataclass(frozen=True, slots=True)
class FileReader:
    """One file of a build, open for queries.

    ``label`` says which rows lie in the file; files with one ``path`` have the same rows.
    """

    label: str
    run: RunQuery
    path: str = ""

    def query(self, statement: str, *values: object) -> SqlRows:
        """Run an SQL statement with a ``?`` for each value."""
        return self.run(statement, values)


class OpenFiles:
    """Connections to SQLite files, by path; those used last stay open.

    Published files never change and are opened read-only and immutable. One query runs at a time:
    the threads of a process share a core.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # In the order of their last use.
        self._open: OrderedDict[str, sqlite3.Connection] = OrderedDict()

    def query(self, path: str, statement: str, values: Sequence[object]) -> list[tuple[Any, ...]]:
        """Run a statement in a file; raises ``sqlite3.Error``, also if the file is not there."""
        with self._lock:
            connection = self._open.pop(path, None) or _connect(path)
            try:
                rows = connection.execute(statement, values).fetchall()
            except (sqlite3.Error, UnicodeDecodeError):
                connection.close()
                raise
            self._open[path] = connection
            if len(self._open) > _MAX_OPEN:
                self._open.popitem(last=False)[1].close()
        return rows

    def close(self) -> None:
        """Close every file; the next query opens its file again."""
        for path in list(self._open):
            self.forget(path)

    def forget(self, path: str) -> None:
        """Close a file that is no longer the one that was opened."""
        with self._lock:
            if (connection := self._open.pop(path, None)) is not None:
                connection.close()


def _connect(path: str) -> sqlite3.Connection:
    # A published file never changes: immutable spares SQLite all locking and change detection.
    uri = f"{Path(path).as_uri()}?mode=ro&immutable=1"
    connection = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)
    connection.execute(f"PRAGMA mmap_size = {_MMAP_SIZE}")
    # Pages are mapped: without this a cache for 20 of them, 80 kB, stays reserved.
    connection.execute("PRAGMA cache_size = 2")
    connection.execute("PRAGMA shrink_memory")
    return connection


class Engine:
    """Builds in a folder, and the files of them that are open; any number of threads may read."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._open_files, self._checked = folder, OpenFiles(), CheckedFiles()
        self._pointer, self._seen = str(pointer_file(folder)), (0, 0)
        self._current, self._next_look = "", 0.0
        # Where the build checked last was found: a page checks the same one several times.
        self._found = ("", "")

    def close(self) -> None:
        """Close every file; the next query opens its file again."""
        self._open_files.close()

    def current(self) -> str:
        """Return the data_version of the current build."""
        # Called for every request: read the pointer only if it was replaced.
        seen = _identity(self._pointer)
        if seen is None or seen != self._seen:
            current = read_pointer(self._folder)
            if current is None:
                raise NothingPublished(NOTHING_PUBLISHED)
            self._current, self._seen = current, seen or (0, 0)
        return self._current

    def check(self, data_version: str, *, is_current: bool) -> None:
        """Raise ``UnknownVersion`` if there is no such build, or no longer.

        ``is_current``: the pointer named it just now.
        """
        now = time.monotonic()
        if now >= self._next_look:
            self._next_look, is_current = now + _LOOK_SECONDS, False
            for path in self._checked.forget_changed():
                self._open_files.forget(path)
        # A build may have been deleted since; SQLite could still read the open files.
        if not is_current and not self._is_there(data_version):
            raise self._unavailable(data_version)

    def _is_there(self, data_version: str) -> bool:
        name, path = self._found
        if name == data_version and _identity(path) is not None:
            return True
        file = manifest_file(self._folder, data_version)
        self._found = (data_version, str(file))
        return file.is_file()

    def manifest(self, data_version: str) -> BuildManifest:
        """Return the manifest of a build."""
        manifest = read_manifest(self._folder, data_version)
        if manifest is None:
            if not self._is_there(data_version):
                raise self._unavailable(data_version)
            raise DamagedFile(f"the manifest of {data_version} is damaged; run `sankofa verify`")
        return manifest

    def reader(self, data_version: str, file: BuildFile) -> FileReader:
        """Return a reader of a file of a build."""
        path = self._path(file)
        run_in, checked = self._open_files.query, self._checked

        def query(statement: str, values: Sequence[object]) -> SqlRows:
            try:
                if path not in checked.intact:
                    checked.require(path, file.check)
                return run_in(path, statement, values)
            # Text of an overwritten file need not be UTF-8, nor the error that SQLite makes of it.
            except (sqlite3.Error, UnicodeDecodeError, DamagedFile) as error:
                # Deleted while it was read: a pin must be told so.
                if not self._is_there(data_version):
                    raise self._unavailable(data_version) from error
                raise DatastoreUnavailable(
                    f"the build cannot be read ({error}); run `sankofa verify`"
                ) from error

        return FileReader(file.partition, query, file.path)

    def check_files(self, data_version: str) -> None:
        """Raise ``DamagedFile`` if files of a build are missing or known to be damaged."""
        for file in self.manifest(data_version).files:
            self._checked.require_size(self._path(file), file.check)

    def _path(self, file: BuildFile) -> str:
        return str((self._folder / file.path).absolute())

    def _unavailable(self, data_version: str) -> SankofaError:
        """Return the error for a build that is not there: a pin is wrong, the pointer is damage."""
        builds = Builds(self._folder)
        if data_version == builds.current():
            return DamagedFile(
                f"the current build {data_version} is missing: restore its manifest from your "
                "backup, `sankofa rollback` to another build, or `sankofa publish`"
            )
        return builds.not_available(data_version)


def _identity(path: str) -> tuple[int, int] | None:
    """Return what changes if a file is replaced; None if it is not there."""
    try:
        stat = os.stat(path)  # noqa: PTH116
    except FileNotFoundError:
        return None
    # Every switch is a rename of a new file. Its inode may be a reused one, hence the time too.
    return stat.st_ino, stat.st_mtime_ns
