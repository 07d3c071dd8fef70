"""Issuing, finding, rotating and revoking of API keys, whichever backend stores them."""

import hashlib
import re
import secrets
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec

from warehouse.errors import SankofaError
from warehouse.keys.backends import (
    FileKeyBackend,
    IssuedKey,
    KeyBackend,
    KeyStoreUnavailable,
    RedisKeyBackend,
)
from warehouse.redis import SCHEMES
from warehouse.tiers import TIERS, Tier, TierName

_KEY_START = "sk_live_"
_KEY_PATTERN = re.compile(rf"({_KEY_START}[A-Za-z0-9_-]{{4}})[A-Za-z0-9_-]+")
_PREFIX_LENGTH = len(_KEY_START) + 4


class Key(msgspec.Struct, frozen=True):
    """An authenticated key: its public prefix, its tier, and the id its use is counted under."""

    prefix: str
    tier: Tier
    key_id: str = ""
    sandbox: bool = False


class KeyStore:
    """The keys in an LMDB file or a Redis."""

    def __init__(self, location: str | Path, tiers: Mapping[TierName, Tier] = TIERS) -> None:
        self.backend: KeyBackend = _backend(str(location))
        self.tiers: Mapping[str, Tier] = {str(name): tier for name, tier in tiers.items()}

    @property
    def path(self) -> Path:
        """The file of the store, if it is one."""
        if isinstance(self.backend, FileKeyBackend):
            return self.backend.path
        raise SankofaError("this key store is not a file")

    def find(self, prefix: str, digest: bytes) -> Key | None:
        """Return the key with this hash if it is known and active."""
        row = self.backend.find(prefix, digest)
        if row is None or not row.is_active():
            return None
        return Key(row.prefix, self.tiers[row.tier], row.key_id, row.sandbox)


def create_key(store: KeyStore, tier: TierName, label: str = "") -> str:
    """Create a key of a tier; only its hash is stored, so this is the only time it is shown."""
    key = _new_key()
    store.backend.save(_issue(key, tier, label))
    return key


def sandbox(store: KeyStore) -> str:
    """Return the public sandbox key, a key of the sample tier; create it the first time."""
    store.backend.prepare()
    key = _required(store.backend.secret("sandbox", _new_key().encode())).decode()
    row = msgspec.structs.replace(_issue(key, "sample", "sandbox"), sandbox=True)
    if store.backend.find(row.prefix, row.sha256) is None:
        store.backend.save(row)
    return key


def usable_sandbox_key(store: KeyStore) -> str | None:
    """Return the sandbox key if there is one and it is active."""
    secret = store.backend.secret("sandbox")
    key = None if secret is None else secret.decode()
    return key if key is not None and find_key(store, key) is not None else None


def find_key(store: KeyStore, key: str) -> Key | None:
    """Return a key if it is known and active.

    It is looked up by its hash: what the time taken may reveal of hashes leads to no key.
    """
    return store.find(_prefix(key), _digest(key)) if key.isascii() else None


def redact_keys(text: str) -> str:
    """Replace every key in a text with its public prefix."""
    return _KEY_PATTERN.sub(r"\1…", text) if _KEY_START in text else text


def list_keys(store: KeyStore) -> list[IssuedKey]:
    """Return every key that was ever issued, oldest first."""
    return store.backend.issued()


def revoke_key(store: KeyStore, name: str) -> IssuedKey:
    """Revoke a key by prefix or id, including predecessors still valid after a rotation."""
    rows = _active_rows(store, name)
    now = datetime.now(UTC)
    ended = [msgspec.structs.replace(row, ends_at=now) for row in rows]
    store.backend.save(*ended)
    return ended[-1]


def rotate_key(store: KeyStore, name: str, overlap: timedelta = timedelta(0)) -> str:
    """Replace a key with a new one of the same tier, label and usage count.

    The old key ends after ``overlap``, so that a customer can switch over.
    """
    rows = _active_rows(store, name)
    # Two rows if an earlier rotation still overlaps: the newest one is continued, all are ended.
    last = rows[-1]
    if last.sandbox:
        raise SankofaError("the sandbox key is public; it is revoked, not rotated")
    key, ends = _new_key(), datetime.now(UTC) + overlap
    ended = [
        msgspec.structs.replace(row, ends_at=min(ends, row.ends_at) if row.ends_at else ends)
        for row in rows
    ]
    issued = msgspec.structs.replace(_issue(key, "sample", last.label), tier=last.tier)
    store.backend.save(*ended, msgspec.structs.replace(issued, key_id=last.key_id))
    return key


def check_key_store(store: KeyStore) -> None:
    """Read from the store; raise if it is unavailable."""
    store.backend.check()


def signing_secret(store: KeyStore, name: str) -> bytes:
    """Return the secret that the service signs with for a purpose; create it the first time."""
    return _required(store.backend.secret(f"signing:{name}", secrets.token_bytes(32)))


def _required(secret: bytes | None) -> bytes:
    if secret is None:
        raise KeyStoreUnavailable("the key store did not store a secret; is it read-only?")
    return secret


def _active_rows(store: KeyStore, name: str) -> list[IssuedKey]:
    """Return the active rows of one key, newest last."""
    rows = [row for row in store.backend.issued() if row.is_active()]
    ids = {row.key_id for row in rows if name in (row.prefix, row.key_id)}
    if not ids:
        raise SankofaError(
            f"no key in use has the prefix or id {name[:_PREFIX_LENGTH]!r}; see the list"
        )
    if len(ids) > 1:
        raise SankofaError(f"{len(ids)} keys have the prefix {name!r}; name the id instead")
    return [row for row in rows if row.key_id in ids]


def _issue(key: str, tier: TierName, label: str) -> IssuedKey:
    key_id = secrets.token_hex(8)
    return IssuedKey(_prefix(key), _digest(key), key_id, tier, label, datetime.now(UTC))


def _new_key() -> str:
    return _KEY_START + secrets.token_urlsafe(32)


def _prefix(key: str) -> str:
    return key[:_PREFIX_LENGTH]


def _digest(key: str) -> bytes:
    # A plain hash is enough: unlike a password, 256 random bits cannot be guessed.
    return hashlib.sha256(key.encode("ascii")).digest()


def _backend(location: str) -> KeyBackend:
    if not location.startswith(SCHEMES):
        return FileKeyBackend(Path(location))
    return RedisKeyBackend(location)
