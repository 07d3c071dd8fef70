"""The past next to the present: what a value was then, what it is now, and which filing changed it.

Rows are vintages of figures or of observations, as the lists of the service have them.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

from api.site.sample import Row

# The newest days of publication, and the newest periods, that a table of revisions has.
_MOST_DAYS = 8
_MOST_PERIODS = 24
# Why a vintage differs, where it is no restatement of the amount.
_REASONS = {
    "correction": "Sign or scale corrected",
    "split": "Restated for a split of shares",
    "element": "Stated under another element",
    "measuring_unit": "Restated for inflation",
}


def value_of(row: Row) -> Decimal | None:
    """Return the value of a vintage, of whichever list it is."""
    value = row["value_reported"] if "value_reported" in row else row["value"]
    return None if value is None else Decimal(str(value))


def figure_of(row: Row) -> tuple[Any, ...]:
    """Return what all vintages of one figure or observation have in common."""
    members = ("line_item", "country_iso3", "unit", "basis", "base_period", "period_start")
    return (*(row.get(name) for name in members), row["period_end"])


def revision_words(before: Row, after: Row) -> str:
    """Return what a later vintage did to an earlier one: "Cut by 4.0 % on 2020-04-06, 20-F"."""
    day, form = after["available_at"], after.get("form")
    when = f"{f' on {day}' if day else ''}{f', {form}' if form else ''}"
    old, new = value_of(before), value_of(after)
    if new is None or old is None:
        return f"{'Withdrawn' if new is None else 'Stated'}{when}"
    reason = _REASONS.get(after.get("restatement_kind") or "")
    if reason is not None:
        return f"{reason}{when}"
    # Of a loss, or from one, "raised" and "cut" say too little.
    if old <= 0 or new <= 0:
        return f"Restated{when}"
    return f"{'Raised' if new > old else 'Cut'} by {abs(new - old) / old * 100:,.1f} %{when}"


@dataclass(frozen=True)
class Revised:
    """A figure with another value now than then, and in words what happened to it."""

    then: Row
    now: Row
    words: str

    @property
    def size(self) -> Decimal:
        """How large the change is, relative to the value then."""
        old, new = value_of(self.then), value_of(self.now)
        return abs((new - old) / old) if old and new is not None else Decimal(0)


def by_figure(rows: Iterable[Row]) -> dict[tuple[Any, ...], Row]:
    """Return vintages by their figure."""
    return {figure_of(row): row for row in rows}


def revised_since(then: Iterable[Row], now: dict[tuple[Any, ...], Row]) -> list[Revised]:
    """Return what was revised between two answers, the largest changes first."""
    pairs = ((row, now.get(figure_of(row))) for row in then)
    revised = [
        Revised(row, later, revision_words(row, later))
        for row, later in pairs
        if later is not None and value_of(later) != value_of(row)
    ]
    return sorted(revised, key=lambda each: -each.size)


@dataclass(frozen=True)
class RevisionTable:
    """Periods by day of publication: which vintage of each became public on which day."""

    days: tuple[str, ...]
    rows: tuple[tuple[Row, tuple[Row | None, ...], str], ...]
    is_whole: bool


def revision_table(figures: Iterable[Sequence[Row]]) -> RevisionTable | None:
    """Return the table of the figures that were revised, newest first; None if none was.

    Each figure has its vintages, oldest first.
    """
    dated = [[row for row in vintages if row["available_at"]] for vintages in figures]
    revised = [vintages for vintages in dated if len(vintages) > 1]
    if not revised:
        return None
    every = sorted({row["available_at"] for vintages in revised for row in vintages})
    days = every[-_MOST_DAYS:]
    shown = [vintages for vintages in revised if vintages[-1]["available_at"] in days]
    return RevisionTable(
        tuple(days),
        tuple(
            (
                vintages[-1],
                tuple(_published_on(vintages, day) for day in days),
                revision_words(vintages[-2], vintages[-1]),
            )
            for vintages in shown[:_MOST_PERIODS]
        ),
        is_whole=len(days) == len(every) and len(shown) <= _MOST_PERIODS,
    )


def _published_on(vintages: Sequence[Row], day: str) -> Row | None:
    return next((row for row in reversed(vintages) if row["available_at"] == day), None)


def vintages_by_day(read: Callable[[date | None], Sequence[Row]]) -> list[list[Row]]:
    """Return the vintages of a list that answers for a day alone, step by step into the past.

    ``read`` returns what was known on a day; each step asks for the day before the newest revision
    of the step before it.
    """
    figures: dict[tuple[Any, ...], list[Row]] = {}
    rows = read(None)
    # The vintage before the first of these revisions is found by one step more.
    for _ in range(_MOST_DAYS + 1):
        revisions = [row["available_at"] for row in rows if row["vintage"] > 1]
        for row in rows:
            known = figures.setdefault(figure_of(row), [])
            if not known or known[0]["vintage"] != row["vintage"]:
                known.insert(0, row)
        days = [day for day in revisions if day]
        if not days:
            break
        rows = read(date.fromisoformat(max(days)) - timedelta(days=1))
    return list(figures.values())
