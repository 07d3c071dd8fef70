"""Bulk files: the signed manifest of a version, and downloads that are checked against it.

No file is opened before its bytes have the SHA-256 that the manifest states, and no manifest is
used before its signature is valid: that of the key that was pinned, or else of the key that the
service had at first use.
"""

import hashlib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from sankofa_client.connection import Connection, no_answer
from sankofa_client.errors import (
    FileDamaged,
    OutdatedVersion,
    PackageMissing,
    SankofaError,
    SignatureInvalid,
)
from sankofa_client.known_services import KnownService

LATEST = "latest"
_VERSION = re.compile(r"[0-9]{8}\.[0-9]+")
# Names in a manifest become names of files here.
_FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True)
class BulkFile:
    """One file of a version, as its signed manifest describes it."""

    key: str
    name: str
    sha256: str
    size_bytes: int
    members: Mapping[str, Any]


@dataclass(frozen=True)
class Manifest:
    """All files of a version; its signature was valid."""

    data_version: str
    artifacts: list[dict[str, Any]]

    def file(self, name: str) -> BulkFile:
        """Return the file with a key, a file name, or a dataset that has only one file."""
        files = [_file(artifact) for artifact in self.artifacts]
        deltas = [
            _file({**artifact, **artifact["delta"], "key": f"{artifact['key']}-delta"})
            for artifact in self.artifacts
            if artifact["delta"] is not None
        ]
        named = [file for file in (*files, *deltas) if name in (file.key, file.name)]
        chosen = named or [file for file in files if file.members["sku"] == name.upper()]
        if len(chosen) == 1:
            return chosen[0]
        keys = ", ".join(file.key for file in chosen or files)
        found = "is several files" if chosen else "is no file"
        raise SankofaError(f"{name!r} {found} of {self.data_version}; choose one of: {keys}")


class BulkFiles:
    """The bulk files of a service."""

    def __init__(
        self, connection: Connection, signing_key: str | bytes | None, known: KnownService
    ) -> None:
        self._connection, self._known = connection, known
        self._pinned = signing_key.encode() if isinstance(signing_key, str) else signing_key
        self._manifests: dict[str, Manifest] = {}

    def manifest(self, data_version: str) -> Manifest:
        """Return the manifest of a version or of ``latest``, once its signature is verified."""
        if data_version not in self._manifests:
            manifest = self._verified(data_version)
            if data_version == LATEST:
                # It moves with the next publication.
                return manifest
            self._manifests[data_version] = manifest
        return self._manifests[data_version]

    def fetch(self, file: BulkFile, data_version: str, folder: Path) -> Path:
        """Return the path of a file in ``folder``; download it unless it is there and intact."""
        path = folder / data_version / file.name
        if path.is_file() and _sha256(path) == file.sha256:
            return path
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f"{path.name}.part")
        resumed = part.exists()
        self._download(file, data_version, part)
        if _sha256(part) != file.sha256 and resumed:
            # What was there before may be the cause.
            part.unlink()
            self._download(file, data_version, part)
        if _sha256(part) != file.sha256:
            part.unlink()
            raise FileDamaged(
                f"{file.name} of {data_version} does not have the SHA-256 of the signed manifest; "
                "it was deleted. Try again; if it fails again, tell whoever runs the service."
            )
        return part.replace(path)

    def _verified(self, data_version: str) -> Manifest:
        if data_version != LATEST and not _VERSION.fullmatch(data_version):
            raise ValueError(
                f"{data_version!r} is no data_version such as 20261114.3, nor 'latest'"
            )
        body = self._connection.get(f"/exports/{data_version}/manifest.json").content
        # ``latest`` may move between two requests: the signature of the version that came.
        stated = _stated_version(body)
        if data_version not in (LATEST, stated):
            raise SignatureInvalid(f"The manifest of {data_version} is that of {stated}.")
        signature = self._connection.get(f"/exports/{stated}/manifest.json.sig").content
        self.check_signature(body, signature)
        if data_version == LATEST:
            self._check_latest(stated)
        return Manifest(stated, json.loads(body)["artifacts"])

    def check_signature(self, body: bytes, signature: bytes) -> None:
        """Raise unless the key that is trusted signed a body; remember that key."""
        remembered = None if self._pinned else self._known.signing_key
        key = self.trusted_key
        try:
            verify_signature(body, signature, key)
        except SignatureInvalid as error:
            if remembered is None or self._offered_key().strip() == remembered.strip():
                raise
            raise SignatureInvalid(
                f"{self._known.name} signs with another key than the one it had at first; do not "
                "use its files. Ask its operator whether the key was replaced: if it was, get the "
                "new one from them and pass it once as signing_key, or, to trust what the service "
                f"offers now, delete {self._known.name!r} from {self._known.path}."
            ) from error
        self._known.remember(signing_key=key.decode())

    @property
    def trusted_key(self) -> bytes:
        """The key that was pinned, or that the service had at first use."""
        return self._pinned or self._known.signing_key or self._offered_key()

    def _offered_key(self) -> bytes:
        return self._connection.get("/exports/signing-key.pem").content

    def _check_latest(self, version: str) -> None:
        """Raise if the latest version is older than one that was the latest before."""
        seen = self._known.latest
        if seen is not None and _order(version) < _order(seen):
            raise OutdatedVersion(
                f"{self._known.name} offers {version} as its latest version, and offered {seen} "
                "before: either its operator went back to it, or somebody sends you an old copy. "
                f"If the operator confirms it, ask for {version!r} by name as data_version."
            )
        self._known.remember(latest=version)

    def _download(self, file: BulkFile, data_version: str, part: Path) -> None:
        """Add to a part of a file until it is whole; a broken download goes on where it broke."""
        path, waited, attempt = f"/exports/{data_version}/{file.name}", 0.0, 0
        if _size(part) > file.size_bytes:
            part.unlink()
        while (begin := _size(part)) < file.size_bytes:
            try:
                self._append(path, part, begin, file.size_bytes)
            except httpx.TransportError as error:
                if _size(part) > begin:
                    # As long as something arrives, any number of attempts is right.
                    waited, attempt = 0.0, 0
                failure = no_answer(path, error)
                failure.__cause__ = error
                waited = self._connection.pause_before(attempt, failure, waited)
                attempt += 1

    def _append(self, path: str, part: Path, begin: int, size: int) -> None:
        # Without compression: ranges count the bytes that are sent.
        headers = {"Accept-Encoding": "identity"}
        if begin:
            headers["Range"] = f"bytes={begin}-"
        with self._connection.stream(path, headers=headers, whole=False) as response:
            # 200 is the whole file, even if a part was requested.
            is_rest = response.status_code == 206
            received = begin if is_rest else 0
            with part.open("ab" if is_rest else "wb") as stream:
                # As they come, so that nothing is lost if the connection breaks.
                for chunk in response.iter_raw():
                    received += len(chunk)
                    if received > size:
                        break
                    stream.write(chunk)
        if received != size:
            part.unlink()
            raise FileDamaged(f"{path} does not have the {size} bytes that the manifest states.")


def default_folder() -> Path:
    """Return the folder of downloaded files: ``sankofa`` in the user's folder of caches."""
    caches = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    return Path(caches or Path.home() / ".cache") / "sankofa"


def _file(artifact: Mapping[str, Any]) -> BulkFile:
    # Manifests once had absolute URLs.
    name = str(artifact["url"]).rpartition("/")[2]
    if not _FILE_NAME.fullmatch(name):
        raise SankofaError(f"The manifest names a file {name!r}, which is no name of a file.")
    members = {member: artifact.get(member) for member in ("sku", "title", "license", "sql_as_of")}
    return BulkFile(artifact["key"], name, artifact["sha256"], artifact["size_bytes"], members)


def _stated_version(body: bytes) -> str:
    try:
        stated = str(json.loads(body)["data_version"])
    except (ValueError, TypeError, KeyError):
        stated = ""
    if not _VERSION.fullmatch(stated):
        raise SignatureInvalid("What the service sent is no manifest of bulk files.")
    return stated


def _order(version: str) -> tuple[int, int]:
    day, _, number = version.partition(".")
    return int(day), int(number)


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def verify_signature(body: bytes, signature: bytes, key: bytes) -> None:
    """Raise unless a body has an Ed25519 signature of a public key in PEM."""
    try:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
        from cryptography.hazmat.primitives.serialization import load_pem_public_key
    except ImportError as error:
        raise PackageMissing(
            "A signature is verified with the package cryptography, which is not "
            "installed: pip install cryptography"
        ) from error
    public_key = load_pem_public_key(key)
    if not isinstance(public_key, Ed25519PublicKey):
        raise SignatureInvalid("The signing key is no Ed25519 key.")
    try:
        public_key.verify(signature, body)
    except InvalidSignature as error:
        raise SignatureInvalid(
            "It is not signed with the expected key; do not use it. If you pinned "
            "a signing key, compare it with the one that the operator publishes."
        ) from error
