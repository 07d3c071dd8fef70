"""Published exports: versions, manifests and files.

Versions never change, so manifests are cached. Only files that a manifest names can be opened.
"""

from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, BinaryIO, Literal

import msgspec

from warehouse.data_version import DATA_VERSION, version_key
from warehouse.errors import NothingPublished, UnknownVersion
from warehouse.file_store import FileStore
from warehouse.tiers import TierName

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

    ``url`` and ``schema_url`` are names of files beside the manifest; see ``absolute_urls``.
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
    """Decode a manifest."""
    return msgspec.json.decode(body, type=Manifest)


def absolute_url(url: str, exports_url: str, data_version: str) -> str:
    """Return where a file of a version is served; manifests once had absolute URLs themselves."""
    return f"{exports_url}/{data_version}/{url.rpartition('/')[2]}"


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
    """A file of a version; its bytes are the same forever."""

    store: FileStore
    data_version: str
    name: str
    media_type: str
    size_bytes: int
    sha256: str | None = None
    required_tier: TierName | None = None

    def open(self) -> BinaryIO:
        """Open the file; it can be read from any position."""
        return self.store.open(self.data_version, self.name)


class PublishedExports:
    """All exports at a destination."""

    def __init__(self, destination: str) -> None:
        self._store = FileStore.of(destination)
        self._manifests: dict[str, tuple[bytes, Manifest]] = {}

    def latest(self) -> str:
        """Return the latest version."""
        if not self._store.exists(LATEST):
            raise NothingPublished("no export has been published yet; run `sankofa publish`")
        return self._store.read(LATEST).decode("ascii").strip()

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

    def manifest_bytes(self, data_version: str | None = None) -> bytes:
        """Return the manifest byte for byte as it was signed."""
        return self._read(data_version)[0]

    def file(self, data_version: str, name: str) -> PublishedFile | None:
        """Return a file of a version by its name; None if its manifest does not name it."""
        manifest = self.manifest(data_version)
        version = manifest.data_version
        if name in _METADATA_FILES:
            size = self._store.size(version, name)
            return PublishedFile(self._store, version, name, _METADATA_FILES[name], size)
        # One key can begin with another: a match of the beginning alone decides nothing.
        for artifact in manifest.artifacts:
            if name.startswith(artifact.key) and (
                file := self._artifact_file(version, artifact, name)
            ):
                return file
        return None

    def _artifact_file(self, version: str, artifact: Artifact, name: str) -> PublishedFile | None:
        key, delta, tier = artifact.key, artifact.delta, artifact.required_tier
        if name == schema_name(key):
            size = self._store.size(version, name)
            return PublishedFile(self._store, version, name, "application/json", size)
        entries = {file_name(key): artifact, delta_name(key): delta}
        if (entry := entries.get(name)) is None:
            return None
        return PublishedFile(
            self._store, version, name, PARQUET, entry.size_bytes, entry.sha256, tier
        )

    def _read(self, data_version: str | None) -> tuple[bytes, Manifest]:
        version = self.latest() if data_version in (None, LATEST) else str(data_version)
        if version not in self._manifests:
            # The version comes from a URL: check its form before it becomes part of a path.
            if not DATA_VERSION.fullmatch(version) or not self._store.exists(
                version, MANIFEST_FILE
            ):
                raise UnknownVersion(f"{version!r} has no exports; see `sankofa builds`")
            body = self._store.read(version, MANIFEST_FILE)
            self._manifests[version] = body, decode_manifest(body)
        return self._manifests[version]


def file_name(key: str) -> str:
    """Return the file name of an artifact."""
    return f"{key}.parquet"


def delta_name(key: str) -> str:
    """Return the file name of an artifact's changes since the version before."""
    return f"{key}.delta.parquet"


def schema_name(key: str) -> str:
    """Return the file name of an artifact's column descriptions."""
    return f"{key}.schema.json"
