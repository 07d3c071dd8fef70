"""How a host is asked: how often, by whom, after how long again, and without a key shown."""

import os
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path

from warehouse.errors import SankofaError
from warehouse.locks import file_lock

# Requests a second that a host is asked at most; the longest ending that fits counts.
RATES: dict[str, float] = {
    "sec.gov": 8.0,
    "worldbank.org": 2.0,
    "stlouisfed.org": 2.0,
    "filings.xbrl.org": 1.0,
    # 25 a minute without a key
    "openfigi.com": 0.4,
    # 60 a minute
    "api.gleif.org": 1.0,
    "localhost": 1000.0,
    "127.0.0.1": 1000.0,
    "": 2.0,
}
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


class HostRateLimit:
    """The turns of one host, ``rate`` a second, for all processes of this machine.

    Its file holds the moment of the last turn. Whoever takes the next one waits while holding
    the file's lock, which the kernel releases when its holder dies; so nobody waits longer than
    one gap for a turn of his own, whatever a file left behind or a changed clock says.
    """

    def __init__(
        self,
        rate: float,
        clock: Callable[[], float],
        sleep: Callable[[float], None],
        file: Path,
    ) -> None:
        self._gap, self._clock, self._sleep, self._file = 1 / rate, clock, sleep, file

    def take(self) -> None:
        """Wait for the next turn."""
        with file_lock(self._file) as file:
            last = _moment(file.read())
            wait = min(self._gap, last + self._gap - self._clock())
            if wait > 0:
                self._sleep(wait)
            file.seek(0)
            file.truncate()
            file.write(repr(self._clock()))


class RateLimiter:
    """The buckets of all hosts; names under one ending share one."""

    def __init__(
        self,
        rates: Mapping[str, float],
        clock: Callable[[], float],
        sleep: Callable[[float], None],
        folder: Path,
    ) -> None:
        self._rates, self._clock, self._sleep = {"": RATES[""], **rates}, clock, sleep
        self._folder = _owned(folder)

    def take(self, host: str) -> None:
        """Wait for the next turn of a host."""
        fits = [end for end in self._rates if not end or host == end or host.endswith(f".{end}")]
        name = max(fits, key=len)
        file = self._folder / re.sub(r"[^a-z0-9.-]", "_", (name or host).lower())
        HostRateLimit(self._rates[name], self._clock, self._sleep, file).take()


def _owned(folder: Path) -> Path:
    """Create the folder if needed; refuse one that another user owns."""
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.stat().st_uid != os.getuid():
        raise SankofaError(
            f"{folder} belongs to another user: set SANKOFA_TURNS to a folder of your own"
        )
    return folder


def _moment(written: str) -> float:
    try:
        return float(written)
    except ValueError:
        return float("-inf")


def retry_after(value: str | None, now: datetime) -> float | None:
    """Read how many seconds to wait; given as a number, or as a date."""
    if value is None:
        return None
    if value.strip().isdecimal():
        return float(value)
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    return max(0.0, (moment.replace(tzinfo=moment.tzinfo or UTC) - now).total_seconds())
