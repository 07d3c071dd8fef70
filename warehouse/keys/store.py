"""Issuing, finding, rotating and revoking of API keys, whichever backend stores them."""

import hashlib
import hmac
import re
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass
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

_MARK = "sk_live_"
_IN_TEXT = re.compile(rf"({_MARK}[A-Za-z0-9_-]{{4}})[A-Za-z0-9_-]+")
_SHOWN = len(_MARK) + 4
_REMEMBERED = 10_000
# A change of a key takes effect within a second, also where none can be seen for free.
_SECONDS = 0.8


@dataclass(frozen=True)
class Key:
    """A key that was found: its public prefix, its tier, and whom its use is counted for."""

    prefix: str
    tier: Tier
    key_id: str = ""
    sandbox: bool = False


class KeyStore:
    """The keys at a place: the path of a file, or the URL of a Redis."""

    def __init__(self, place: str | Path, tiers: Mapping[TierName, Tier] = TIERS) -> None:
        self.backend: KeyBackend = _backend(str(place))
        self._tiers: Mapping[str, Tier] = {str(name): tier for name, tier in tiers.items()}
        self._found: dict[bytes, tuple[Key, object, float]] = {}

    @property
    def path(self) -> Path:
        """The file of the store, where it is one."""
        if isinstance(self.backend, FileKeyBackend):
            return self.backend.path
        raise SankofaError("this key store is no file")

    def find(self, prefix: str, digest: bytes) -> Key | None:
        """Find a key by its hash; one found a moment ago is not looked for again."""
        stamp, now = self.backend.stamp(), time.monotonic()
        known = self._found.get(digest)
        if known is not None and known[1] == stamp and now < known[2]:
            return known[0]
        found = self._read(prefix, digest)
        if found is None:
            self._found.pop(digest, None)
            return None
        if len(self._found) >= _REMEMBERED:
            self._found.clear()
        self._found[digest] = (found, stamp, now + _SECONDS)
        return found

    def _read(self, prefix: str, digest: bytes) -> Key | None:
        found = None
        for row in self.backend.held(prefix):
            if hmac.compare_digest(row.sha256, digest) and row.holds():
                found = Key(prefix, self._tiers[row.tier], row.key_id, row.sandbox)
        return found


def create_key(store: KeyStore, tier: TierName, label: str = "") -> str:
    """Make a key of a tier; this is the only time it is shown."""
    key = _fresh()
    store.backend.keep(_made(key, tier, label))
    return key


def sandbox(store: KeyStore) -> str:
    """Give the public sandbox key, a real key of the sample tier, made the first time."""
    store.backend.prepare()
    key = _kept(store.backend.secret("sandbox", _fresh().encode())).decode()
    row = msgspec.structs.replace(_made(key, "sample", "sandbox"), sandbox=True)
    if all(held.sha256 != row.sha256 for held in store.backend.held(row.prefix)):
        store.backend.keep(row)
    return key


def usable_sandbox_key(store: KeyStore) -> str | None:
    """Give the sandbox key as visitors are shown it: only if there is one and it lets them in."""
    held = store.backend.secret("sandbox")
    key = None if held is None else held.decode()
    return key if key is not None and find_key(store, key) is not None else None


def find_key(store: KeyStore, key: str) -> Key | None:
    """Find a key; how long it takes tells nothing of the keys that are held."""
    return store.find(_prefix(key), _digest(key)) if key.isascii() else None


def redact_keys(text: str) -> str:
    """Leave of any key in a text only its public prefix."""
    return _IN_TEXT.sub(r"\1…", text) if _MARK in text else text


def list_keys(store: KeyStore) -> list[IssuedKey]:
    """List the keys that were ever made, in the order of their making."""
    return store.backend.held()


def revoke_key(store: KeyStore, name: str) -> IssuedKey:
    """End the key of a prefix or an id, and what is left of it from before a rotation."""
    rows = _named(store, name)
    now = datetime.now(UTC)
    ended = [msgspec.structs.replace(row, ends_at=now) for row in rows]
    store.backend.keep(*ended)
    return ended[-1]


def rotate_key(store: KeyStore, name: str, overlap: timedelta = timedelta(0)) -> str:
    """Make a new key in place of one; its tier, its label and its use go on.

    The one before ends after ``overlap``, so that a customer can change over.
    """
    rows = _named(store, name)
    last = rows[-1]
    if last.sandbox:
        raise SankofaError("the sandbox key is public; it is revoked, not rotated")
    key, ends = _fresh(), datetime.now(UTC) + overlap
    ended = [
        msgspec.structs.replace(row, ends_at=min(ends, row.ends_at) if row.ends_at else ends)
        for row in rows
    ]
    made = msgspec.structs.replace(_made(key, "sample", last.label), tier=last.tier)
    store.backend.keep(*ended, msgspec.structs.replace(made, key_id=last.key_id))
    return key


def check_key_store(store: KeyStore) -> None:
    """Read the store; raise if it does not answer."""
    store.backend.check()


def signing_secret(store: KeyStore, name: str) -> bytes:
    """Give the secret with which the service signs for a purpose, made the first time."""
    return _kept(store.backend.secret(f"signing:{name}", secrets.token_bytes(32)))


def _kept(secret: bytes | None) -> bytes:
    if secret is None:
        raise KeyStoreUnavailable("the key store did not keep a secret; is it read-only?")
    return secret


def _named(store: KeyStore, name: str) -> list[IssuedKey]:
    """Give the rows of one key that still hold, the newest last."""
    rows = [row for row in store.backend.held() if row.holds()]
    ids = {row.key_id for row in rows if name in (row.prefix, row.key_id)}
    if not ids:
        raise SankofaError(f"no key in use has the prefix or id {name[:_SHOWN]!r}; see the list")
    if len(ids) > 1:
        raise SankofaError(f"{len(ids)} keys have the prefix {name!r}; name the id instead")
    return [row for row in rows if row.key_id in ids]


def _made(key: str, tier: TierName, label: str) -> IssuedKey:
    key_id = secrets.token_hex(8)
    return IssuedKey(_prefix(key), _digest(key), key_id, tier, label, datetime.now(UTC))


def _fresh() -> str:
    return _MARK + secrets.token_urlsafe(32)


def _prefix(key: str) -> str:
    return key[:_SHOWN]


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode("ascii")).digest()


def _backend(place: str) -> KeyBackend:
    if not place.startswith(SCHEMES):
        return FileKeyBackend(Path(place))
    return RedisKeyBackend(place)
