"""Sign manifests of exports and receipts with Ed25519, and check their signatures."""

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

from warehouse.shared.errors import SankofaError
from warehouse.shared.files import create_file


@dataclass(frozen=True)
class SigningKey:
    """A private key; only the public key can be read from it."""

    _private: Ed25519PrivateKey

    @classmethod
    def at(cls, path: Path) -> Self:
        """Read the key, which only its owner may read; create it if there is none."""
        if not path.exists():
            _create_key(path)
        # Whoever reads the key can sign in our name.
        if path.stat().st_mode & 0o077:
            raise SankofaError(f"{path} can be read by others; run `chmod 600` on it")
        try:
            key = load_pem_private_key(path.read_bytes(), password=None)
        except ValueError:
            key = None
        if not isinstance(key, Ed25519PrivateKey):
            raise SankofaError(f"{path} is not an Ed25519 key; restore it or move it away")
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
    try:
        key = load_pem_public_key(public_pem)
    except ValueError:
        return False
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
    # Before anything is in it: no other user can read it at any moment.
    partial.touch(0o600)
    create_file(path, pem, partial)
