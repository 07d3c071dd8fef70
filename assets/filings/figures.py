"""Readings of one filing to figures: the element of the best rank states each of them."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

from assets.filings.line_items import ELEMENT_SUMS, LINE_SUMS, Element, Place, TaxonomyElement
from assets.macro.iso_codes import is_currency
from assets.parsing.parsed import Parsed
from warehouse.methodology.line_items import LineItem, Measure
from warehouse.record.landing import Document
from warehouse.record.tables import FUNDAMENTALS
from warehouse.shared.data_files import csv_rows

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
    # What a declared sum was added up from.
    parts: tuple["Reading", ...] = ()

    @property
    def value(self) -> Decimal:
        """The value as reported."""
        value: Decimal = self.row["value_reported"]
        return value

    @property
    def identity(self) -> tuple[Any, ...]:
        """Which figure it is, in whatever filing."""
        return tuple(self.row[name] for name in FUNDAMENTALS.identity)


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


def without_filling_zeros(value: Decimal) -> Decimal:
    """Return a value without the zeros that fill it up to so many decimals in some files."""
    whole = value.to_integral_value()
    return whole if whole == value else value.normalize()


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


def grouped(readings: Iterable[Reading], columns: Iterable[str] = FIGURE) -> list[list[Reading]]:
    """Return the readings that are equal in some columns together: those of each figure."""
    names = tuple(columns)
    groups: dict[tuple[Any, ...], list[Reading]] = {}
    for reading in readings:
        groups.setdefault(tuple(reading.row[name] for name in names), []).append(reading)
    return list(groups.values())


def settle(parsed: Parsed, document: Document, readings: Iterable[Reading]) -> Iterator[Reading]:
    """Yield each figure as the element of the best rank states it.

    If elements of equal rank, or one element, state different values, all are rejected; one
    element that repeats its value gives every repetition.
    """
    for group in grouped(readings):
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


# Which readings state the whole of a line, judged by what their own filing states.
#
# An element is a part of a line where its filing shows that there is more: by an element that
# says so (a minority's share next to the profit of the owners), or by a wider element that differs
# from it in any period. One that is smaller than it can be states something else under a wrong
# name. Sums that a filing states together, such as gross profit and cost of sales,
# decide between elements that disagree. Nothing but a declared sum is computed into a value, and no
# other filing is consulted, so a later one cannot change the choice.

# A line is the sum of the two others, where a filing states them.
_SUMS = {
    "revenue": (
        ("gross_profit", "cost_of_sales"),
        ("operating_profit", "costs_and_expenses"),
        ("operating_profit", "operating_expenses"),
    )
}

# The least share of another element that an element can be. Receivables include those from trade,
# less allowances: a small fraction of them are the other receivables. Most of what is spent on
# fixed assets is property, plant and equipment: a small fraction is that of a project, from a note.
# All borrowings are no less than those that a filing states as current and as non-current. Those
# that are less than the bonds alone do not include them: less than half of both together.
_LEAST_SHARES = {
    (row["element"], row["of"]): Decimal(row["share"]) for row in csv_rows(__name__, "least_shares")
}

# What the figures of one column of a statement share.
_COLUMN = tuple(name for name in FIGURE if name != "line_item")


# What each filing shows, such as minorities, and the elements that show it.
Shown = Mapping[str, Mapping[str, frozenset[str]]]


def without_refuted(readings: Iterable[Reading], shown: Shown) -> list[Reading]:
    """Return the readings that are no parts by what another element of their filing shows.

    A reading that a sum proves to be the whole stays, and those of its figure that differ go.
    """
    all_readings = list(readings)
    stated: dict[tuple[Any, ...], set[Decimal]] = defaultdict(set)
    for reading in all_readings:
        stated[*_column(reading), reading.row["line_item"]].add(reading.value)
    kept: list[Reading] = []
    for group in grouped(all_readings):
        proved = [reading for reading in group if reading.value in _sums_of(reading, stated)]
        kept += proved or [reading for reading in group if not _is_refuted(reading, shown)]
    return kept


def _is_refuted(reading: Reading, shown: Shown) -> bool:
    in_filing = shown.get(reading.row["publication"], {})
    own = {reading.element, *(part.element for part in reading.parts)}
    return any(in_filing.get(what, frozenset()) - own for what in reading.unless)


def showing(stated: Iterable[tuple[str, TaxonomyElement, Decimal]]) -> Shown:
    """Return what the facts of filings show, from filing, element and value; a zero shows nothing.

    The elements that show it are kept, because none is evidence against itself.
    """
    shown: dict[str, dict[str, frozenset[str]]] = {}
    for publication, element, value in stated:
        for what in element.shows if value else ():
            in_filing = shown.setdefault(publication, {})
            in_filing[what] = in_filing.get(what, frozenset()) | {element.name[1]}
    return shown


def without_narrower(readings: Iterable[Reading]) -> list[Reading]:
    """Return the readings that do not differ, anywhere in their filing, from a wider element.

    Those that are too small, anywhere in their filing, for what they are named go first.
    """
    all_readings = list(readings)
    misused = _misused(all_readings)
    well_named = [reading for reading in all_readings if _element_of(reading) not in misused]
    narrower = _narrower(well_named)
    return [reading for reading in well_named if _element_of(reading) not in narrower]


def _element_of(reading: Reading) -> tuple[Any, ...]:
    row = reading.row
    return row["publication"], row["basis"], row["line_item"], row["unit"], reading.element


def _misused(readings: list[Reading]) -> set[tuple[Any, ...]]:
    """Return the elements that are, anywhere in their filing, smaller than they can be."""
    return {
        _element_of(reading)
        for group in grouped(readings)
        for reading in group
        for other in group
        if is_misused(reading, other)
    }


def is_misused(reading: Reading, other: Reading) -> bool:
    """Return whether a value is smaller than its element can be, by what another element states."""
    share = _LEAST_SHARES.get((reading.element, other.element))
    return share is not None and abs(reading.value) < share * abs(other.value)


def _narrower(readings: list[Reading]) -> set[tuple[Any, ...]]:
    """Return the elements that differ, anywhere in their filing, from one of a better rank."""
    narrower = set()
    for group in grouped(readings):
        first = min(reading.rank for reading in group)
        wider = {reading.value for reading in group if reading.rank == first}
        narrower |= {
            _element_of(reading)
            for reading in group
            if reading.rank > first and reading.value not in wider
        }
    return narrower


def _sums_of(reading: Reading, stated: Mapping[tuple[Any, ...], set[Decimal]]) -> set[Decimal]:
    """Return what the line of a reading amounts to by the others of its column of a statement."""
    column = _column(reading)
    return {
        one + other
        for first, second in _SUMS.get(reading.row["line_item"], ())
        for one in stated.get((*column, first), ())
        for other in stated.get((*column, second), ())
    }


def _column(reading: Reading) -> tuple[Any, ...]:
    return tuple(reading.row[name] for name in _COLUMN)


def declared_sums(
    readings: Iterable[Reading], of: Literal["element", "line_item"]
) -> Iterator[Reading]:
    """Yield the declared sums of elements, or of lines, that columns of filings state all parts of.

    A part that a filing states twice, with different values, is none.
    """
    columns: dict[tuple[Any, ...], dict[str, dict[Decimal, Reading]]] = {}
    for reading in readings:
        column = columns.setdefault(_column(reading), {})
        column.setdefault(reading.row[of], {}).setdefault(reading.value, reading)
    for column in columns.values():
        for total in ELEMENT_SUMS if of == "element" else LINE_SUMS:
            stated = [column.get(name, {}) for name in total.parts]
            if all(len(values) == 1 for values in stated):
                parts = tuple(reading for values in stated for reading in values.values())
                # Only income can be negative; what is owed or paid has a wrong sign then.
                if total.item.statement == "income" or all(part.value >= 0 for part in parts):
                    yield from (_added(place, parts) for place in total.places)


def _added(place: Place, parts: tuple[Reading, ...]) -> Reading:
    """Return a sum in the place that it has in a line; its row is located at the first part."""
    names = " + ".join(part.element for part in parts)
    first = parts[0]
    row = first.row | {
        "line_item": place.item.name,
        "statement": place.item.statement,
        "element": f"{first.row['element'].partition(':')[0]}:{names}",
        "value_reported": sum(part.value for part in parts),
    }
    decimals = min((part.decimals for part in parts if part.decimals is not None), default=None)
    return Reading(names, place.rank, first.location, row, decimals, place.unless, parts)
