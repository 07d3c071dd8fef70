"""Periods: the days, months or years by which a portal can be asked, and those of a window."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, Literal

from assets.fetching.fetchers import Window

PeriodKind = Literal["day", "month", "year", "financial-year", "window"]

# Without a window: how many periods before the current one are asked again, as long as portals
# still edit most of their releases.
RECENT: dict[PeriodKind, int] = {
    "day": 30,
    "month": 1,
    "year": 0,
    "financial-year": 0,
    "window": 30,
}
_DAY = timedelta(days=1)
_PLACEHOLDERS: dict[PeriodKind | None, tuple[str, ...]] = {
    "day": ("from", "to", "after", "year", "month", "day"),
    "month": ("from", "to", "after", "year", "month"),
    "year": ("from", "to", "after", "year"),
    "financial-year": ("from", "to", "after", "year", "next_year"),
    "window": ("from", "to", "after"),
    None: (),
}


@dataclass(frozen=True)
class Period:
    """The days from ``first`` to ``last``, both included."""

    kind: PeriodKind
    first: date
    last: date

    @property
    def name(self) -> str:
        """The period as a short text, for messages."""
        match self.kind:
            case "day":
                return str(self.first)
            case "month":
                return f"{self.first:%Y-%m}"
            case "year":
                return str(self.first.year)
            case "financial-year":
                return f"{self.first.year}-{self.first.year + 1}"
        return f"{self.first} to {self.last}"

    def values(self, year_offset: int) -> dict[str, Any]:
        """Return the values of the placeholders; ``year_offset`` counts from another year 0."""
        year = self.first.year + year_offset
        values = {
            "from": self.first,
            "to": self.last,
            "after": self.last + _DAY,
            "year": year,
            "next_year": year + 1,
            "month": self.first.month,
            "day": self.first.day,
        }
        return {name: values[name] for name in _PLACEHOLDERS[self.kind]}


def period_examples(kind: PeriodKind | None) -> dict[str, Any]:
    """Return an example value for each placeholder of a kind of period."""
    if kind is None:
        return {}
    return Period(kind, date(2024, 7, 1), date(2024, 7, 31)).values(0)


def periods_of(
    kind: PeriodKind,
    window: Window,
    today: date,
    since: date | None = None,
    year_starts: int = 1,
    recent: int | None = None,
) -> list[Period]:
    """Return the periods that a window touches, oldest first, none before ``since``.

    Without a window: the current period and as many before it as are still edited.
    """
    last = window.to or today
    first = window.from_
    if kind == "window":
        days = RECENT[kind] if recent is None else recent
        first = first or (since if recent is None and since else last - timedelta(days=days))
        first = max(first, since) if since else first
        return [Period(kind, first, last)] if first <= last else []
    if first is None:
        first = last
        for _ in range(RECENT[kind] if recent is None else recent):
            first = _start(kind, first, year_starts) - _DAY
    if since is not None:
        first = max(first, since)
    return list(_periods(kind, first, last, year_starts))


def _periods(kind: PeriodKind, first: date, last: date, year_starts: int) -> Iterator[Period]:
    start = _start(kind, first, year_starts)
    while start <= last and first <= last:
        following = _next(kind, start)
        yield Period(kind, start, following - _DAY)
        start = following


def _start(kind: PeriodKind, day: date, year_starts: int) -> date:
    """Return the first day of the period that a day lies in."""
    if kind == "day":
        return day
    if kind == "month":
        return day.replace(day=1)
    month = year_starts if kind == "financial-year" else 1
    year = day.year if day.month >= month else day.year - 1
    return date(year, month, 1)


def _next(kind: PeriodKind, start: date) -> date:
    if kind == "day":
        return start + _DAY
    if kind == "month":
        return (start + timedelta(days=32)).replace(day=1)
    return start.replace(year=start.year + 1)
