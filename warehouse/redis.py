"""How every Redis is asked: with a deadline, and at most one second try."""

from importlib.util import find_spec
from typing import Any

from warehouse.errors import SankofaError

SCHEMES = ("redis://", "rediss://", "unix://")
_SECONDS = 0.4


def connected(url: str) -> Any:
    """Give a client, whose answers are bytes; nothing is asked yet.

    No error repeats the address, which can hold a password.
    """
    if find_spec("redis") is None:
        raise SankofaError("a store is a Redis; install the extra `redis`")
    import redis
    from redis.backoff import NoBackoff
    from redis.retry import Retry

    try:
        # The second try is for a connection that a restart of the server cut.
        return redis.Redis.from_url(
            url,
            socket_timeout=_SECONDS,
            socket_connect_timeout=_SECONDS,
            retry=Retry(NoBackoff(), 1),
        )
    except ValueError as error:
        raise SankofaError(
            "the address of a Redis cannot be read; write redis://user:password@host:port/number"
        ) from error
