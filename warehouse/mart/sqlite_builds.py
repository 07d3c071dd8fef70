"""Builds in a folder: one SQLite file each, and a pointer file that names the current one.

A file appears under its final name only when it is complete, and the pointer is replaced
atomically: a reader sees the old build or the new one, never half of one.
"""

import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from warehouse.data_version import DATA_VERSION, check_data_version, version_key
from warehouse.errors import UnknownVersion
from warehouse.locks import file_lock

_POINTER = "current"
# Reasons of withdrawn builds by data_version, for whoever still pins one.
_WITHDRAWN = "withdrawn.json"


@dataclass(frozen=True)
class SqliteBuilds:
    """The builds of a folder; implements ``warehouse.mart.builds.Builds``."""

    path: Path

    def names(self) -> list[str]:
        """Return the data_version of every complete build, oldest first."""
        return build_names(self.path)

    def current(self) -> str | None:
        """Return the data_version of the current build; None before the first."""
        file = current_build_file(self.path)
        return None if file is None else file.stem

    def switch(self, name: str) -> None:
        """Make a complete build the current one; readers follow with their next read."""
        switch_pointer(self.path, name)

    def metadata(self, name: str) -> dict[str, str]:
        """Return the metadata of a build; empty if it cannot be read."""
        # mode=ro: by default SQLite would create a file that is missing.
        uri = f"{build_file(self.path, name).absolute().as_uri()}?mode=ro"
        try:
            with closing(sqlite3.connect(uri, uri=True)) as mart:
                return dict(mart.execute("SELECT name, value FROM about"))
        except sqlite3.Error:
            return {}

    def remove(self, name: str) -> None:
        """Delete a build; a reader that has it open finishes its read."""
        # The system keeps a deleted file until the last process has closed it.
        build_file(self.path, name).unlink(missing_ok=True)

    def withdraw(self, name: str, reason: str) -> None:
        """Delete a build if it is there, and tell whoever pins it the reason from now on."""
        self.path.mkdir(parents=True, exist_ok=True)
        reasons = {**_withdrawals(self.path), name: reason}
        partial = self.path / f"{_WITHDRAWN}.partial"
        partial.write_text(json.dumps(reasons, indent=1, sort_keys=True), "utf-8")
        # The reason goes first: killed in between, the build is withdrawn by the next call.
        move_into_place(partial, self.path / _WITHDRAWN)
        if name == self.current():
            pointer_file(self.path).unlink()
        self.remove(name)

    @contextmanager
    def publishing_lock(self) -> Iterator[None]:
        """Take the publishing lock, and delete the partial files of a killed publisher."""
        with file_lock(self.path / "publish.lock"):
            # Whoever has the lock is the only publisher: no partial file is still being written.
            for partial in self.path.glob("*.partial"):
                partial.unlink()
            yield


def current_build_file(folder: Path) -> Path | None:
    """Return the file of the current build; None before the first."""
    try:
        name = pointer_file(folder).read_text("ascii").strip()
    except FileNotFoundError:
        return None
    return build_file(folder, name)


def pointer_file(folder: Path) -> Path:
    """Return the file that names the current build; every switch replaces it by a new file."""
    return folder / _POINTER


def switch_pointer(folder: Path, name: str) -> None:
    """Point to another complete build; readers follow with their next request."""
    if not build_file(folder, name).is_file():
        raise UnknownVersion(f"there is no build {name!r}; see `sankofa builds`")
    partial = folder / f"{_POINTER}.partial"
    partial.write_text(name, "ascii")
    move_into_place(partial, pointer_file(folder))


def not_available(folder: Path, name: str) -> UnknownVersion:
    """Return the error for a pin to a build that is not there, with the reason if one is known."""
    return UnknownVersion(unavailable(name, _withdrawals(folder).get(name)))


def unavailable(name: str, reason: str | None) -> str:
    """Return why a pinned build cannot be read."""
    if reason is None:
        return f"{name!r} is no longer available"
    return f"{name!r} was withdrawn: {reason}. Ask again without it for the current data_version"


def _withdrawals(folder: Path) -> dict[str, str]:
    try:
        return dict(json.loads((folder / _WITHDRAWN).read_text("utf-8")))
    except FileNotFoundError:
        return {}


def build_names(folder: Path) -> list[str]:
    """Return the data_version of every complete build, oldest first."""
    names = [path.stem for path in folder.glob("*.sqlite") if DATA_VERSION.fullmatch(path.stem)]
    return sorted(names, key=version_key)


def build_file(folder: Path, name: str) -> Path:
    """Return the file of a build, by its data_version."""
    return folder / f"{check_data_version(name)}.sqlite"


def move_into_place(partial: Path, target: Path) -> None:
    """Rename a finished file to its final name; it is on disk before it can be seen."""
    _sync(partial)
    partial.replace(target)
    # The rename itself is durable only once the folder is synced too.
    _sync(target.parent)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
