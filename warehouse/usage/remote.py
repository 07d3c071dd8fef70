"""Counters in a Redis, shared by many machines: one script, so one way there and back."""

from collections.abc import Iterator
from contextlib import contextmanager

from warehouse.redis import connected
from warehouse.tiers import Tier
from warehouse.usage.counting import (
    MINUTE,
    Counted,
    Month,
    UsageUnavailable,
    minute_name,
    month_name,
    month_prefix,
)

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

    def take(self, who: str, tier: Tier, month: Month, charge: bool, now: float) -> Counted:
        """Count a request against the minute and, unless refused, against the month."""
        keys = [_OURS + minute_name(who), _OURS + month_name(who, month.name)]
        limits = [tier.per_minute, tier.per_month, MINUTE * 1000, int(month.kept_until * 1000)]
        with _answering():
            used, left, spent, charged = self._take(keys, [*limits, int(charge)])
        return Counted(used, now + left / 1000, spent, bool(charged))

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
