"""Sign a manifest with Ed25519, and verify an export against its signed manifest."""

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

from warehouse.serve.exports import (
    MANIFEST_FILE,
    PUBLIC_KEY,
    SIGNATURE,
    decode_manifest,
    delta_name,
    file_name,
)
from warehouse.shared.errors import SankofaError
from warehouse.shared.file_store import FileStore


class BadSigningKey(SankofaError):
    """The signing key file has no valid key, or others can read it."""


@dataclass(frozen=True)
class SigningKey:
    """A private key; only the public key can be read from it."""

    _private: Ed25519PrivateKey

    @classmethod
    def at(cls, path: Path) -> Self:
        """Read the key, which only its owner may read; create it if there is none."""
        if not path.exists():
            _create_key(path)
        # Whoever reads the key can sign exports in our name.
        if path.stat().st_mode & 0o077:
            raise BadSigningKey(f"{path} can be read by others; run `chmod 600` on it")
        try:
            key = load_pem_private_key(path.read_bytes(), password=None)
        except ValueError:
            key = None
        if not isinstance(key, Ed25519PrivateKey):
            raise BadSigningKey(f"{path} is not an Ed25519 key; restore it or move it away")
        return cls(key)

    def sign(self, body: bytes) -> bytes:
        """Return the detached signature: 64 bytes."""
        return self._private.sign(body)

    def public_pem(self) -> bytes:
        """Return the public key as PEM, as it is published."""
        return self._private.public_key().public_bytes(
            Encoding.PEM, PublicFormat.SubjectPublicKeyInfo
        )


def is_signed(body: bytes, signature: bytes, public_pem: bytes) -> bool:
    """Return whether the owner of a key signed exactly these bytes."""
    key = load_pem_public_key(public_pem)
    if not isinstance(key, Ed25519PublicKey):
        return False
    try:
        key.verify(signature, body)
    except InvalidSignature:
        return False
    return True


def _create_key(path: Path) -> None:
    """Create a key; if two processes do so at once, both use the first."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pem = Ed25519PrivateKey.generate().private_bytes(
        Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()
    )
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    partial.unlink(missing_ok=True)
    handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(pem)
        file.flush()
        os.fsync(file.fileno())
    try:
        # Unlike a rename, a link fails if the file exists.
        os.link(partial, path)
    except FileExistsError:
        pass
    finally:
        partial.unlink()


_CHUNK = 1 << 20


def verify_export(
    destination: str, data_version: str, public_pem: bytes | None = None
) -> list[str]:
    """Return the differences between a version and what was signed; none if it is intact.

    ``public_pem`` is the trusted key. Without it the key beside the manifest is used, which
    detects damage but not forgery.
    """
    store = FileStore.of(destination)
    body, signature = store.read(data_version, MANIFEST_FILE), store.read(data_version, SIGNATURE)
    if not is_signed(body, signature, public_pem or store.read(data_version, PUBLIC_KEY)):
        return [f"{MANIFEST_FILE}: its signature is not of these bytes"]
    problems = []
    for artifact in decode_manifest(body).artifacts:
        problems += _differences(store, data_version, file_name(artifact.key), artifact.sha256)
        if delta := artifact.delta:
            problems += _differences(store, data_version, delta_name(artifact.key), delta.sha256)
    return problems


def _differences(store: FileStore, data_version: str, name: str, sha256: str) -> list[str]:
    if not store.exists(data_version, name):
        return [f"{name}: is missing"]
    digest = hashlib.sha256()
    with store.open(data_version, name) as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    if digest.hexdigest() == sha256:
        return []
    return [f"{name}: its SHA-256 is {digest.hexdigest()}, and {sha256} was signed"]
