"""Builds in a folder: a manifest each, the files they share, and a pointer to the current one.

``<data_version>.json`` is the manifest of a build, ``files/<key>.sqlite`` a file that one or more
of them name. A build made before version 9 is one file, ``<data_version>.sqlite``. A file appears
under its final name only when it is complete, and the pointer is replaced atomically: a reader
sees the old build or the new one, never half of one.
"""

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec

from warehouse.atomic_files import move_into_place as move_into_place
from warehouse.atomic_files import sync
from warehouse.data_version import DATA_VERSION, check_data_version, version_key
from warehouse.errors import SankofaError, UnknownVersion
from warehouse.locks import file_lock
from warehouse.steps.files import BuildFile, BuildManifest

_POINTER = "current"
# Reasons of withdrawn builds by data_version, for whoever still pins one.
_WITHDRAWN = "withdrawn.json"
# The folder of the files that manifests name.
FILES = "files"
LOST = (
    "files of the new mart are gone, as a build that had them was dropped meanwhile: run `sankofa "
    "publish --only mart` and then `sankofa publish --only published_build`"
)
_decode = msgspec.json.Decoder(BuildManifest).decode


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

    def manifest(self, name: str) -> BuildManifest | None:
        """Return the manifest of a build; None if it is not there, or has none that can be read."""
        return read_manifest(self.path, name)

    def metadata(self, name: str) -> dict[str, str]:
        """Return the metadata of a build; empty if it cannot be read."""
        manifest = self.manifest(name)
        return {} if manifest is None else dict(manifest.metadata)

    def files(self) -> dict[str, BuildFile]:
        """Return the files of the mart that builds name, by key; those that are lost are not."""
        return {
            file.key: file
            for name in self.names()
            if (manifest := self.manifest(name)) is not None
            for file in manifest.files
            if file.key and (self.path / file.path).is_file()
        }

    def add(self, manifest: BuildManifest) -> None:
        """Add a complete build; no reader sees it before ``switch``."""
        self.path.mkdir(parents=True, exist_ok=True)
        known = self.files()
        for file in manifest.files:
            if file.kind == "mart" and file.key not in known:
                if not (self.path / file.path).is_file():
                    raise SankofaError(LOST)
                sync(self.path / file.path)
        if (self.path / FILES).is_dir():
            sync(self.path / FILES)
        target = manifest_file(self.path, manifest.data_version)
        partial = target.with_suffix(".partial")
        partial.write_bytes(msgspec.json.encode(manifest))
        move_into_place(partial, target)

    def remove(self, name: str) -> None:
        """Delete a build, and the files that no other names; take the publishing lock.

        A reader that has one of them open finishes its read.
        """
        # The system keeps a deleted file until the last process has closed it.
        manifest_file(self.path, name).unlink(missing_ok=True)
        single_file(self.path, name).unlink(missing_ok=True)
        self.clean_up()

    def clean_up(self) -> None:
        """Delete the files that no manifest names, finished or not."""
        named = {self.path / file.path for file in self.files().values()}
        for path in (self.path / FILES).glob("*"):
            if path not in named:
                path.unlink()

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
        """Take the publishing lock."""
        with file_lock(self.path / "publish.lock"):
            # Whoever has the lock is the only publisher: no partial file is still being written.
            for partial in self.path.glob("*.partial"):
                partial.unlink()
            yield


def current_build_file(folder: Path) -> Path | None:
    """Return the manifest or the one file of the current build; None before the first."""
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
    return unavailable(name, _withdrawals(folder).get(name), build_names(folder))


def unavailable(name: str, reason: str | None, held: Sequence[str]) -> UnknownVersion:
    """Return the error for a pin to a build that is not there, and the builds that are."""
    # Nobody remembers the names of builds that were deleted in time.
    message = (
        f"{name!r} is not held: it was never published, or its build has been deleted"
        if reason is None
        else f"{name!r} was withdrawn: {reason}. Ask again without it for the current data_version"
    )
    return UnknownVersion(message, name, held)


def _withdrawals(folder: Path) -> dict[str, str]:
    try:
        return dict(json.loads((folder / _WITHDRAWN).read_text("utf-8")))
    except FileNotFoundError:
        return {}


def build_names(folder: Path) -> list[str]:
    """Return the data_version of every complete build, oldest first."""
    paths = (*folder.glob("*.json"), *folder.glob("*.sqlite"))
    names = {path.stem for path in paths if DATA_VERSION.fullmatch(path.stem)}
    return sorted(names, key=version_key)


def build_file(folder: Path, name: str) -> Path:
    """Return the manifest of a build, or the one file of a build made before version 9."""
    single = single_file(folder, name)
    return single if single.is_file() else manifest_file(folder, name)


def manifest_file(folder: Path, name: str) -> Path:
    """Return the file of a manifest, whether or not there is one."""
    return folder / f"{check_data_version(name)}.json"


def single_file(folder: Path, name: str) -> Path:
    """Return the one file of a build made before version 9, whether or not there is one."""
    return folder / f"{check_data_version(name)}.sqlite"


def file_of_key(folder: Path, key: str) -> Path:
    """Return the file of a key."""
    return folder / FILES / f"{key}.sqlite"


def read_manifest(folder: Path, name: str) -> BuildManifest | None:
    """Return the manifest of a build; None if it is not there, or cannot be read.

    A build made before version 9 is a manifest of one file with all tables, under no name.
    """
    try:
        return _decode(manifest_file(folder, name).read_bytes())
    except FileNotFoundError:
        pass
    except msgspec.MsgspecError:
        return None
    path = single_file(folder, name)
    # mode=ro: by default SQLite would create a file that is missing.
    uri = f"{path.absolute().as_uri()}?mode=ro"
    try:
        with closing(sqlite3.connect(uri, uri=True)) as mart:
            metadata = dict(mart.execute("SELECT name, value FROM about"))
    except sqlite3.Error:
        return None
    return BuildManifest(name, metadata, (one_file(path.name, path.stat().st_size),))


def one_file(path: str, size: int = 0) -> BuildFile:
    """Return the one file of a build made before version 9: it has every table."""
    return BuildFile("mart", "", "", path, "", "", 0, size)
