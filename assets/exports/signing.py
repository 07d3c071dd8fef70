"""The key that manifests are signed with: Ed25519, made on first use."""

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)

from warehouse.errors import SankofaError
from warehouse.exports.file_store import FileStore
from warehouse.exports.published import (
    MANIFEST_FILE,
    PUBLIC_KEY,
    SIGNATURE,
    decode_manifest,
    delta_name,
    file_name,
)


class BadSigningKey(SankofaError):
    """The file of the signing key does not hold one, or others may read it."""


@dataclass(frozen=True)
class SigningKey:
    """A private key; only its public half leaves it."""

    _private: Ed25519PrivateKey

    @classmethod
    def at(cls, path: Path) -> Self:
        """Read the key, which nobody but its owner may read; make it if there is none yet."""
        if not path.exists():
            _make(path)
        if path.stat().st_mode & 0o077:
            raise BadSigningKey(f"{path} can be read by others; run `chmod 600` on it")
        try:
            key = load_pem_private_key(path.read_bytes(), password=None)
        except ValueError:
            key = None
        if not isinstance(key, Ed25519PrivateKey):
            raise BadSigningKey(f"{path} holds no Ed25519 key; restore it or move it away")
        return cls(key)

    def sign(self, body: bytes) -> bytes:
        """Give the detached signature: 64 bytes."""
        return self._private.sign(body)

    def public_pem(self) -> bytes:
        """Give the public key, as it is published."""
        return self._private.public_key().public_bytes(
            Encoding.PEM, PublicFormat.SubjectPublicKeyInfo
        )


def is_signed(body: bytes, signature: bytes, public_pem: bytes) -> bool:
    """Tell whether the holder of a key signed exactly these bytes."""
    key = load_pem_public_key(public_pem)
    if not isinstance(key, Ed25519PublicKey):
        return False
    try:
        key.verify(signature, body)
    except InvalidSignature:
        return False
    return True


def _make(path: Path) -> None:
    """Make a key; of two that make one at once, both use the first."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pem = Ed25519PrivateKey.generate().private_bytes(
        Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()
    )
    beside = path.with_name(f"{path.name}.{os.getpid()}.partial")
    beside.unlink(missing_ok=True)
    handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(pem)
        file.flush()
        os.fsync(file.fileno())
    try:
        os.link(beside, path)
    except FileExistsError:
        pass
    finally:
        beside.unlink()


_PART = 1 << 20


def verify_export(
    destination: str, data_version: str, public_pem: bytes | None = None
) -> list[str]:
    """Say what of a version is not as it was signed; nothing where all is.

    ``public_pem`` is the key that is trusted; without it the one beside the manifest, which
    tells damage and not fraud.
    """
    place = FileStore.of(destination)
    body, signature = place.read(data_version, MANIFEST_FILE), place.read(data_version, SIGNATURE)
    if not is_signed(body, signature, public_pem or place.read(data_version, PUBLIC_KEY)):
        return [f"{MANIFEST_FILE}: its signature is not of these bytes"]
    wrong = []
    for artifact in decode_manifest(body).artifacts:
        wrong += _differs(place, data_version, file_name(artifact.key), artifact.sha256)
        if delta := artifact.delta:
            wrong += _differs(place, data_version, delta_name(artifact.key), delta.sha256)
    return wrong


def _differs(place: FileStore, data_version: str, name: str, sha256: str) -> list[str]:
    if not place.exists(data_version, name):
        return [f"{name}: is missing"]
    digest = hashlib.sha256()
    with place.open(data_version, name) as file:
        while part := file.read(_PART):
            digest.update(part)
    if digest.hexdigest() == sha256:
        return []
    return [f"{name}: its SHA-256 is {digest.hexdigest()}, and {sha256} was signed"]
