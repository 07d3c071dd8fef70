"""From readings of one filing to rows: what agrees is a figure, what disagrees is none."""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from assets.filings.line_items import STANDARDS, LineItem
from assets.macro.currencies import is_currency
from assets.parsed import Parsed
from warehouse.landing import Document
from warehouse.record.tables import FUNDAMENTALS

_FIGURE = ("line_item", "unit", "basis", "period_start", "period_end", "publication")


@dataclass(frozen=True)
class Reading:
    """One figure as one element states it; ``decimals`` is None where it is exact."""

    element: str
    rank: int
    place: str
    row: dict[str, Any]
    decimals: int | None = None

    @property
    def value(self) -> Decimal:
        """The value as reported."""
        value: Decimal = self.row["value_reported"]
        return value


def of_line(item: LineItem, taxonomy: str, unit: str) -> dict[str, Any]:
    """Give the columns that follow from the line item, the taxonomy and the unit."""
    standard = STANDARDS[taxonomy]
    money = unit.split("/")[0]
    return {
        "line_item": item.name,
        "statement": item.statement,
        "currency_reported": money if is_currency(money) else None,
        "unit": unit,
        "basis": f"consolidated/{standard}",
        "accounting_standard": standard,
    }


def settle(parsed: Parsed, document: Document, readings: Iterable[Reading]) -> None:
    """Keep the figures on which a filing agrees with itself; reject the others with words.

    Elements that agree give one row, of the preferred element; one element that repeats
    its value gives every repetition.
    """
    groups: dict[tuple[Any, ...], list[Reading]] = {}
    for reading in readings:
        figure = tuple(reading.row[name] for name in _FIGURE)
        groups.setdefault(figure, []).append(reading)
    for group in groups.values():
        reason = _disagreement(group)
        if reason is None:
            first = min(reading.rank for reading in group)
            parsed.add(FUNDAMENTALS, [each.row for each in group if each.rank == first])
        else:
            for reading in group:
                parsed.reject(FUNDAMENTALS, document, reading.place, reason)


def _disagreement(group: list[Reading]) -> str | None:
    if len({reading.value for reading in group}) == 1:
        return None
    stated = ", ".join(sorted({f"{each.element} = {each.value}" for each in group}))
    line_item = group[0].row["line_item"]
    if len({reading.rank for reading in group}) == 1:
        return f"{line_item}: one filing states different values for one figure: {stated}"
    return f"{line_item}: the elements of one filing disagree, so the figure is absent: {stated}"
