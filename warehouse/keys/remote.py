"""Keys in a Redis, for many machines."""

from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from warehouse.keys.issued import Issued, KeyStoreUnavailable
from warehouse.redis import connected

_PREFIXES = "sankofa:keys"
_DECODE = msgspec.msgpack.Decoder(Issued).decode


class RedisKeys:
    """A hash for each prefix, from the SHA-256 of a key to what is known of it."""

    def __init__(self, url: str) -> None:
        self._redis = connected(url)

    def held(self, prefix: str | None = None) -> list[Issued]:
        """Give the keys with a prefix, or all."""
        with _answering():
            prefixes = self._redis.smembers(_PREFIXES) if prefix is None else [prefix.encode()]
            found = [self._redis.hvals(_name(each)) for each in prefixes]
        rows = [_DECODE(row) for each in found for row in each]
        return sorted(rows, key=lambda row: row.created_at)

    def keep(self, *rows: Issued) -> None:
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
