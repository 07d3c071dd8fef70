"""The builds of a place: which are held, which is read, and the switch to another.

A place is a folder of SQLite files (``sqlite:///folder``, or a path) or a PostgreSQL database.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from warehouse.errors import DatastoreUnavailable
from warehouse.locks import file_lock
from warehouse.mart.sqlite_builds import build_file, build_names, current_build_file, switch_pointer

_SQLITE = "sqlite:///"
_POSTGRES = ("postgresql://", "postgres://")


class Builds(Protocol):
    """What can be done with the builds of a place."""

    def names(self) -> list[str]:
        """Name every complete build that is held, the oldest first."""

    def current(self) -> str | None:
        """Name the build that is read now; None before the first."""

    def switch(self, name: str) -> None:
        """Let every reader see another complete build from its next read on."""

    def about(self, name: str) -> dict[str, str]:
        """Read what a build says of itself; one that cannot be read says nothing."""

    def remove(self, name: str) -> None:
        """Hold a build no more."""

    def alone(self) -> AbstractContextManager[None]:
        """Let one publisher work at a time, and clear what a killed one left behind."""


def builds_at(place: str | Path) -> Builds:
    """Give the builds of a place."""
    if is_postgres_url(place):
        from warehouse.mart.postgres_builds import PostgresBuilds

        return PostgresBuilds(str(place))
    return SqliteBuilds(sqlite_folder(place))


def is_postgres_url(place: str | Path) -> bool:
    """Say whether a place is a PostgreSQL database."""
    return isinstance(place, str) and place.startswith(_POSTGRES)


def sqlite_folder(place: str | Path) -> Path:
    """Give the folder that a place names."""
    scheme, mark, _ = str(place).removeprefix(_SQLITE).partition("://")
    if mark:
        raise DatastoreUnavailable(
            f"builds cannot lie at {scheme}://…; give a folder, sqlite:///folder or postgresql://…"
        )
    return Path(place.removeprefix(_SQLITE)) if isinstance(place, str) else place


@dataclass(frozen=True)
class SqliteBuilds:
    """A folder of SQLite files, one for each build."""

    path: Path

    def names(self) -> list[str]:
        """Name every complete build that is held, the oldest first."""
        return build_names(self.path)

    def current(self) -> str | None:
        """Name the build that is read now; None before the first."""
        build = current_build_file(self.path)
        return None if build is None else build.stem

    def switch(self, name: str) -> None:
        """Let every reader see another complete build from its next read on."""
        switch_pointer(self.path, name)

    def about(self, name: str) -> dict[str, str]:
        """Read what a build says of itself; one that cannot be read says nothing."""
        address = f"{build_file(self.path, name).absolute().as_uri()}?mode=ro"
        try:
            with closing(sqlite3.connect(address, uri=True)) as mart:
                return dict(mart.execute("SELECT name, value FROM about"))
        except sqlite3.Error:
            return {}

    def remove(self, name: str) -> None:
        """Hold a build no more; a reader that has it open finishes its read."""
        build_file(self.path, name).unlink(missing_ok=True)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Let one publisher work at a time, and clear what a killed one left behind."""
        with file_lock(self.path / "publish.lock"):
            for left in self.path.glob("*.partial"):
                left.unlink()
            yield


_SERVED = (
    "Licence-clean: every source permits this use, and each row names its source_ref and "
    "license_class. No natural-person data. For research and information; not a regulated "
    "benchmark."
)

NOTICE = _SERVED
SAMPLE_NOTICE = (
    "FICTIONAL DATA of the sample world: every company, tender and figure is invented. " + _SERVED
)
