"""Builds in a folder: a manifest each, the files they share, and pointers to the current one.

``<data_version>.json`` is the manifest of a build, ``files/<key>.sqlite`` a file that one or more
of them name, and ``packs/<key>.lmdb`` the packs of its rows. A build made before version 9 is one
file, ``<data_version>.sqlite``. A file appears under its final name only when it is complete, and a
pointer is replaced atomically: a reader sees the old build or the new one, never half of one.
``pointers.py`` says who follows which.
"""

import json
import sqlite3
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from warehouse.atomic_files import move_into_place as move_into_place
from warehouse.atomic_files import sync
from warehouse.data_version import DATA_VERSION, check_data_version, version_key
from warehouse.errors import DamagedFile, SankofaError, UnknownVersion
from warehouse.file_checks import check_of_file
from warehouse.locks import named_lock
from warehouse.mart.pointers import Pointers, decode_pointers, encode_pointers
from warehouse.mart.tables import MART_SCHEMA_VERSION
from warehouse.steps.files import (
    BuildFile,
    BuildManifest,
    StoredFile,
    decode_manifest,
    encode_manifest,
)

# The file of the publishing lock, and what it protects in words.
PUBLISHING_LOCK, BUILDS = "publish.lock", "the builds"
_POINTER, _POINTERS = "current", "pointers.json"
# Reasons of withdrawn builds by data_version, for whoever still pins one.
_WITHDRAWN = "withdrawn.json"
# The folder of the files that manifests name.
FILES = "files"
# The folder of their packs: not that of the files, from which older code deletes what it does not
# know.
PACKS = "packs"
LOST = (
    "files of the new mart are gone, as a build that had them was dropped meanwhile: run `sankofa "
    "publish --only mart` and then `sankofa publish --only published_build`"
)


@dataclass(frozen=True)
class SqliteBuilds:
    """The builds of a folder; implements ``warehouse.mart.builds.Builds``."""

    path: Path
    schema_version: int = MART_SCHEMA_VERSION

    def names(self) -> list[str]:
        """Return the data_version of every complete build, oldest first."""
        return build_names(self.path)

    def current(self) -> str | None:
        """Return the data_version of the current build; None before the first, or if damaged."""
        with suppress(DamagedFile):
            file = current_build_file(self.path, self.schema_version)
            return None if file is None else file.stem
        return None

    def switch(self, name: str) -> None:
        """Make a complete build the current one; readers follow with their next read."""
        switch_pointer(self.path, name, self.schema_version)

    def in_use(self) -> set[str]:
        """Return every build that servers of some version of the code follow."""
        return _read_pointers(self.path).in_use()

    def for_older(self) -> dict[str, datetime | None]:
        """Return the builds that only servers of older code follow, and since when."""
        return _read_pointers(self.path).for_older(self.schema_version)

    def release(self, names: Collection[str]) -> None:
        """Let no server follow some builds any more; they can still be pinned."""
        pointers = _pointers_or_none(self.path) or Pointers()
        _write_pointers(self.path, pointers, pointers.without(names))

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
            if file.key and all((self.path / stored.path).is_file() for stored in file.stored)
        }

    def add(self, manifest: BuildManifest) -> None:
        """Add a complete build; no reader sees it before ``switch``."""
        self.path.mkdir(parents=True, exist_ok=True)
        for file in manifest.files:
            for stored in file.stored:
                if not (self.path / stored.path).is_file():
                    raise SankofaError(LOST)
                if not stored.xxh3:
                    # It was written for this build: no other has checked it.
                    sync(self.path / stored.path)
        for folder in (FILES, PACKS):
            if (self.path / folder).is_dir():
                sync(self.path / folder)
        target = manifest_file(self.path, manifest.data_version)
        partial = target.with_suffix(".partial")
        partial.write_bytes(encode_manifest(self._with_checks(manifest)))
        move_into_place(partial, target)

    def _with_checks(self, manifest: BuildManifest) -> BuildManifest:
        """Return a manifest with the check of each file by which readers find damage."""
        files = []
        for file in manifest.files:
            own, *beside = (self._with_check(stored) for stored in file.stored)
            packs = beside[0] if beside else None
            files.append(msgspec.structs.replace(file, xxh3=own.xxh3, packs=packs))
        return msgspec.structs.replace(manifest, files=tuple(files))

    def _with_check(self, stored: StoredFile) -> StoredFile:
        if stored.xxh3:
            return stored
        xxh3 = check_of_file(self.path / stored.path).xxh3
        return msgspec.structs.replace(stored, xxh3=xxh3)

    def remove(self, name: str) -> None:
        """Delete a build, and the files that no other names; take the publishing lock.

        A reader that has one of them open finishes its read.
        """
        # The system keeps a deleted file until the last process has closed it.
        manifest_file(self.path, name).unlink(missing_ok=True)
        single_file(self.path, name).unlink(missing_ok=True)
        self.clean_up()

    def intact_files(self) -> dict[str, BuildFile]:
        """Return the files that builds name and that are what was written, by key."""
        return {
            key: file
            for key, file in self.files().items()
            if all(stored.damage(self.path) is None for stored in file.stored)
        }

    def clean_up(self) -> None:
        """Delete the files that no manifest names, finished or not.

        While a manifest cannot be read, none is deleted: it may come back from a backup.
        """
        named: set[Path] = set()
        for name in self.names():
            manifest = self.manifest(name)
            if manifest is None:
                return
            named |= {self.path / each.path for file in manifest.files for each in file.stored}
        for folder in (FILES, PACKS):
            for path in (self.path / folder).glob("*"):
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
        self.release([name])
        self.remove(name)

    @contextmanager
    def publishing_lock(self) -> Iterator[None]:
        """Take the publishing lock."""
        with named_lock(self.path / PUBLISHING_LOCK, BUILDS):
            # Whoever has the lock is the only publisher: no partial file is still being written.
            for partial in self.path.glob("*.partial"):
                partial.unlink()
            yield


def current_build_file(folder: Path, schema_version: int = MART_SCHEMA_VERSION) -> Path | None:
    """Return the manifest or the one file of the current build; None before the first."""
    followed = _read_pointers(folder).followed(schema_version)
    files = [build_file(folder, name) for name in followed]
    # Older code does not know which builds the newer pointers name, and may delete one.
    return next((file for file in files if file.is_file()), files[0] if files else None)


def pointer_files(folder: Path) -> tuple[Path, Path]:
    """Return the files that name the current build; every switch replaces one or both."""
    return folder / _POINTER, folder / _POINTERS


def pointer_names(folder: Path, name: str) -> bool:
    """Return whether a build is one that servers follow, be it there or not."""
    pointers = _pointers_or_none(folder)
    return pointers is not None and name in pointers.in_use()


def switch_pointer(folder: Path, name: str, schema_version: int = MART_SCHEMA_VERSION) -> None:
    """Point to another complete build; readers follow with their next request."""
    if not build_file(folder, name).is_file():
        raise UnknownVersion(f"there is no build {name!r}; see `sankofa builds`")
    written_in = written_version(read_manifest(folder, name), schema_version)
    before = _pointers_or_none(folder)
    after = (before or Pointers()).switched(name, written_in, schema_version, datetime.now(UTC))
    _write_pointers(folder, before, after)


def written_version(manifest: BuildManifest | None, unknown: int) -> int:
    """Return the schema version in which a build is written; ``unknown`` if it does not say."""
    return unknown if manifest is None else int(manifest.metadata.get("layout", unknown))


def _read_pointers(folder: Path) -> Pointers:
    current, by_version = (_read(path) for path in pointer_files(folder))
    try:
        name = None if current is None else check_data_version(current.decode("ascii").strip())
        return decode_pointers(name, by_version)
    except (UnicodeDecodeError, UnknownVersion, msgspec.MsgspecError) as error:
        names = " or ".join(path.name for path in pointer_files(folder))
        raise DamagedFile(
            f"{names} in {folder} is damaged: it names no build. See `sankofa builds`, and "
            "`sankofa rollback DATA_VERSION` to the one to serve"
        ) from error


def _pointers_or_none(folder: Path) -> Pointers | None:
    """Return the pointers; None if they are damaged, for whoever replaces them."""
    with suppress(DamagedFile):
        return _read_pointers(folder)
    return None


def _write_pointers(folder: Path, before: Pointers | None, after: Pointers) -> None:
    current, by_version = pointer_files(folder)
    # First what older code reads: killed in between, all readers follow it.
    if before is None or after.current != before.current:
        _replace(current, None if after.current is None else after.current.encode("ascii"))
    if before is None or after.by_version != before.by_version:
        _replace(by_version, encode_pointers(after) if after.by_version else None)


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def _replace(path: Path, body: bytes | None) -> None:
    if body is None:
        path.unlink(missing_ok=True)
        return
    partial = path.with_name(f"{path.name}.partial")
    partial.write_bytes(body)
    move_into_place(partial, path)


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


def packs_of_key(folder: Path, key: str) -> Path:
    """Return the file with the packs of a file."""
    return folder / PACKS / f"{key}.lmdb"


def read_manifest(folder: Path, name: str) -> BuildManifest | None:
    """Return the manifest of a build; None if it is not there, or cannot be read.

    A build made before version 9 is a manifest of one file with all tables, under no name.
    """
    try:
        return decode_manifest(manifest_file(folder, name).read_bytes(), f"{name}.json")
    except FileNotFoundError:
        pass
    except DamagedFile:
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
