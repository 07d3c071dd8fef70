"""The key store: who may ask, in one SQLite file.

A key is shown once and kept as its SHA-256 beside a short public prefix. The sandbox key is
public, so it alone is also kept in clear, to be shown again. Limits do not belong here.
"""

import hashlib
import hmac
import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from warehouse.errors import SankofaError
from warehouse.tiers import TIERS, Tier, TierName

_MARK = "sk_live_"
_SHOWN = len(_MARK) + 4
_TABLES = """
CREATE TABLE IF NOT EXISTS keys (
    prefix TEXT NOT NULL, sha256 BLOB NOT NULL UNIQUE, tier TEXT NOT NULL, created_at TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS keys_by_prefix ON keys (prefix);
CREATE TABLE IF NOT EXISTS sandbox (one INTEGER PRIMARY KEY CHECK (one = 1), key TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS secrets (name TEXT PRIMARY KEY, secret BLOB NOT NULL);
"""


class KeyStoreUnavailable(SankofaError):
    """The key store does not answer; nobody can be let in until it does."""


@dataclass(frozen=True)
class Key:
    """A key that was found: its public prefix and its tier."""

    prefix: str
    tier: Tier


@dataclass(frozen=True)
class KeyStore:
    """The file that holds the keys."""

    path: Path

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Open the store as it is; one that is not there is unavailable, not empty."""
        with self._open("ro") as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Open the store for one change, made with its tables if it was not there."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.touch(mode=0o600)
        with self._open("rw") as connection:
            connection.executescript(_TABLES)
            connection.execute("BEGIN IMMEDIATE")
            yield connection
            connection.execute("COMMIT")

    @contextmanager
    def _open(self, mode: str) -> Iterator[sqlite3.Connection]:
        address = f"{self.path.absolute().as_uri()}?mode={mode}"
        try:
            connection = sqlite3.connect(address, timeout=1, isolation_level=None, uri=True)
            try:
                yield connection
            finally:
                connection.close()
        except sqlite3.Error as error:
            raise KeyStoreUnavailable(f"the key store does not answer: {error}") from error


def create(store: KeyStore, tier: TierName) -> str:
    """Make a key of a tier; this is the only time it is shown."""
    with store.writing() as connection:
        return _created(connection, tier)


def sandbox(store: KeyStore) -> str:
    """Give the public sandbox key, a real key of the sample tier, made the first time."""
    with store.writing() as connection:
        held = connection.execute("SELECT key FROM sandbox").fetchone()
        if held:
            return str(held[0])
        key = _created(connection, "sample")
        connection.execute("INSERT INTO sandbox VALUES (1, ?)", (key,))
        return key


def find(store: KeyStore, key: str) -> Key | None:
    """Find a key; how long it takes tells nothing of the keys that are held."""
    if not key.isascii():
        return None
    digest, found = _digest(key), None
    with store.reading() as connection:
        held = connection.execute("SELECT sha256, tier FROM keys WHERE prefix = ?", (_prefix(key),))
        for sha256, tier in held:
            if hmac.compare_digest(sha256, digest):
                found = Key(_prefix(key), TIERS[tier])
    return found


def check(store: KeyStore) -> None:
    """Read the store; raise if it does not answer."""
    with store.reading() as connection:
        connection.execute("SELECT prefix FROM keys LIMIT 1").fetchone()


def signing_secret(store: KeyStore, name: str) -> bytes:
    """Give the secret with which the service signs for a purpose, made the first time."""
    with store.writing() as connection:
        fresh = (name, secrets.token_bytes(32))
        connection.execute("INSERT OR IGNORE INTO secrets VALUES (?, ?)", fresh)
        held = connection.execute("SELECT secret FROM secrets WHERE name = ?", (name,)).fetchone()
        return bytes(held[0])


def _created(connection: sqlite3.Connection, tier: TierName) -> str:
    key = _MARK + secrets.token_urlsafe(32)
    row = (_prefix(key), _digest(key), TIERS[tier].name, datetime.now(UTC).isoformat())
    connection.execute("INSERT INTO keys VALUES (?, ?, ?, ?)", row)
    return key


def _prefix(key: str) -> str:
    return key[:_SHOWN]


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode("ascii")).digest()
