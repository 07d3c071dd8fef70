"""Builds in a folder: a manifest each, the files they share, and a pointer to the current one.

``<data_version>.json`` is the manifest of a build, and ``files/<key>.sqlite`` a file that one or
more of them name. A file appears under its final name only when it is complete, and the pointer
(``current``) is replaced atomically: a reader sees the old build or the new one, never half of one.

Only the machine that publishes changes its folder; ``shared_builds`` copies it to others.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import msgspec

from warehouse.publish.manifest import BuildFile, BuildManifest, decode_manifest, encode_manifest
from warehouse.shared.errors import DamagedFile, DatastoreUnavailable, SankofaError, UnknownVersion
from warehouse.shared.files import check_of_file, move_into_place, sync
from warehouse.shared.locks import named_lock
from warehouse.shared.texts import DATA_VERSION, check_data_version, version_key

# The file of the publishing lock, and what it protects in words.
PUBLISHING_LOCK, _BUILDS = "publish.lock", "the builds"
# The URL of the object store from which the builds of this folder are pulled, if they are.
PULLED_FROM = "pulled-from"
_POINTER = "current"
# Reasons of withdrawn builds by data_version, for whoever still pins one.
_WITHDRAWN = "withdrawn.json"
# The folder of the files that manifests name.
FILES = "files"
_LOST = (
    "files of the new mart are gone, as a build that had them was dropped meanwhile: run `sankofa "
    "publish` again"
)

# The licence notice that goes with every response from a build.
NOTICE = (
    "Licence-clean: every source permits this use, and each row names its source_ref and "
    "license_class. No natural-person data. For research and information; not a regulated "
    "benchmark."
)
SAMPLE_NOTICE = (
    "FICTIONAL DATA of the sample world: every company, tender and figure is invented. " + NOTICE
)


def starter_notice(last_read: date) -> str:
    """Return the notice of a build of the real documents that the package has."""
    day = f"{last_read.day} {last_read:%B %Y}"
    return (
        f"Real documents as their publishers had them on {day}; nothing later is included. {NOTICE}"
    )


def does_age(notice: str | None) -> bool:
    """Return whether a build gets stale: the worlds of the package keep their day."""
    return notice == NOTICE


@dataclass(frozen=True)
class Builds:
    """The builds of a folder."""

    path: Path

    def names(self) -> list[str]:
        """Return the data_version of every complete build, oldest first."""
        names = {path.stem for path in self.path.glob("*.json")}
        return sorted(filter(DATA_VERSION.fullmatch, names), key=version_key)

    def current(self) -> str | None:
        """Return the data_version of the current build; None before the first, or if damaged."""
        with suppress(DamagedFile):
            return read_pointer(self.path)
        return None

    def switch(self, name: str) -> None:
        """Make a complete build the current one; readers follow with their next read."""
        if not manifest_file(self.path, name).is_file():
            raise UnknownVersion(f"there is no build {name!r}; see `sankofa builds`")
        replace_file(self.path / _POINTER, name.encode("ascii"))

    def manifest(self, name: str) -> BuildManifest | None:
        """Return the manifest of a build; None if it is not there, or cannot be read."""
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
            if (self.path / file.path).is_file()
        }

    def intact_files(self) -> dict[str, BuildFile]:
        """Return the files that builds name and that are what was written, by key."""
        return {key: file for key, file in self.files().items() if file.damage(self.path) is None}

    def add(self, manifest: BuildManifest) -> None:
        """Add a complete build; no reader sees it before ``switch``."""
        self.path.mkdir(parents=True, exist_ok=True)
        for file in manifest.files:
            if not (self.path / file.path).is_file():
                raise SankofaError(_LOST)
            if not file.xxh3:
                # It was written for this build: no other has checked it.
                sync(self.path / file.path)
        if (self.path / FILES).is_dir():
            sync(self.path / FILES)
        body = encode_manifest(self._with_checks(manifest))
        replace_file(manifest_file(self.path, manifest.data_version), body)

    def _with_checks(self, manifest: BuildManifest) -> BuildManifest:
        """Return a manifest with the check of each file by which readers find damage."""
        files = [
            msgspec.structs.replace(file, xxh3=check_of_file(self.path / file.path).xxh3)
            if not file.xxh3
            else file
            for file in manifest.files
        ]
        return msgspec.structs.replace(manifest, files=tuple(files))

    def remove(self, name: str) -> None:
        """Delete a build, and the files that no other names; take the publishing lock.

        A reader that has one of them open finishes its read.
        """
        # The system keeps a deleted file until the last process has closed it.
        manifest_file(self.path, name).unlink(missing_ok=True)
        self.clean_up()

    def clean_up(self) -> None:
        """Delete the files that no manifest names, finished or not.

        While a manifest cannot be read, none is deleted: it may come back from a backup.
        """
        named: set[Path] = set()
        for name in self.names():
            manifest = self.manifest(name)
            if manifest is None:
                return
            named |= {self.path / file.path for file in manifest.files}
        for path in (self.path / FILES).glob("*"):
            if path not in named:
                path.unlink()

    def withdraw(self, name: str, reason: str) -> None:
        """Delete a build if it is there; from now on, whoever pins it gets the reason.

        If it is the current one, nothing is served until the next switch.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        # The reason goes first: killed in between, the build is withdrawn by the next call.
        self.write_withdrawals({**self.withdrawals(), name: reason})
        if self.current() == name:
            (self.path / _POINTER).unlink()
        self.remove(name)

    def withdrawals(self) -> dict[str, str]:
        """Return the reasons of withdrawn builds by data_version."""
        try:
            return dict(json.loads((self.path / _WITHDRAWN).read_text("utf-8")))
        except FileNotFoundError:
            return {}

    def write_withdrawals(self, reasons: dict[str, str]) -> None:
        """Replace the reasons of withdrawn builds."""
        body = json.dumps(reasons, indent=1, sort_keys=True)
        replace_file(self.path / _WITHDRAWN, body.encode())

    def not_available(self, name: str) -> UnknownVersion:
        """Return the error for a pin to a build that is not there, with the reason if known."""
        reason = self.withdrawals().get(name)
        # Names of builds that were deleted in time are not kept.
        message = (
            f"{name!r} is not available: it was never published, or its build has been deleted"
            if reason is None
            else f"{name!r} was withdrawn: {reason}. Ask again without it for the current "
            "data_version"
        )
        return UnknownVersion(message, name, self.names())

    @contextmanager
    def publishing_lock(self) -> Iterator[None]:
        """Take the publishing lock; raise if the builds of this folder are pulled."""
        marker = self.path / PULLED_FROM
        if marker.exists():
            raise SankofaError(
                f"the builds in {self.path} are pulled from {marker.read_text('utf-8')}, so they "
                "cannot be changed here: do it on the machine that publishes. If this one is to "
                f"publish from now on, stop the other, wait until this one serves its last build, "
                f"and delete {marker}"
            )
        with named_lock(self.path / PUBLISHING_LOCK, _BUILDS):
            # Whoever has the lock is the only publisher: no partial file is still being written.
            for partial in self.path.glob("*.partial"):
                partial.unlink()
            yield


def builds_at(folder: str | Path) -> Builds:
    """Return the builds of a folder."""
    return Builds(mart_folder(folder))


def mart_folder(folder: str | Path) -> Path:
    """Return the folder of builds as a path; raise for a URL."""
    scheme, separator, _ = str(folder).partition("://")
    if separator:
        raise DatastoreUnavailable(
            f"builds cannot be served from {scheme}://…; give SANKOFA_MARTS a folder, and "
            "SANKOFA_SHARED_MARTS the object store from which other machines pull them"
        )
    return Path(folder)


def delete_old_builds(builds: Builds, keep: int) -> list[str]:
    """Delete all but the newest ``keep`` builds and the current one; return the deleted."""
    with builds.publishing_lock():
        # After a rollback the current build can be an old one.
        current = builds.current()
        deleted = [name for name in builds.names()[: -max(keep, 1)] if name != current]
        for name in deleted:
            builds.remove(name)
        return deleted


def pointer_file(folder: Path) -> Path:
    """Return the file that names the current build; every switch replaces it."""
    return folder / _POINTER


def read_pointer(folder: Path) -> str | None:
    """Return the data_version of the current build; None before the first."""
    try:
        return check_data_version((folder / _POINTER).read_bytes().decode("ascii").strip())
    except FileNotFoundError:
        return None
    except (UnicodeDecodeError, UnknownVersion) as error:
        raise DamagedFile(
            f"{_POINTER} in {folder} is damaged: it names no build. See `sankofa builds`, and "
            "`sankofa rollback DATA_VERSION` to the one to serve"
        ) from error


def manifest_file(folder: Path, name: str) -> Path:
    """Return the file of a manifest, whether or not there is one."""
    return folder / f"{check_data_version(name)}.json"


def file_of_key(folder: Path, key: str) -> Path:
    """Return the file of a key."""
    return folder / FILES / f"{key}.sqlite"


def read_manifest(folder: Path, name: str) -> BuildManifest | None:
    """Return the manifest of a build; None if it is not there, or cannot be read."""
    try:
        return decode_manifest(manifest_file(folder, name).read_bytes(), f"{name}.json")
    except (FileNotFoundError, DamagedFile):
        return None


def replace_file(path: Path, body: bytes) -> None:
    """Write a file that appears under its name only when it is complete."""
    partial = path.with_name(f"{path.name}.partial")
    partial.write_bytes(body)
    move_into_place(partial, path)
