"""The published build as a process reads it: read-only, and always a complete one.

Each thread has its own connection. Which build is current is looked up once for each read, so
that a new one is seen by the next request and no answer mixes two.
"""

import sqlite3
import threading
from dataclasses import dataclass
from pathlib import Path

from warehouse.errors import NothingPublished, UnknownVersion
from warehouse.mart.pointer import build_file, current

# The current build, and the ones that walks by cursor still read.
_HELD_OPEN = 4


@dataclass(frozen=True)
class Build:
    """One open build: its connection, its data_version and its licence notice."""

    connection: sqlite3.Connection
    data_version: str
    notice: str


class Mart:
    """The builds of one folder; reads are answered from the current one, or a pinned one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._pinned: str | None = None
        self._open = threading.local()

    def at(self, data_version: str) -> "Mart":
        """Give the same mart, answering from one data_version whatever is published."""
        pinned = Mart(self.folder)
        pinned._pinned, pinned._open = data_version, self._open
        return pinned

    def build(self) -> Build:
        """Give the build to read now, open for this thread."""
        path = self._path()
        held: dict[Path, Build] = self._open.__dict__.setdefault("builds", {})
        build = held.pop(path, None) or _opened(path)
        held[path] = build
        while len(held) > _HELD_OPEN:
            held.pop(next(iter(held))).connection.close()
        return build

    def _path(self) -> Path:
        if self._pinned is not None:
            path = build_file(self.folder, self._pinned)
            if not path.is_file():
                raise UnknownVersion(f"{self._pinned!r} is not held any more")
            return path
        newest = current(self.folder)
        if newest is None:
            raise NothingPublished("nothing has been published yet; run `sankofa publish`")
        return newest


def _opened(path: Path) -> Build:
    address = f"{path.absolute().as_uri()}?mode=ro&immutable=1"
    connection = sqlite3.connect(address, uri=True, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA mmap_size = 1073741824")
    about = dict(connection.execute("SELECT name, value FROM about"))
    return Build(connection, about["data_version"], about["notice"])
