"""Counters of requests per minute and per calendar month, and their Redis store."""

import time
from calendar import monthrange
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from importlib.util import find_spec
from typing import Any, NamedTuple

from warehouse.shared.errors import SankofaError
from warehouse.shared.tiers import Tier

# Connections to Redis: a deadline for every command, and at most one retry.

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

    try:
        # The retry is for a connection that a restart of the server has cut.
        return redis.Redis.from_url(
            url,
            socket_timeout=_TIMEOUT_SECONDS,
            socket_connect_timeout=_TIMEOUT_SECONDS,
            retry=redis.retry.Retry(redis.backoff.NoBackoff(), 1),
        )
    except ValueError as error:
        raise SankofaError(
            "the address of a Redis cannot be read; write redis://user:password@host:port/number"
        ) from error


MINUTE = 60
REPORTING_PERIOD = timedelta(days=40)


class UsageUnavailable(SankofaError):
    """The usage store is unavailable."""


@dataclass(frozen=True)
class Month:
    """A calendar month in UTC, as the limits see it; times are seconds since 1970."""

    name: str
    starts: float
    ends: float

    @cached_property
    def number(self) -> int:
        """The number that the embedded store knows the month by."""
        return month_number(self.name)

    @cached_property
    def seconds(self) -> int:
        """The length of the month."""
        return int(self.ends - self.starts)

    @property
    def expires(self) -> float:
        """When its counters expire; until then they can be reported."""
        return self.ends + REPORTING_PERIOD.total_seconds()


def month_at(now: float) -> Month:
    """Return the month of a time."""
    first = datetime.fromtimestamp(now, UTC).replace(
        day=1, hour=0, minute=0, second=0, microsecond=0
    )
    days = monthrange(first.year, first.month)[1]
    ends = first + timedelta(days=days)
    return Month(f"{first:%Y-%m}", first.timestamp(), ends.timestamp())


def month_before(name: str) -> str:
    """Return the previous month; an empty text for an invalid one."""
    try:
        first = datetime.strptime(name, "%Y-%m")
        return f"{first - timedelta(days=1):%Y-%m}"
    except (ValueError, OverflowError):
        return ""


def month_number(name: str) -> int:
    """Return the number of a month (YYYY-MM); months that follow each other have such numbers."""
    year, _, month = name.partition("-")
    return int(year) * 12 + int(month)


class RequestCounts(NamedTuple):
    """The counts after a request, and whether it was charged to the month."""

    minute_used: int
    minute_ends: float
    month_used: int | None
    charged: bool


# KEYS: counter of the minute, counter of the month. ARGV: limit of the minute, limit of the month,
# milliseconds of a minute, expiry of the month's counter, whether to charge the month.
_TAKE = """
local used = redis.call('INCR', KEYS[1])
local left = redis.call('PTTL', KEYS[1])
-- Without an expiry the counter is new: this request begins the minute.
if left < 0 then
    left = tonumber(ARGV[3])
    redis.call('PEXPIRE', KEYS[1], left)
end
-- A request that either limit refuses is not charged to the month.
local spent, charged = tonumber(redis.call('GET', KEYS[2]) or '0'), 0
if ARGV[5] == '1' and used <= tonumber(ARGV[1]) and spent < tonumber(ARGV[2]) then
    spent, charged = redis.call('INCR', KEYS[2]), 1
    if spent == 1 then redis.call('PEXPIREAT', KEYS[2], ARGV[4]) end
end
return {used, left, spent, charged}
"""
_GIVE_BACK = """
-- DECR would create a counter that has expired meanwhile, with -1 and no expiry.
if tonumber(redis.call('GET', KEYS[1]) or '0') > 0 then redis.call('DECR', KEYS[1]) end
"""
_NAMESPACE = "sankofa:usage:"


class RedisCounters:
    """Counters in a Redis, which expires them itself. One script, so one round trip."""

    def __init__(self, url: str) -> None:
        self._redis = connected(url)
        self._take = self._redis.register_script(_TAKE)
        self._give_back = self._redis.register_script(_GIVE_BACK)

    def take(self, who: str, tier: Tier, month: Month, charge: bool, now: float) -> RequestCounts:
        """Count a request against the minute and, unless it is refused, against the month."""
        keys = [f"{_NAMESPACE}minute:{{{who}}}", _month_counter(who, month)]
        limits = [tier.per_minute, tier.per_month, MINUTE * 1000, int(month.expires * 1000)]
        with _redis_errors():
            used, left, spent, charged = self._take(keys, [*limits, int(charge)])
        return RequestCounts(used, now + left / 1000, spent, bool(charged))

    def give_back(self, who: str, month: Month) -> None:
        """Refund a request."""
        with _redis_errors():
            self._give_back([_month_counter(who, month)])

    def used(self, who: str, month: str) -> int:
        """Return the sum of a month over all counters of a key, one per network for the sandbox."""
        with _redis_errors():
            names = self._redis.scan_iter(f"{_NAMESPACE}month:{month}:{{{who}*", count=10_000)
            return sum(int(self._redis.get(name) or 0) for name in names)

    def check(self) -> None:
        """Write to the store; raise if that fails."""
        with _redis_errors():
            self._redis.set(f"{_NAMESPACE}checked", int(time.time()))


def _month_counter(who: str, month: Month) -> str:
    # Braces keep both counters of a client on one node of a cluster.
    return f"{_NAMESPACE}month:{month.name}:{{{who}}}"


@contextmanager
def _redis_errors() -> Iterator[None]:
    from redis import RedisError

    try:
        yield
    except RedisError as error:
        raise UsageUnavailable(f"the usage store is unavailable: {error}") from error
