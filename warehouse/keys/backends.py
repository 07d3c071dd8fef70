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
    """The key store does not answer; nobody can be let in until it does."""


class IssuedKey(msgspec.Struct, frozen=True):
    """A key as it is kept: its hash, never itself. ``key_id`` outlives a rotation."""

    prefix: str
    sha256: bytes
    key_id: str
    tier: str
    label: str
    created_at: datetime
    ends_at: datetime | None = None
    sandbox: bool = False

    def holds(self, now: datetime | None = None) -> bool:
        """Say whether the key lets anyone in."""
        return self.ends_at is None or (now or datetime.now(UTC)) < self.ends_at


class KeyBackend(Protocol):
    """A store of issued keys and of secrets; what cannot be read raises."""

    def held(self, prefix: str | None = None) -> list[IssuedKey]:
        """Give the keys with a prefix, or all."""

    def keep(self, *rows: IssuedKey) -> None:
        """Keep keys in one step; a hash that is held already is replaced."""

    def prepare(self) -> None:
        """Make the store if it is not there; only who administers keys does."""

    def secret(self, name: str, fresh: bytes | None = None) -> bytes | None:
        """Give the secret of a name, or keep ``fresh`` where none is held."""

    def stamp(self) -> object:
        """Give what differs once the store has changed, as far as that is free to see."""

    def check(self) -> None:
        """Make a real read."""


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
    """The file that holds the keys."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._place, self._address = str(path), path.absolute().as_uri()

    def held(self, prefix: str | None = None) -> list[IssuedKey]:
        """Give the keys with a prefix, or all."""
        query = f"SELECT {_COLUMNS} FROM issued"
        with self._open("ro") as connection:
            if prefix is None:
                return [_issued(*row) for row in connection.execute(f"{query} ORDER BY created_at")]
            rows = connection.execute(f"{query} WHERE prefix = ?", (prefix,))
            return [_issued(*row) for row in rows]

    def keep(self, *rows: IssuedKey) -> None:
        """Keep keys in one step; a hash that is held already is replaced."""
        with self._writing() as connection:
            connection.executemany(
                f"INSERT OR REPLACE INTO issued ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                map(_row, rows),
            )

    def secret(self, name: str, fresh: bytes | None = None) -> bytes | None:
        """Give the secret of a name, or keep ``fresh`` where none is held."""
        query = "SELECT secret FROM secrets WHERE name = ?"
        with self._open("ro" if fresh is None else "rw") as connection:
            held = connection.execute(query, (name,)).fetchone()
            if held is None and fresh is not None:
                connection.execute("INSERT OR IGNORE INTO secrets VALUES (?, ?)", (name, fresh))
                held = connection.execute(query, (name,)).fetchone()
            return None if held is None else bytes(held[0])

    def prepare(self) -> None:
        """Make the file with its tables if it is not there."""
        with self._writing():
            pass

    def stamp(self) -> object:
        """Give which file it is and when it was changed."""
        try:
            # Half the time that Path.stat takes, and asked for every request.
            seen = os.stat(self._place)  # noqa: PTH116
        except OSError as error:
            raise KeyStoreUnavailable(f"the key store does not answer: {error.strerror}") from error
        return seen.st_ino, seen.st_mtime_ns, seen.st_size

    def check(self) -> None:
        """Make a real read."""
        with self._open("ro") as connection:
            connection.execute("SELECT prefix FROM issued LIMIT 1").fetchone()

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
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
        try:
            connection = sqlite3.connect(
                f"{self._address}?mode={mode}", timeout=1, isolation_level=None, uri=True
            )
            try:
                yield connection
            finally:
                connection.close()
        except sqlite3.Error as error:
            raise KeyStoreUnavailable(f"the key store does not answer: {error}") from error


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
    made = datetime.fromisoformat(created_at)
    return IssuedKey(prefix, sha256, key_id, tier, label, made, ends, bool(sandbox))


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
    """A hash for each prefix, from the SHA-256 of a key to what is known of it."""

    def __init__(self, url: str) -> None:
        self._redis = connected(url)

    def held(self, prefix: str | None = None) -> list[IssuedKey]:
        """Give the keys with a prefix, or all."""
        with _answering():
            prefixes = self._redis.smembers(_PREFIXES) if prefix is None else [prefix.encode()]
            found = [self._redis.hvals(_name(each)) for each in prefixes]
        rows = [_DECODE(row) for each in found for row in each]
        return sorted(rows, key=lambda row: row.created_at)

    def keep(self, *rows: IssuedKey) -> None:
        """Keep keys in one step; a hash that is held already is replaced."""
        with _answering(), self._redis.pipeline(transaction=True) as step:
            for row in rows:
                prefix = row.prefix.encode()
                step.hset(_name(prefix), row.sha256, msgspec.msgpack.encode(row))
                step.sadd(_PREFIXES, prefix)
            step.execute()

    def prepare(self) -> None:
        """Do nothing: a Redis that answers is there."""

    def secret(self, name: str, fresh: bytes | None = None) -> bytes | None:
        """Give the secret of a name, or keep ``fresh`` where none is held."""
        with _answering():
            if fresh is not None:
                self._redis.set(f"sankofa:secret:{name}", fresh, nx=True)
            held = self._redis.get(f"sankofa:secret:{name}")
        return None if held is None else bytes(held)

    def stamp(self) -> object:
        """Give nothing: to see whether a Redis has changed is as dear as to ask it."""
        return None

    def check(self) -> None:
        """Make a real read."""
        with _answering():
            self._redis.srandmember(_PREFIXES)


def _name(prefix: bytes) -> bytes:
    return b"sankofa:key:" + prefix


@contextmanager
def _answering() -> Iterator[None]:
    from redis import RedisError

    try:
        yield
    except RedisError as error:
        raise KeyStoreUnavailable(f"the key store does not answer: {error}") from error
