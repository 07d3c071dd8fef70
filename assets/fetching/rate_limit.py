"""Rate limits per host, shared by all processes of this machine, and Retry-After."""

import os
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path

from warehouse.shared.errors import SankofaError
from warehouse.shared.locks import file_lock

# Most requests per second to a domain that no source declares; a longer suffix goes before.
DEFAULT_RATES: dict[str, float] = {"localhost": 1000.0, "127.0.0.1": 1000.0, "": 2.0}
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


class HostRateLimit:
    """The rate limit of one host, ``rate`` requests a second over all processes.

    Its file contains the time of the last request. The next process sleeps while it has the
    file lock, which the kernel releases when that process dies. Nobody sleeps longer than one
    interval, whatever a stale file or a changed clock says.
    """

    def __init__(
        self,
        rate: float,
        clock: Callable[[], float],
        sleep: Callable[[float], None],
        file: Path,
    ) -> None:
        self._interval, self._clock, self._sleep, self._file = 1 / rate, clock, sleep, file

    def wait(self) -> None:
        """Sleep until the next request is allowed."""
        with file_lock(self._file) as file:
            last = _timestamp(file.read())
            # After a reboot the monotonic clock starts again, below the time in the file.
            seconds = min(self._interval, last + self._interval - self._clock())
            if seconds > 0:
                self._sleep(seconds)
            file.seek(0)
            file.truncate()
            file.write(repr(self._clock()))


class RateLimiter:
    """The rate limits of all hosts; hosts with the same domain suffix share one."""

    def __init__(
        self,
        rates: Mapping[str, float],
        clock: Callable[[], float],
        sleep: Callable[[float], None],
        folder: Path,
    ) -> None:
        self._rates, self._clock, self._sleep = {**DEFAULT_RATES, **rates}, clock, sleep
        self._folder = _owned(folder)

    def wait(self, host: str) -> None:
        """Sleep until the next request to a host is allowed."""
        suffixes = [
            suffix
            for suffix in self._rates
            if not suffix or host == suffix or host.endswith(f".{suffix}")
        ]
        name = max(suffixes, key=len)
        # Hosts without a rate of their own share the default rate, but do not wait for each other.
        file = self._folder / re.sub(r"[^a-z0-9.-]", "_", (name or host).lower())
        HostRateLimit(self._rates[name], self._clock, self._sleep, file).wait()


def _owned(folder: Path) -> Path:
    """Create the folder if needed; refuse one that another user owns."""
    # Usually below /tmp, where another user could have created it with files that make us wait.
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.stat().st_uid != os.getuid():
        raise SankofaError(
            f"{folder} belongs to another user: set SANKOFA_TURNS to a folder of your own"
        )
    return folder


def _timestamp(content: str) -> float:
    try:
        return float(content)
    except ValueError:
        return float("-inf")


def retry_after(value: str | None, now: datetime) -> float | None:
    """Return the seconds of a Retry-After header, which is a number or a date."""
    if value is None:
        return None
    if value.strip().isdecimal():
        return float(value)
    try:
        retry_at = parsedate_to_datetime(value)
    except ValueError:
        return None
    return max(0.0, (retry_at.replace(tzinfo=retry_at.tzinfo or UTC) - now).total_seconds())
