"""Where issued keys are stored: one LMDB file for one machine, or a Redis for many."""

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from hashlib import blake2b
from math import inf
from pathlib import Path
from typing import Protocol

import lmdb
import msgspec

from warehouse.errors import SankofaError
from warehouse.lmdb_files import create_whole, damage, open_lmdb
from warehouse.redis import connected

_UNAVAILABLE = "the key store is unavailable: "


class KeyStoreUnavailable(SankofaError):
    """The key store is unavailable; no key can be checked until it is back."""


def _unavailable(reason: object) -> KeyStoreUnavailable:
    return KeyStoreUnavailable(f"{_UNAVAILABLE}{reason}")


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

    def find(self, prefix: str, sha256: bytes) -> IssuedKey | None:
        """Return the key with a hash, at most a second old; it may have ended."""

    def issued(self) -> list[IssuedKey]:
        """Return all keys, oldest first."""

    def save(self, *rows: IssuedKey) -> None:
        """Store keys in one transaction; replace those with the same hash."""

    def prepare(self) -> None:
        """Create the store if it is missing; only commands that administer keys do."""

    def secret(self, name: str, fresh: bytes | None = None) -> bytes | None:
        """Return the secret of a name; store and return ``fresh`` if there is none."""

    def check(self) -> None:
        """Read from the store; raise if it is unavailable."""


# Seconds between two checks whether the file has changed.
_CHECK_INTERVAL = 0.01
_FORMAT = (b"format", b"sankofa keys 1")
_KEY, _SECRET = b"key:", b"secret:"
_CHECKSUM = 16
# Two changes in a row can leave the same time of change: a file that has just changed is read
# again after this time, in nanoseconds.
_SETTLED = 200_000_000
# A file that cannot be read is tried again after this time, not with every request.
_RETRY_SECONDS = 1.0
# An Environment must not be open twice in a process; both are opened for moments only.
_ONE_AT_A_TIME = threading.Lock()
_DECODE = msgspec.msgpack.Decoder(IssuedKey).decode


class FileKeyBackend:
    """Keys in an LMDB file, whose rows are in memory as long as the file does not change.

    After each change the whole file is checked, structure and rows. Each entry has a checksum of
    its name and content, so a damaged row is an error and neither another tier nor an unknown key.
    Only hashes of keys are kept in memory; secrets are read from the file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        self._path_text = str(self.path)
        self._stamp: tuple[int, int, int] | None = None
        self._rows: dict[bytes, IssuedKey] = {}
        self._unreadable: str | None = None
        self._look_at = self._read_again_at = 0.0

    def find(self, prefix: str, sha256: bytes) -> IssuedKey | None:
        """Return the key with a hash, as the file was a moment ago."""
        now = time.monotonic()
        row = self._rows.get(sha256)
        # Before a key is called unknown, the file is looked at in any case: the key may have been
        # created a moment ago.
        if row is None or now >= self._look_at:
            self._look(now, missed=row is None)
            row = self._rows.get(sha256)
        if self._unreadable is not None:
            raise _unavailable(self._unreadable)
        return row

    def issued(self) -> list[IssuedKey]:
        """Return all keys, oldest first."""
        rows = (_DECODE(row) for row in self._entries(_KEY).values())
        return sorted(rows, key=lambda row: row.created_at)

    def save(self, *rows: IssuedKey) -> None:
        """Store keys in one transaction; replace those with the same hash."""
        self.prepare()
        with self._transaction(write=True) as transaction:
            for row in rows:
                _put(transaction, _KEY + row.sha256, msgspec.msgpack.encode(row))
        self._commit_again()
        self._look_at = 0.0

    def secret(self, name: str, fresh: bytes | None = None) -> bytes | None:
        """Return the secret of a name; store and return ``fresh`` if there is none."""
        entry = _SECRET + name.encode()
        stored = self._entries(_SECRET).get(entry)
        if stored is not None or fresh is None:
            return stored
        with self._transaction(write=True) as transaction:
            # Of two processes that create it at once, the second reads that of the first.
            created = transaction.get(entry)
            if created is None:
                _put(transaction, entry, fresh)
        self._commit_again()
        return fresh if created is None else _content(entry, created)

    def prepare(self) -> None:
        """Create the file if it is missing."""
        with _file_errors():
            if not self.path.exists():
                create_whole(self.path, lambda transaction: _put(transaction, *_FORMAT))

    def check(self) -> None:
        """Read the file if it has changed; raise if it is unavailable or damaged."""
        self._look_at = 0.0
        self.find("", b"")

    def _look(self, now: float, missed: bool) -> None:
        """Read the file if it has changed, or may have changed again at the same time.

        For a key that was ``missed`` it is not waited until the file has settled.
        """
        self._look_at = now + _CHECK_INTERVAL
        try:
            # Takes half the time of Path.stat.
            status = os.stat(self._path_text)  # noqa: PTH116
        except OSError:
            # What is wrong is found out by reading.
            self._load(None)
            return
        stamp = (status.st_ino, status.st_mtime_ns, status.st_size)
        unsettled = self._unreadable is None and self._read_again_at < inf
        if stamp != self._stamp or now >= self._read_again_at or (missed and unsettled):
            self._load(stamp)

    def _load(self, stamp: tuple[int, int, int] | None) -> None:
        age = time.time_ns() - stamp[1] if stamp else 0
        try:
            rows = {row.sha256: row for row in self.issued()}
            self._rows, self._unreadable = rows, None
        except KeyStoreUnavailable as error:
            self._unreadable = str(error).removeprefix(_UNAVAILABLE)
        self._stamp = stamp
        if self._unreadable is not None:
            wait = _RETRY_SECONDS
        else:
            wait = _SETTLED / 1e9 if abs(age) < _SETTLED else inf
        self._read_again_at = time.monotonic() + wait

    def _commit_again(self) -> None:
        """Commit without a change, so that both roots of LMDB have the change before.

        LMDB keeps the root of the last two commits and takes the one with the higher number. A
        byte that flips in that number would undo a single commit, and revive a revoked key.
        """
        with self._transaction(write=True) as transaction:
            _put(transaction, *_FORMAT)

    def _entries(self, kind: bytes) -> dict[bytes, bytes]:
        """Return the entries of a kind; all others are checked as well."""
        with self._transaction() as transaction:
            entries = {name: _content(name, stored) for name, stored in transaction.cursor()}
        if entries.get(_FORMAT[0]) != _FORMAT[1]:
            raise _unavailable(f"{self.path} is not a key store; correct SANKOFA_KEYS")
        return {name: entry for name, entry in entries.items() if name.startswith(kind)}

    @contextmanager
    def _transaction(self, write: bool = False) -> Iterator["lmdb.Transaction[bytes]"]:
        with _file_errors(), _ONE_AT_A_TIME:
            # Of a missing file LMDB would make an empty one; this raises.
            self.path.stat()
            if (problem := _damage(self.path)) is not None:
                raise _unavailable(f"{self.path} is damaged ({problem}); restore it from a backup")
            with (
                open_lmdb(self.path, readonly=not write) as environment,
                environment.begin(write=write) as transaction,
            ):
                yield transaction


def _damage(path: Path) -> str | None:
    """Return what is wrong with a file, if a second look confirms it.

    Two changes during a look can make a sound file seem damaged.
    """
    for pause in (0.01, 0.05, 0.0):
        problem = damage(path)
        if problem is None:
            return None
        time.sleep(pause)
    return problem


def _put(transaction: "lmdb.Transaction[bytes]", name: bytes, content: bytes) -> None:
    transaction.put(name, _checksum(name, content) + content)


def _content(name: bytes, stored: bytes) -> bytes:
    """Return the content of an entry; raise if its checksum is wrong."""
    content = stored[_CHECKSUM:]
    if stored[:_CHECKSUM] != _checksum(name, content):
        raise _unavailable("an entry is damaged; restore the file from a backup")
    return content


def _checksum(name: bytes, content: bytes) -> bytes:
    return blake2b(b"%d:%b%b" % (len(name), name, content), digest_size=_CHECKSUM).digest()


@contextmanager
def _file_errors() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        raise _unavailable(f"{where}{error.strerror}") from error
    except lmdb.Error as error:
        raise _unavailable(error) from error


_PREFIXES = "sankofa:keys"
_MOST_CACHED = 10_000
# A changed key takes effect within a second.
_CACHE_SECONDS = 0.8


class RedisKeyBackend:
    """Keys in a Redis: one hash per prefix, from the SHA-256 of a key to its row.

    Rows in use are cached for a moment, since asking a Redis costs a round trip.
    """

    def __init__(self, url: str) -> None:
        self._redis = connected(url)
        self._cache: dict[bytes, tuple[IssuedKey, float]] = {}

    def find(self, prefix: str, sha256: bytes) -> IssuedKey | None:
        """Return the key with a hash, at most a second old."""
        now = time.monotonic()
        cached = self._cache.get(sha256)
        if cached is not None and now < cached[1]:
            return cached[0]
        with _redis_errors():
            packed = self._redis.hget(_name(prefix.encode()), sha256)
        if packed is None:
            # Not cached: anyone can send any number of unknown keys.
            self._cache.pop(sha256, None)
            return None
        if len(self._cache) >= _MOST_CACHED:
            self._cache.clear()
        row = _DECODE(packed)
        self._cache[sha256] = (row, now + _CACHE_SECONDS)
        return row

    def issued(self) -> list[IssuedKey]:
        """Return all keys, oldest first."""
        with _redis_errors():
            prefixes = self._redis.smembers(_PREFIXES)
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
        raise _unavailable(error) from error
