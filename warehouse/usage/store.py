"""Counting of requests against the limits of a tier, whichever store is used."""

import time
from collections.abc import Callable
from functools import cached_property, lru_cache
from ipaddress import IPv6Address, ip_address, ip_network
from pathlib import Path

import msgspec
from limits import RateLimitItemPerMinute
from limits.storage import MemoryStorage
from limits.strategies import FixedWindowRateLimiter

from warehouse.keys.store import Key
from warehouse.redis import SCHEMES
from warehouse.tiers import Tier
from warehouse.usage.counters import Counters, Month, RequestCounts, UsageUnavailable, month_at

_ASK_AGAIN_AFTER = 1.0


class QuotaStatus(msgspec.Struct, frozen=True, dict=True):
    """How a key stands after a request was counted; times are seconds since 1970."""

    who: str
    tier: Tier
    month: Month
    counted: RequestCounts
    now: float
    # Whether the request was to count against the month; one that was not is never above it.
    charge: bool = True

    @property
    def violated(self) -> list[str]:
        """The limits that the request is above."""
        counted = self.counted
        if counted.charged and counted.minute_used <= self.tier.per_minute:
            return []
        return [name for name, left, _ in self._left if left < 0]

    @property
    def retry_after(self) -> int:
        """In how many seconds no limit will be violated any more."""
        return max((seconds for _, left, seconds in self._left if left < 0), default=0)

    def remaining(self) -> list[tuple[str, int, int]]:
        """Give each limit that is counted now, what is left of it, and for how many seconds."""
        return [(name, max(0, left), seconds) for name, left, seconds in self._left]

    @cached_property
    def _left(self) -> list[tuple[str, int, int]]:
        """Count below nought what the request is above a limit."""
        counted, tier = self.counted, self.tier
        left = [("burst", tier.per_minute - counted.minute_used, counted.minute_ends)]
        if counted.month_used is not None:
            month = tier.per_month - counted.month_used
            if not self.charge:
                month = max(0, month)
            elif not counted.charged and month <= 0:
                month = -1
            left.append(("monthly", month, self.month.ends))
        return [(name, each, max(1, round(ends - self.now + 0.5))) for name, each, ends in left]


class Usage:
    """The counters at a place: the path of a file, or the URL of a Redis."""

    def __init__(self, place: str | Path, clock: Callable[[], float] = time.time) -> None:
        self._counters = _counters(str(place))
        self._clock = clock
        self._month = month_at(clock())
        self._ask_again_at = 0.0
        self._alone: FixedWindowRateLimiter | None = None

    def take(self, key: Key, address: str | None, charge: bool = True) -> QuotaStatus:
        """Count a request of a key from an address; the sandbox is counted by network.

        ``charge`` says whether it counts against the month too; one that is refused does not.
        """
        now = self._clock()
        if not self._month.starts <= now < self._month.ends:
            self._month = month_at(now)
        who = f"{key.key_id}@{network_of(address)}" if key.sandbox else key.key_id
        counted = self._asked(who, key.tier, charge, now)
        return QuotaStatus(who, key.tier, self._month, counted, now, charge)

    def give_back(self, standing: QuotaStatus) -> QuotaStatus:
        """Take back what a request was charged that turned out not to count."""
        counted = standing.counted
        if not counted.charged or counted.month_used is None:
            return standing
        try:
            self._counters.give_back(standing.who, standing.month)
        except UsageUnavailable:
            self._ask_again_at = time.monotonic() + _ASK_AGAIN_AFTER
        less = RequestCounts(
            counted.minute_used, counted.minute_ends, counted.month_used - 1, False
        )
        return msgspec.structs.replace(standing, counted=less)

    def used(self, key_id: str, month: str) -> int:
        """Give what a key was charged in a month, YYYY-MM."""
        return self._counters.used(key_id, month)

    def check(self) -> None:
        """Read the store; raise if it does not answer."""
        self._counters.check()

    def _asked(self, who: str, tier: Tier, charge: bool, now: float) -> RequestCounts:
        if time.monotonic() >= self._ask_again_at:
            try:
                return self._counters.take(who, tier, self._month, charge, now)
            except UsageUnavailable:
                self._ask_again_at = time.monotonic() + _ASK_AGAIN_AFTER
        return self._held_alone(who, tier)

    def _held_alone(self, who: str, tier: Tier) -> RequestCounts:
        """Hold the minute in this process."""
        if self._alone is None:
            self._alone = FixedWindowRateLimiter(MemoryStorage())
        limit = RateLimitItemPerMinute(tier.per_minute)
        within = self._alone.hit(limit, who)
        ends, left = self._alone.get_window_stats(limit, who)
        used = tier.per_minute - left if within else tier.per_minute + 1
        return RequestCounts(used, ends, None, False)


def _counters(place: str) -> Counters:
    if not place.startswith(SCHEMES):
        from warehouse.usage.file_counters import file_counters

        return file_counters(Path(place).absolute())
    from warehouse.usage.counters import RedisCounters

    return RedisCounters(place)


@lru_cache(maxsize=4096)
def network_of(address: str | None) -> str:
    """Give the /24 of an IPv4 address or the /48 of an IPv6 one."""
    try:
        client = ip_address((address or "").partition("%")[0])
    except ValueError:
        return "unknown"
    if isinstance(client, IPv6Address):
        client = client.ipv4_mapped or client
    return str(ip_network((client, 24 if client.version == 4 else 48), strict=False))
