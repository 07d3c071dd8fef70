"""Where issued keys are stored: one SQLite file for one machine, or a Redis for many."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

import msgspec

from warehouse.errors import SankofaError
from warehouse.redis import connected


class KeyStoreUnavailable(SankofaError):
    """The key store is unavailable; no key can be checked until it is back."""


class IssuedKey(msgspec.Struct, frozen=True):
    """A key as it is stored: its hash, never the key. ``key_id`` survives a rotation."""

    prefix: str
    sha256: bytes
    key_id: str
    tier: str
    label: str
    created_at: datetime
    ends_at: datetime | None = None
    sandbox: bool = False

    def is_active(self, now: datetime | None = None) -> bool:
        """Return whether the key has not ended."""
        return self.ends_at is None or (now or datetime.now(UTC)) < self.ends_at


class KeyBackend(Protocol):
    """A store of issued keys and of secrets; raises KeyStoreUnavailable."""

    def issued(self, prefix: str | None = None) -> list[IssuedKey]:
        """Return the keys with a prefix, or all."""

    def save(self, *rows: IssuedKey) -> None:
        """Store keys in one transaction; replace those with the same hash."""

    def prepare(self) -> None:
        """Create the store if it is missing; only commands that administer keys do."""

    def secret(self, name: str, fresh: bytes | None = None) -> bytes | None:
        """Return the secret of a name; store and return ``fresh`` if there is none."""

    def stamp(self) -> object:
        """Return a value that changes with the store, if that costs next to nothing to read."""

    def check(self) -> None:
        """Read from the store; raise if it is unavailable."""


_TABLES = """
CREATE TABLE IF NOT EXISTS issued (
    prefix TEXT NOT NULL, sha256 BLOB PRIMARY KEY, key_id TEXT NOT NULL, tier TEXT NOT NULL,
    label TEXT NOT NULL, created_at TEXT NOT NULL, ends_at TEXT, sandbox INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS issued_by_prefix ON issued (prefix);
CREATE TABLE IF NOT EXISTS secrets (name TEXT PRIMARY KEY, secret BLOB NOT NULL);
"""
_COLUMNS = "prefix, sha256, key_id, tier, label, created_at, ends_at, sandbox"


class FileKeyBackend:
    """Keys in one SQLite file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._path_text, self._uri = str(path), path.absolute().as_uri()

    def issued(self, prefix: str | None = None) -> list[IssuedKey]:
        """Return the keys with a prefix, or all."""
        query = f"SELECT {_COLUMNS} FROM issued"
        with self._open("ro") as connection:
            if prefix is None:
                return [_issued(*row) for row in connection.execute(f"{query} ORDER BY created_at")]
            rows = connection.execute(f"{query} WHERE prefix = ?", (prefix,))
            return [_issued(*row) for row in rows]

    def save(self, *rows: IssuedKey) -> None:
        """Store keys in one transaction; replace those with the same hash."""
        with self._writing() as connection:
            connection.executemany(
                f"INSERT OR REPLACE INTO issued ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                map(_row, rows),
            )

    def secret(self, name: str, fresh: bytes | None = None) -> bytes | None:
        """Return the secret of a name; store and return ``fresh`` if there is none."""
        query = "SELECT secret FROM secrets WHERE name = ?"
        with self._open("ro" if fresh is None else "rw") as connection:
            row = connection.execute(query, (name,)).fetchone()
            if row is None and fresh is not None:
                # Of two processes that create it at once, the second reads that of the first.
                connection.execute("INSERT OR IGNORE INTO secrets VALUES (?, ?)", (name, fresh))
                row = connection.execute(query, (name,)).fetchone()
            return None if row is None else bytes(row[0])

    def prepare(self) -> None:
        """Create the file and its tables if they are missing."""
        with self._writing():
            pass

    def stamp(self) -> object:
        """Return the identity, time of change and size of the file."""
        try:
            # Takes half the time of Path.stat; called for every request.
            status = os.stat(self._path_text)  # noqa: PTH116
        except OSError as error:
            raise KeyStoreUnavailable(f"the key store is unavailable: {error.strerror}") from error
        return status.st_ino, status.st_mtime_ns, status.st_size

    def check(self) -> None:
        """Read from the store; raise if it is unavailable."""
        with self._open("ro") as connection:
            connection.execute("SELECT prefix FROM issued LIMIT 1").fetchone()

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """Open the store for one transaction; create it if it is missing."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        # Created before SQLite would, which gives a file the default permissions.
        self.path.touch(mode=0o600)
        with self._open("rw") as connection:
            # executescript commits a transaction that is open, so it must come before BEGIN.
            connection.executescript(_TABLES)
            # IMMEDIATE waits for other writers here; a later upgrade from reading fails at once.
            connection.execute("BEGIN IMMEDIATE")
            yield connection
            # Not reached after an error: closing the connection then rolls back.
            connection.execute("COMMIT")

    @contextmanager
    def _open(self, mode: str) -> Iterator[sqlite3.Connection]:
        try:
            connection = sqlite3.connect(
                f"{self._uri}?mode={mode}", timeout=1, isolation_level=None, uri=True
            )
            try:
                yield connection
            finally:
                connection.close()
        except sqlite3.Error as error:
            raise KeyStoreUnavailable(f"the key store is unavailable: {error}") from error


def _issued(
    prefix: str,
    sha256: bytes,
    key_id: str,
    tier: str,
    label: str,
    created_at: str,
    ends_at: str | None,
    sandbox: int,
) -> IssuedKey:
    ends = None if ends_at is None else datetime.fromisoformat(ends_at)
    created = datetime.fromisoformat(created_at)
    return IssuedKey(prefix, sha256, key_id, tier, label, created, ends, bool(sandbox))


def _row(issued: IssuedKey) -> tuple[object, ...]:
    ends = None if issued.ends_at is None else issued.ends_at.isoformat()
    return (
        issued.prefix,
        issued.sha256,
        issued.key_id,
        issued.tier,
        issued.label,
        issued.created_at.isoformat(),
        ends,
        issued.sandbox,
    )


_PREFIXES = "sankofa:keys"
_DECODE = msgspec.msgpack.Decoder(IssuedKey).decode


class RedisKeyBackend:
    """Keys in a Redis: one hash per prefix, from the SHA-256 of a key to its row."""

    def __init__(self, url: str) -> None:
        self._redis = connected(url)

    def issued(self, prefix: str | None = None) -> list[IssuedKey]:
        """Return the keys with a prefix, or all."""
        with _redis_errors():
            prefixes = self._redis.smembers(_PREFIXES) if prefix is None else [prefix.encode()]
            packed = [self._redis.hvals(_name(prefix)) for prefix in prefixes]
        rows = [_DECODE(row) for values in packed for row in values]
        return sorted(rows, key=lambda row: row.created_at)

    def save(self, *rows: IssuedKey) -> None:
        """Store keys in one transaction; replace those with the same hash."""
        with _redis_errors(), self._redis.pipeline(transaction=True) as step:
            for row in rows:
                prefix = row.prefix.encode()
                step.hset(_name(prefix), row.sha256, msgspec.msgpack.encode(row))
                step.sadd(_PREFIXES, prefix)
            step.execute()

    def prepare(self) -> None:
        """Do nothing: a Redis needs no tables."""

    def secret(self, name: str, fresh: bytes | None = None) -> bytes | None:
        """Return the secret of a name; store and return ``fresh`` if there is none."""
        with _redis_errors():
            if fresh is not None:
                self._redis.set(f"sankofa:secret:{name}", fresh, nx=True)
            secret = self._redis.get(f"sankofa:secret:{name}")
        return None if secret is None else bytes(secret)

    def stamp(self) -> object:
        """Return None: asking a Redis whether it has changed costs as much as a read."""
        return None

    def check(self) -> None:
        """Read from the store; raise if it is unavailable."""
        with _redis_errors():
            self._redis.srandmember(_PREFIXES)


def _name(prefix: bytes) -> bytes:
    return b"sankofa:key:" + prefix


@contextmanager
def _redis_errors() -> Iterator[None]:
    from redis import RedisError

    try:
        yield
    except RedisError as error:
        raise KeyStoreUnavailable(f"the key store is unavailable: {error}") from error
