"""Counters of requests per minute and per calendar month, and their Redis store."""

from calendar import monthrange
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import NamedTuple, Protocol

from warehouse.errors import SankofaError
from warehouse.redis import connected
from warehouse.tiers import Tier

MINUTE = 60
_KEPT = timedelta(days=40)


class UsageUnavailable(SankofaError):
    """The usage store does not answer."""


@dataclass(frozen=True)
class Month:
    """A calendar month in UTC, as the limits see it; times are seconds since 1970."""

    name: str
    starts: float
    ends: float

    @property
    def seconds(self) -> int:
        """How long the month is."""
        return int(self.ends - self.starts)

    @property
    def kept_until(self) -> float:
        """Until when its counts are kept, to be reported."""
        return self.ends + _KEPT.total_seconds()


def month_at(now: float) -> Month:
    """Give the month of a moment."""
    first = datetime.fromtimestamp(now, UTC).replace(
        day=1, hour=0, minute=0, second=0, microsecond=0
    )
    days = monthrange(first.year, first.month)[1]
    ends = first + timedelta(days=days)
    return Month(f"{first:%Y-%m}", first.timestamp(), ends.timestamp())


def month_before(name: str) -> str:
    """Name the month before one; no month is before what is none."""
    try:
        first = datetime.strptime(name, "%Y-%m")
        return f"{first - timedelta(days=1):%Y-%m}"
    except (ValueError, OverflowError):
        return ""


class RequestCounts(NamedTuple):
    """What a store says after a request: the counts, and whether the month was charged."""

    minute_used: int
    minute_ends: float
    month_used: int | None
    charged: bool


class Counters(Protocol):
    """Counters that all processes of an installation share; raise if they do not answer."""

    def take(self, who: str, tier: Tier, month: Month, charge: bool, now: float) -> RequestCounts:
        """Count a request against the minute and, unless refused, against the month."""

    def give_back(self, who: str, month: Month) -> None:
        """Take back what a request was charged."""

    def used(self, who: str, month: str) -> int:
        """Sum the month of everyone whose name begins so."""

    def check(self) -> None:
        """Make a real read."""


def minute_name(who: str) -> str:
    """Name the counter of a minute; the braces keep both counters on one node of a cluster."""
    return f"minute:{{{who}}}"


def month_name(who: str, month: str) -> str:
    """Name the counter of a month."""
    return f"month:{month}:{{{who}}}"


def month_prefix(who: str, month: str) -> str:
    """Give how the counters of a key begin, also those of each network of the sandbox."""
    return f"month:{month}:{{{who}"


_TAKE = """
local used = redis.call('INCR', KEYS[1])
local left = redis.call('PTTL', KEYS[1])
if left < 0 then
    left = tonumber(ARGV[3])
    redis.call('PEXPIRE', KEYS[1], left)
end
local spent, charged = tonumber(redis.call('GET', KEYS[2]) or '0'), 0
if ARGV[5] == '1' and used <= tonumber(ARGV[1]) and spent < tonumber(ARGV[2]) then
    spent, charged = redis.call('INCR', KEYS[2]), 1
    if spent == 1 then redis.call('PEXPIREAT', KEYS[2], ARGV[4]) end
end
return {used, left, spent, charged}
"""
_GIVE_BACK = """
if tonumber(redis.call('GET', KEYS[1]) or '0') > 0 then redis.call('DECR', KEYS[1]) end
"""
_OURS = "sankofa:usage:"


class RedisCounters:
    """The same counters as in a file, ended by the Redis itself."""

    def __init__(self, url: str) -> None:
        self._redis = connected(url)
        self._take = self._redis.register_script(_TAKE)
        self._give_back = self._redis.register_script(_GIVE_BACK)

    def take(self, who: str, tier: Tier, month: Month, charge: bool, now: float) -> RequestCounts:
        """Count a request against the minute and, unless refused, against the month."""
        keys = [_OURS + minute_name(who), _OURS + month_name(who, month.name)]
        limits = [tier.per_minute, tier.per_month, MINUTE * 1000, int(month.kept_until * 1000)]
        with _answering():
            used, left, spent, charged = self._take(keys, [*limits, int(charge)])
        return RequestCounts(used, now + left / 1000, spent, bool(charged))

    def give_back(self, who: str, month: Month) -> None:
        """Take back what a request was charged."""
        with _answering():
            self._give_back([_OURS + month_name(who, month.name)])

    def used(self, who: str, month: str) -> int:
        """Sum the month of everyone whose name begins so."""
        with _answering():
            found = self._redis.scan_iter(f"{_OURS}{month_prefix(who, month)}*", count=10_000)
            return sum(int(self._redis.get(name) or 0) for name in found)

    def check(self) -> None:
        """Make a real read."""
        with _answering():
            self._redis.get(_OURS)


@contextmanager
def _answering() -> Iterator[None]:
    from redis import RedisError

    try:
        yield
    except RedisError as error:
        raise UsageUnavailable(f"the usage store does not answer: {error}") from error
