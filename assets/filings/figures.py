"""Readings of one filing to figures: the element of the best rank states each of them."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

from assets.filings.line_items import Element
from assets.macro.iso_codes import is_currency
from assets.parsing.parsed import Parsed
from warehouse.methodology.line_items import LineItem, Measure
from warehouse.record.landing import Document
from warehouse.record.tables import FUNDAMENTALS

Consolidation = Literal["consolidated", "individual"]
# A figure of an issuer in a filing.
FIGURE = (*(name for name in FUNDAMENTALS.identity if name != "service_id"), "publication")


@dataclass(frozen=True)
class Reading:
    """One figure as one element states it; ``decimals`` is None where it is exact."""

    element: str
    rank: int
    location: str
    row: dict[str, Any]
    decimals: int | None = None
    # The element is a part of the line in a filing that shows any of these.
    unless: frozenset[str] = frozenset()

    @property
    def value(self) -> Decimal:
        """The value as reported."""
        value: Decimal = self.row["value_reported"]
        return value


def of_line(
    item: LineItem,
    element: Element,
    standard: str,
    unit: str,
    consolidation: Consolidation = "consolidated",
) -> dict[str, Any]:
    """Return the columns that follow from the element of a line, the standard and the unit."""
    money = unit.split("/")[0]
    return {
        "line_item": item.name,
        "element": ":".join(element),
        "statement": item.statement,
        "currency_reported": money if is_currency(money) else None,
        "unit": unit,
        # The standard is part of the basis: figures under two standards are not comparable.
        "basis": f"{consolidation}/{standard}",
        "accounting_standard": standard,
    }


def unit_of(item: LineItem, unit: str) -> str:
    """Normalise a unit to ``ZAR``, ``ZAR/shares`` or ``shares``; refuse a wrong measure."""
    # The SEC writes USD/shares or USD-per-shares.
    money, _, per = unit.replace("-per-", "/").partition("/")
    # Amounts per share have a type of their own; files of 2021 write only their currency.
    if item.measure == "money per share" and is_currency(money) and not per:
        per = "shares"
    if _measure(money, per) != item.measure:
        raise ValueError(f"unit {unit!r:.40}: {item.name} is {item.measure}")
    return f"{money}/{per}" if per else money


def scaled_amounts(values: Iterable[Decimal]) -> set[Decimal]:
    """Return which amounts per share of a filing, in one currency, were scaled like its statements.

    A share may well earn 5,000 won; but not every amount is a multiple of a thousand by chance.
    """
    stated = {value for value in values if value}
    if len({abs(value) for value in stated}) > 1 and all(value % 1000 == 0 for value in stated):
        return stated
    return {value for value in stated if value % 1_000_000 == 0}


def _measure(money: str, per: str) -> Measure | None:
    if not is_currency(money):
        return "shares" if money == "shares" and not per else None
    return "money" if not per else "money per share" if per == "shares" else None


def by_figure(readings: Iterable[Reading]) -> list[list[Reading]]:
    """Return the readings of each figure of each filing."""
    groups: dict[tuple[Any, ...], list[Reading]] = {}
    for reading in readings:
        figure = tuple(reading.row[name] for name in FIGURE)
        groups.setdefault(figure, []).append(reading)
    return list(groups.values())


def settle(parsed: Parsed, document: Document, readings: Iterable[Reading]) -> Iterator[Reading]:
    """Yield each figure as the element of the best rank states it.

    If elements of equal rank, or one element, state different values, all are rejected; one
    element that repeats its value gives every repetition.
    """
    for group in by_figure(readings):
        first = min(reading.rank for reading in group)
        best = [reading for reading in group if reading.rank == first]
        reason = _disagreement(best)
        if reason is None:
            # Of several elements that agree, one: they are one figure. Which one must not depend on
            # the order of the document, which elements of later filings may change.
            chosen = min(reading.element for reading in best)
            yield from (reading for reading in best if reading.element == chosen)
        else:
            for reading in best:
                parsed.reject(FUNDAMENTALS, document, reading.location, reason)


def _disagreement(group: list[Reading]) -> str | None:
    if len({reading.value for reading in group}) == 1:
        return None
    values = ", ".join(sorted({f"{reading.element} = {reading.value}" for reading in group}))
    line_item = group[0].row["line_item"]
    if len({reading.element for reading in group}) == 1:
        return f"{line_item}: one filing states different values for one figure: {values}"
    return f"{line_item}: the elements of one filing disagree, so the figure is absent: {values}"
