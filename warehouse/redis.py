"""Connections to Redis: a deadline for every command, and at most one retry."""

from importlib.util import find_spec
from typing import Any

from warehouse.errors import SankofaError

SCHEMES = ("redis://", "rediss://", "unix://")
# A Redis that hangs must not block a request: the service goes on without it, or answers 503.
_TIMEOUT_SECONDS = 0.4


def connected(url: str) -> Any:
    """Return a client that answers in bytes; it does not connect yet.

    No error repeats the URL, which can contain a password.
    """
    if find_spec("redis") is None:
        raise SankofaError("a store is a Redis; install the extra `redis`")
    import redis
    from redis.backoff import NoBackoff
    from redis.retry import Retry

    try:
        # The retry is for a connection that a restart of the server has cut.
        return redis.Redis.from_url(
            url,
            socket_timeout=_TIMEOUT_SECONDS,
            socket_connect_timeout=_TIMEOUT_SECONDS,
            retry=Retry(NoBackoff(), 1),
        )
    except ValueError as error:
        raise SankofaError(
            "the address of a Redis cannot be read; write redis://user:password@host:port/number"
        ) from error
