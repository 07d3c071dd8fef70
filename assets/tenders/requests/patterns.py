"""Address patterns: texts with placeholders such as ``{year}``, ``{month:02}`` or ``{page}``."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from string import Formatter
from typing import Any, Literal

from assets.fetching.fetchers import Window

# Periods: the days, months or years by which a portal can be asked, and those of a window.

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


class PatternError(ValueError):
    """A pattern that cannot be filled; the message says which placeholder and why."""


def placeholders(pattern: str) -> dict[str, str]:
    """Return the placeholders of a pattern, each with its format."""
    try:
        parts = [(name, spec) for _, name, spec, _ in Formatter().parse(pattern)]
    except ValueError as error:
        raise PatternError(f"{pattern!r}: {error}") from None
    return {name: spec or "" for name, spec in parts if name is not None}


def check_pattern(pattern: str, examples: Mapping[str, Any]) -> None:
    """Raise PatternError for a placeholder that is not known here, or a format that is not valid.

    ``examples`` has a value for each placeholder that may be used.
    """
    for name, spec in placeholders(pattern).items():
        if name not in examples:
            known = ", ".join(f"{{{known}}}" for known in sorted(examples)) or "none"
            raise PatternError(f"{{{name}}} is not known here; possible: {known}")
        try:
            format(examples[name], spec)
        except (ValueError, TypeError) as error:
            raise PatternError(f"{{{name}:{spec}}} cannot be written: {error}") from None


def fill(pattern: str, values: Mapping[str, Any]) -> str:
    """Replace the placeholders of a pattern."""
    return pattern.format(**values)


def fill_all(value: Any, values: Mapping[str, Any]) -> Any:
    """Replace the placeholders in all texts of a JSON value.

    A text that is nothing but a placeholder becomes the value itself: a number stays a number.
    """
    if isinstance(value, dict):
        return {name: fill_all(member, values) for name, member in value.items()}
    if isinstance(value, list):
        return [fill_all(item, values) for item in value]
    if not isinstance(value, str):
        return value
    found = placeholders(value)
    if len(found) == 1:
        ((name, spec),) = found.items()
        if not spec and value == f"{{{name}}}":
            return values[name]
    return fill(value, values)


def texts_in(value: Any, name: str) -> dict[str, str]:
    """Return all texts of a JSON value by their names, such as ``body.skip``."""
    if isinstance(value, dict):
        members = [texts_in(member, f"{name}.{key}") for key, member in value.items()]
    elif isinstance(value, list):
        members = [texts_in(item, f"{name}[{n}]") for n, item in enumerate(value)]
    else:
        return {name: value} if isinstance(value, str) else {}
    return {name: text for found in members for name, text in found.items()}
