"""Published exports: versions, manifests and files.

Versions never change, so manifests are cached. Only files that a manifest names can be opened.
"""

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from pathlib import Path
from typing import Any, BinaryIO, Literal

import msgspec

from warehouse.serve.engines import Identity, identity_of
from warehouse.shared.dates import DATA_VERSION, version_key
from warehouse.shared.errors import (
    DamagedFile,
    DatastoreUnavailable,
    NothingPublished,
    UnknownVersion,
)
from warehouse.shared.file_store import FileStore
from warehouse.shared.files import FileCheck, check_of, damage_of, stored_checks
from warehouse.shared.tiers import TierName

# Check a published file before it is first sent, and again if it is another one since.
#
# A service answers requests in one loop, which a large file must not stop: it is checked in a
# thread, and whoever asks for it meanwhile is told to come back.

# Bytes that are checked in about 20 ms, by XXH3 and by SHA-256.
_AT_ONCE, _AT_ONCE_SHA256 = 64 << 20, 2 << 20


class CheckedExports:
    """What is known of local files by path; any number of threads may ask."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[Identity, str | None]] = {}
        self._checking: set[str] = set()
        self._lock = threading.Lock()
        self._executor: ThreadPoolExecutor | None = None

    def require(self, path: str, size: int, xxh3: str, sha256: str) -> None:
        """Raise ``DamagedFile`` unless a file is what was published.

        Raises ``DatastoreUnavailable`` while that is being found out.
        """
        identity = identity_of(path)
        if identity is None:
            raise DamagedFile(f"{path} is missing")
        known = self._known.get(path)
        if known is None or known[0] != identity:
            if identity[2] == size and size > (_AT_ONCE if xxh3 else _AT_ONCE_SHA256):
                self._check_later(path, identity, size, xxh3, sha256)
                raise DatastoreUnavailable(f"{path} is being checked; ask again")
            known = self._check(path, identity, size, xxh3, sha256)
        if known[1] is not None:
            raise DamagedFile(f"{path} is damaged: {known[1]}")

    def _check(
        self, path: str, identity: Identity, size: int, xxh3: str, sha256: str
    ) -> tuple[Identity, str | None]:
        known = self._known[path] = identity, damage_of(Path(path), size, xxh3, sha256)
        return known

    def _check_later(
        self, path: str, identity: Identity, size: int, xxh3: str, sha256: str
    ) -> None:
        def check() -> None:
            try:
                self._check(path, identity, size, xxh3, sha256)
            finally:
                self._checking.discard(path)

        with self._lock:
            if path in self._checking:
                return
            self._checking.add(path)
            if self._executor is None:
                # Made when it is needed: threads do not survive the fork of a worker.
                self._executor = ThreadPoolExecutor(1, "check")
            self._executor.submit(check)


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
    """Decode a manifest; raise ``DamagedFile`` if it is none."""
    try:
        return msgspec.json.decode(body, type=Manifest)
    except msgspec.MsgspecError as error:
        raise DamagedFile(f"a manifest of exports is damaged: {error}") from error


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
    dataset: str | None = None
    check: FileCheck | None = None
    checked: CheckedExports = field(default_factory=CheckedExports, repr=False, compare=False)

    def open(self) -> BinaryIO:
        """Open the file; it can be read from any position.

        Raises ``DamagedFile`` unless it is what was published.
        """
        if self.store.is_local:
            path, xxh3 = self.store.path(self.data_version, self.name), ""
            if self.check is not None:
                xxh3 = self.check.xxh3
            self.checked.require(path, self.size_bytes, xxh3, self.sha256 or "")
        # An object store checks its own objects; that one is whole can be seen by its size.
        elif self.store.size(self.data_version, self.name) != self.size_bytes:
            raise DamagedFile(f"{self.data_version}/{self.name} has another size")
        return self.store.open(self.data_version, self.name)


class PublishedExports:
    """All exports at a destination."""

    def __init__(self, destination: str) -> None:
        self._store = FileStore.of(destination)
        self._manifests: dict[str, tuple[bytes, Manifest, dict[str, FileCheck]]] = {}
        self._checked = CheckedExports()

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

    def manifest_bytes(self, data_version: str | None = None) -> bytes:
        """Return the manifest byte for byte as it was signed."""
        return self._read(data_version)[0]

    def file(self, data_version: str, name: str) -> PublishedFile | None:
        """Return a file of a version by its name; None if its manifest does not name it."""
        _, manifest, checks = self._read(data_version)
        version = manifest.data_version
        if name in _METADATA_FILES:
            return self._file(version, name, _METADATA_FILES[name], checks)
        # One key can begin with another: a match of the beginning alone decides nothing.
        for artifact in manifest.artifacts:
            if name.startswith(artifact.key) and (
                file := self._artifact_file(version, artifact, name, checks)
            ):
                return file
        return None

    def names(self, data_version: str) -> list[str]:
        """Return the names of the Parquet files of a version, and of what describes them all."""
        artifacts = self.manifest(data_version).artifacts
        return [*(file_name(artifact.key) for artifact in artifacts), *_METADATA_FILES]

    def is_intact(self, data_version: str, name: str) -> bool:
        """Return whether a file that the manifest names is what was published."""
        if not self.has_size(data_version, name):
            return False
        file = self.file(data_version, name)
        # A list of checks may name more than the manifest.
        if file is None:
            return name not in self._read(data_version)[2]
        if not self._store.is_local:
            return True
        xxh3 = "" if file.check is None else file.check.xxh3
        path = self._store.path(data_version, name)
        return damage_of(path, file.size_bytes, xxh3, file.sha256 or "") is None

    def has_size(self, data_version: str, name: str) -> bool:
        """Return whether a file that the manifest names is there, with its size."""
        try:
            file = self.file(data_version, name)
            return file is None or self._store.size(data_version, name) == file.size_bytes
        except FileNotFoundError:
            return False

    def _artifact_file(
        self, version: str, artifact: Artifact, name: str, checks: dict[str, FileCheck]
    ) -> PublishedFile | None:
        key, delta = artifact.key, artifact.delta
        if name == schema_name(key):
            return self._file(version, name, "application/json", checks)
        entries = {file_name(key): artifact, delta_name(key): delta}
        if (entry := entries.get(name)) is None:
            return None
        file = self._file(version, name, PARQUET, checks, entry.size_bytes)
        return replace(
            file,
            sha256=entry.sha256,
            required_tier=artifact.required_tier,
            dataset=artifact.sku,
        )

    def _file(
        self,
        version: str,
        name: str,
        media_type: str,
        checks: dict[str, FileCheck],
        size: int | None = None,
    ) -> PublishedFile:
        check = checks.get(name)
        if size is None:
            size = check.size if check is not None else self._store.size(version, name)
        return PublishedFile(
            self._store, version, name, media_type, size, check=check, checked=self._checked
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
            checks = stored_checks(self._store, version) or {}
            if checks and checks.get(MANIFEST_FILE) != check_of(body):
                path = self._store.path(version, MANIFEST_FILE)
                raise DamagedFile(f"{path} is damaged: its bytes are not those that were written")
            while len(self._manifests) >= _MOST_MANIFESTS:
                self._manifests.pop(next(iter(self._manifests)), None)
            self._manifests[version] = known = body, decode_manifest(body), checks
        return known


def file_name(key: str) -> str:
    """Return the file name of an artifact."""
    return f"{key}.parquet"


def delta_name(key: str) -> str:
    """Return the file name of an artifact's changes since the version before."""
    return f"{key}.delta.parquet"


def schema_name(key: str) -> str:
    """Return the file name of an artifact's column descriptions."""
    return f"{key}.schema.json"
