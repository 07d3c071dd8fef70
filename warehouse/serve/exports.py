"""Published exports: versions, manifests and files.

Versions never change, so manifests are cached. Only files that a manifest names can be opened.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any, BinaryIO, Literal

import msgspec

from warehouse.shared.errors import DamagedFile, NothingPublished, UnknownVersion
from warehouse.shared.file_store import FileStore
from warehouse.shared.files import (
    CHECKS,
    CheckedFiles,
    FileCheck,
    check_of,
    damage_of,
    decode_checks,
    difference,
)
from warehouse.shared.texts import DATA_VERSION, version_key
from warehouse.shared.tiers import TierName

# A service answers requests in one loop, which a large file must not stop: what takes longer than
# about 20 ms is checked in a thread, and whoever wants it meanwhile has to come back.
_AT_ONCE = 64 << 20
LATEST = "latest"
MANIFEST_FILE = "manifest.json"
SIGNATURE = "manifest.json.sig"
PUBLIC_KEY = "signing-key.pem"
DATAPACKAGE = "datapackage.json"
CROISSANT = "croissant.json"
PARQUET = "application/vnd.apache.parquet"

_METADATA_FILES = {
    MANIFEST_FILE: "application/json",
    SIGNATURE: "application/octet-stream",
    PUBLIC_KEY: "application/x-pem-file",
    DATAPACKAGE: "application/json",
    CROISSANT: "application/ld+json",
}


# The members of a manifest, its artifacts and their deltas that name a file of the version.
# A server meets a new version with each publication; it reads the last ones again and again.
_MOST_MANIFESTS = 16
_URL_MEMBERS = ("url", "schema_url", "signature_url", "datapackage_url")

ArtifactKind = Literal["open-panel", "licensed"]


class ColumnType(msgspec.Struct, frozen=True):
    """A column of a file and its Arrow type."""

    name: str
    type: str


class Delta(msgspec.Struct, frozen=True):
    """The changes since the version before, and the SQL to apply them."""

    against: str
    url: str
    rows: int
    size_bytes: int
    sha256: str
    key: str
    meaning: str
    sql_apply: str


class Artifact(msgspec.Struct, frozen=True):
    """One Parquet file of a version.

    ``url`` and ``schema_url`` are names of files next to the manifest; see ``absolute_urls``.
    ``sql_as_of`` has the placeholders ``{url}`` and ``{as_of}``; null if the file has only what
    is known now.
    """

    key: str
    title: str
    kind: ArtifactKind
    sku: str | None
    signal_key: str | None
    url: str
    requires_key: bool
    required_tier: TierName | None
    license: str
    rows: int
    columns: tuple[ColumnType, ...]
    size_bytes: int
    sha256: str
    schema_url: str
    period_min: date | None
    period_max: date | None
    sort_key: tuple[str, ...]
    methodology_ref: str | None
    delta: Delta | None
    sql_as_of: str | None


class Failed(msgspec.Struct, frozen=True):
    """A file that could not be written, and why."""

    key: str
    title: str
    sku: str | None
    reason: str


class Manifest(msgspec.Struct, frozen=True):
    """Every file of one version."""

    data_version: str
    generated_at: datetime
    artifacts: tuple[Artifact, ...]
    failed: tuple[Failed, ...]
    signature_url: str
    datapackage_url: str


def encode_manifest(manifest: Manifest) -> bytes:
    """Encode a manifest as it is signed."""
    # Readable, and stored as it is: the signature covers these bytes, not their meaning.
    return msgspec.json.format(msgspec.json.encode(manifest), indent=1) + b"\n"


def decode_manifest(body: bytes) -> Manifest:
    """Decode a manifest; raise ``DamagedFile`` if it is none."""
    try:
        return msgspec.json.decode(body, type=Manifest)
    except msgspec.MsgspecError as error:
        raise DamagedFile(f"a manifest of exports is damaged: {error}") from error


def absolute_url(url: str, exports_url: str, data_version: str) -> str:
    """Return where a file of a version is served."""
    return f"{exports_url}/{data_version}/{url}"


def absolute_urls(members: dict[str, Any], exports_url: str, data_version: str) -> dict[str, Any]:
    """Return a part of a manifest, as JSON, with absolute URLs of the files it names."""
    return {
        name: absolute_url(value, exports_url, data_version)
        if name in _URL_MEMBERS and isinstance(value, str)
        else absolute_urls(value, exports_url, data_version)
        if name == "delta" and value is not None
        else value
        for name, value in members.items()
    }


@dataclass(frozen=True)
class PublishedFile:
    """A file of a version; its bytes are the same forever. ``check`` is that of a local one."""

    store: FileStore
    data_version: str
    name: str
    media_type: str
    size_bytes: int
    check: FileCheck | None
    checked: CheckedFiles = field(repr=False, compare=False)
    sha256: str | None = None
    required_tier: TierName | None = None
    dataset: str | None = None

    def open(self) -> BinaryIO:
        """Open the file; it can be read from any position.

        Raises ``DamagedFile`` unless it is what was published.
        """
        if self.check is not None:
            path = self.store.path(self.data_version, self.name)
            self.checked.require(path, self.check, _AT_ONCE)
        # An object store checks its own objects; that one is whole can be seen by its size.
        elif self.store.size(self.data_version, self.name) != self.size_bytes:
            raise DamagedFile(f"{self.data_version}/{self.name} has another size")
        return self.store.open(self.data_version, self.name)


class PublishedExports:
    """All exports at a destination."""

    def __init__(self, destination: str) -> None:
        self._store = FileStore.of(destination)
        self._manifests: dict[str, tuple[bytes, Manifest, dict[str, FileCheck]]] = {}
        self._checked = CheckedFiles()

    def latest(self) -> str:
        """Return the latest version."""
        if not self._store.exists(LATEST):
            raise NothingPublished("no export has been published yet; run `sankofa publish`")
        return self._store.read(LATEST).decode("ascii", "replace").strip()

    def versions(self) -> list[str]:
        """Return every complete version, oldest first."""
        names = [name for name in self._store.folders() if DATA_VERSION.fullmatch(name)]
        # The manifest is written last, so a folder without one is not complete.
        complete = [name for name in names if self._store.exists(name, MANIFEST_FILE)]
        return sorted(complete, key=version_key)

    def remove(self, data_version: str) -> None:
        """Delete a version."""
        self._manifests.pop(data_version, None)
        self._store.remove(data_version)

    def manifest(self, data_version: str | None = None) -> Manifest:
        """Return the manifest of a version, by default the latest."""
        return self._read(data_version)[1]

    def file(self, data_version: str, name: str) -> PublishedFile | None:
        """Return a file of a version by its name; None if its manifest does not name it."""
        _, manifest, checks = self._read(data_version)
        if name in _METADATA_FILES:
            return self._file(manifest, name, _METADATA_FILES[name], checks)
        for artifact in manifest.artifacts:
            if name == schema_name(artifact.key):
                return self._file(manifest, name, "application/json", checks)
            described = {
                file_name(artifact.key): artifact,
                delta_name(artifact.key): artifact.delta,
            }
            if (entry := described.get(name)) is not None:
                return self._file(manifest, name, PARQUET, checks, artifact, entry)
        return None

    def names(self, data_version: str) -> list[str]:
        """Return the names of the Parquet files of a version, and of what describes them all."""
        artifacts = self.manifest(data_version).artifacts
        return [*(file_name(artifact.key) for artifact in artifacts), *_METADATA_FILES]

    def damaged(self, data_version: str, *, thorough: bool = True) -> Iterator[tuple[str, str]]:
        """Yield the files of a version that are not what was published, with what is wrong.

        They are looked at by every byte, or by their sizes; in an object store always by size.
        """
        _, manifest, checks = self._read(data_version)
        names = {*checks, *self.names(data_version)}
        for artifact in manifest.artifacts:
            names |= {schema_name(artifact.key)}
            names |= {delta_name(artifact.key)} if artifact.delta is not None else set()
        remote = () if self._store.is_local else self._store.listing(data_version)
        sizes = {stored.path.partition("/")[2]: stored.size for stored in remote}
        for name in sorted(names - {MANIFEST_FILE}):
            if name in checks:
                path = self._store.path(data_version, name)
                wrong = damage_of(path, checks[name], thorough=thorough)
            else:
                file = self.file(data_version, name) if name in sizes else None
                written = FileCheck(0 if file is None else file.size_bytes, "")
                wrong = difference(written, sizes.get(name), None)
            if wrong is not None:
                yield name, wrong

    def _file(
        self,
        manifest: Manifest,
        name: str,
        media_type: str,
        checks: dict[str, FileCheck],
        artifact: Artifact | None = None,
        entry: Artifact | Delta | None = None,
    ) -> PublishedFile:
        version, check = manifest.data_version, checks.get(name)
        size = check.size if check is not None else None if entry is None else entry.size_bytes
        return PublishedFile(
            self._store,
            version,
            name,
            media_type,
            self._store.size(version, name) if size is None else size,
            check,
            self._checked,
            None if entry is None else entry.sha256,
            None if artifact is None else artifact.required_tier,
            None if artifact is None else artifact.sku,
        )

    def _read(self, data_version: str | None) -> tuple[bytes, Manifest, dict[str, FileCheck]]:
        latest = data_version in (None, LATEST)
        version = self.latest() if latest else str(data_version)
        # The version comes from a URL: check its form before it becomes part of a path.
        if not DATA_VERSION.fullmatch(version) or not self._store.exists(version, MANIFEST_FILE):
            self._manifests.pop(version, None)
            if latest:
                raise DamagedFile(f"`latest` names exports that are missing: {version[:32]!r}")
            raise UnknownVersion(f"{version!r} has no exports; see `sankofa builds`")
        known = self._manifests.get(version)
        if known is None:
            body = self._store.read(version, MANIFEST_FILE)
            checks = self._checks(version, body) if self._store.is_local else {}
            while len(self._manifests) >= _MOST_MANIFESTS:
                self._manifests.pop(next(iter(self._manifests)), None)
            self._manifests[version] = known = body, decode_manifest(body), checks
        return known

    def _checks(self, version: str, manifest: bytes) -> dict[str, FileCheck]:
        """Return the check of each file of a version; an object store checks its own objects."""
        path = self._store.path(version, CHECKS)
        try:
            checks = decode_checks(self._store.read(version, CHECKS), path)
        except FileNotFoundError:
            raise DamagedFile(f"{path} is missing") from None
        if checks.get(MANIFEST_FILE) != check_of(manifest):
            path = self._store.path(version, MANIFEST_FILE)
            raise DamagedFile(f"{path} is damaged: its bytes are not those that were written")
        return checks


def file_name(key: str) -> str:
    """Return the file name of an artifact."""
    return f"{key}.parquet"


def delta_name(key: str) -> str:
    """Return the file name of an artifact's changes since the version before."""
    return f"{key}.delta.parquet"


def schema_name(key: str) -> str:
    """Return the file name of an artifact's column descriptions."""
    return f"{key}.schema.json"
