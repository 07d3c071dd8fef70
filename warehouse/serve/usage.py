"""Counting of requests against the limits of a tier, whichever store is used."""

import time
from collections.abc import Callable
from functools import lru_cache
from ipaddress import ip_network
from math import ceil
from pathlib import Path

import msgspec
from limits import RateLimitItemPerMinute
from limits.storage import MemoryStorage
from limits.strategies import FixedWindowRateLimiter

from warehouse.control.keys import Key, client_address
from warehouse.serve.counters import (
    SCHEMES,
    Month,
    RedisCounters,
    RequestCounts,
    UsageUnavailable,
    month_at,
)
from warehouse.serve.lmdb_counters import LmdbCounters, lmdb_counters
from warehouse.shared.metrics import count_store_failure
from warehouse.shared.tiers import Tier

# A store that is down is tried again after this time, not with every request.
_RETRY_SECONDS = 1.0


class QuotaStatus(msgspec.Struct, frozen=True):
    """The quota of a key after a request was counted; times are seconds since 1970."""

    who: str
    tier: Tier
    month: Month
    counted: RequestCounts
    now: float
    # False for a request that is not charged to the month, which is then never exceeded.
    charge: bool = True

    @property
    def violated(self) -> list[str]:
        """The limits that the request exceeds."""
        counted, most = self.counted, self.tier.per_month
        is_within = counted.charged or counted.month_used is None or counted.month_used < most
        if is_within and counted.minute_used <= self.tier.per_minute:
            return []
        return [name for name, left, _ in self._quotas() if left < 0]

    @property
    def retry_after(self) -> int:
        """Seconds until no limit is exceeded any more."""
        return max((seconds for _, left, seconds in self._quotas() if left < 0), default=0)

    def remaining(self) -> list[tuple[str, int, int]]:
        """Return each limit, its remaining quota and the seconds until it resets."""
        return [(name, left if left > 0 else 0, seconds) for name, left, seconds in self._quotas()]

    def _quotas(self) -> list[tuple[str, int, int]]:
        """Return name, remaining quota (negative when exceeded) and seconds to reset."""
        counted, tier, now = self.counted, self.tier, self.now
        burst = tier.per_minute - counted.minute_used
        quotas = [("burst", burst, _seconds_until(counted.minute_ends, now))]
        if counted.month_used is not None:
            month = tier.per_month - counted.month_used
            if not self.charge:
                month = max(0, month)
            elif not counted.charged and month <= 0:
                # A refused request is not counted: the quota stops at 0 although it was exceeded.
                month = -1
            quotas.append(("monthly", month, _seconds_until(self.month.ends, now)))
        return quotas


class Usage:
    """Request counters in a file or a Redis."""

    def __init__(self, location: str | Path, clock: Callable[[], float] = time.time) -> None:
        self._counters = _counters(str(location))
        self._clock = clock
        self._month = month_at(clock())
        self._retry_at = 0.0
        self._local_limiter: FixedWindowRateLimiter | None = None

    def take(
        self, key: Key, address: str | None, charge: bool = True, is_free: bool = False
    ) -> QuotaStatus:
        """Count a request of a key from an address; the sandbox key is counted per network.

        ``charge``: count it against the month too, unless it is refused. A free one is refused
        like any other, and not charged.
        """
        now = self._clock()
        if not self._month.starts <= now < self._month.ends:
            self._month = month_at(now)
        who = f"{key.key_id}@{network_of(address)}" if key.sandbox else key.key_id
        counted = self._count(who, key.tier, charge and not is_free, now)
        return QuotaStatus(who, key.tier, self._month, counted, now, charge)

    def give_back(self, standing: QuotaStatus) -> QuotaStatus:
        """Refund a request that turned out not to be charged."""
        counted = standing.counted
        if not counted.charged or counted.month_used is None:
            return standing
        try:
            self._counters.give_back(standing.who, standing.month)
        except UsageUnavailable:
            self._set_down()
        less = RequestCounts(
            counted.minute_used, counted.minute_ends, counted.month_used - 1, False
        )
        return msgspec.structs.replace(standing, counted=less)

    def used(self, key_id: str, month: str) -> int:
        """Return the requests charged to a key in a month (YYYY-MM)."""
        return self._counters.used(key_id, month)

    def check(self) -> None:
        """Write to the store; raise if that fails."""
        self._counters.check()

    def _count(self, who: str, tier: Tier, charge: bool, now: float) -> RequestCounts:
        if time.monotonic() >= self._retry_at:
            try:
                return self._counters.take(who, tier, self._month, charge, now)
            except UsageUnavailable:
                self._set_down()
        return self._count_locally(who, tier)

    def _set_down(self) -> None:
        self._retry_at = time.monotonic() + _RETRY_SECONDS
        count_store_failure("usage_store")

    def _count_locally(self, who: str, tier: Tier) -> RequestCounts:
        """Limit the minute in this process alone, while the store is unavailable."""
        if self._local_limiter is None:
            self._local_limiter = FixedWindowRateLimiter(MemoryStorage())
        limit = RateLimitItemPerMinute(tier.per_minute)
        within = self._local_limiter.hit(limit, who)
        ends, left = self._local_limiter.get_window_stats(limit, who)
        used = tier.per_minute - left if within else tier.per_minute + 1
        return RequestCounts(used, ends, None, False)


def _seconds_until(moment: float, now: float) -> int:
    # Rounded up, so that a client that waits that long does not come too early.
    return max(1, ceil(moment - now))


def _counters(location: str) -> LmdbCounters | RedisCounters:
    if not location.startswith(SCHEMES):
        return lmdb_counters(Path(location).absolute())
    return RedisCounters(location)


# Counting addresses would give a new quota to everyone who can change theirs within a network.
@lru_cache(maxsize=4096)
def network_of(address: str | None) -> str:
    """Return the /24 of an IPv4 address or the /48 of an IPv6 one, which shares a quota."""
    client = client_address(address)
    if client is None:
        return "unknown"
    return str(ip_network((client, 24 if client.version == 4 else 48), strict=False))
