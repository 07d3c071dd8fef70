"""What is counted: a minute and a calendar month for whoever asks, and how they stand."""

from calendar import monthrange
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import NamedTuple, Protocol

from warehouse.errors import SankofaError
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


class Counted(NamedTuple):
    """What a store says after a request: the counts, and whether the month was charged."""

    minute_used: int
    minute_ends: float
    month_used: int | None
    charged: bool


class Counters(Protocol):
    """Counters that all processes of an installation share; raise if they do not answer."""

    def take(self, who: str, tier: Tier, month: Month, charge: bool, now: float) -> Counted:
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
