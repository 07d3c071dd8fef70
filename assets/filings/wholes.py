"""Which readings state the whole of a line, judged by what their own filing states.

An element is a part of a line where its filing shows that there is more: by an element that says
so (a minority's share beside the profit of the owners), or by a wider element that differs from it
in any period. Sums that a filing states beside each other, such as gross profit and cost of
sales, decide between elements that disagree. Nothing is computed into a value, and no other
filing is asked: so a later one cannot change the choice.
"""

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from assets.filings.figures import FIGURE, Reading, by_figure

# A line is the sum of the two others, where a filing states them.
_SUMS = {
    "revenue": (("gross_profit", "cost_of_sales"), ("operating_profit", "costs_and_expenses")),
}

# What the figures of one column of a statement share.
_COLUMN = tuple(name for name in FIGURE if name != "line_item")


def without_parts(
    readings: Iterable[Reading], shown: Mapping[str, frozenset[str]]
) -> list[Reading]:
    """Return the readings that may state the whole of their line; ``shown`` is by filing."""
    unrefuted = [
        reading
        for reading in readings
        if not reading.unless & shown.get(reading.row["publication"], frozenset())
    ]
    proved = _proved(unrefuted)
    narrower = _narrower(proved)
    return [reading for reading in proved if _element_of(reading) not in narrower]


def _element_of(reading: Reading) -> tuple[Any, ...]:
    row = reading.row
    return row["publication"], row["basis"], row["line_item"], row["unit"], reading.element


def _narrower(readings: list[Reading]) -> set[tuple[Any, ...]]:
    """Return the elements that differ, anywhere in their filing, from one of a better rank."""
    narrower = set()
    for group in by_figure(readings):
        first = min(reading.rank for reading in group)
        wider = {reading.value for reading in group if reading.rank == first}
        narrower |= {
            _element_of(reading)
            for reading in group
            if reading.rank > first and reading.value not in wider
        }
    return narrower


def _proved(readings: list[Reading]) -> list[Reading]:
    """Leave out readings that a sum of their filing contradicts where another one agrees."""
    values: dict[tuple[Any, ...], set[Decimal]] = {}
    for reading in readings:
        values.setdefault((*_column(reading), reading.row["line_item"]), set()).add(reading.value)
    kept: list[Reading] = []
    for group in by_figure(readings):
        sums = _sums(group[0], values) if len({reading.value for reading in group}) > 1 else set()
        agreeing = [reading for reading in group if reading.value in sums]
        kept += agreeing or group
    return kept


def _column(reading: Reading) -> tuple[Any, ...]:
    return tuple(reading.row[name] for name in _COLUMN)


def _sums(reading: Reading, values: Mapping[tuple[Any, ...], set[Decimal]]) -> set[Decimal]:
    column = _column(reading)
    return {
        one + other
        for first, second in _SUMS.get(reading.row["line_item"], ())
        for one in values.get((*column, first), ())
        for other in values.get((*column, second), ())
    }
