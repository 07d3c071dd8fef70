"""The taxonomy elements that state the lines of statements, as data.

``elements.csv`` has, for each line, the elements that state it in the order of their rank, with
their balance and period type from the taxonomy. An element of a better rank is the wider one, and
wins. An element without a rank is a part of the line, and never the line itself. Some elements
are the whole only ``unless`` the filing shows that there is more, such as the profit of the owners
in a filing that shows minorities; ``shows`` says which elements are that evidence.

Parts are added up only where they are declared to be the whole: ``A + B`` in the place of an
element, and lines in place of elements where no taxonomy is named.

A later filing with an element of a worse rank states less than an earlier one did. A rank of
``2=1`` is the second in a filing, and as good as the first of an earlier one: another name for the
same, as new accounting standards gave to revenue.
"""

from dataclasses import dataclass
from typing import Literal, cast

from warehouse.methodology.line_items import LINE_ITEMS, Kind, LineItem
from warehouse.shared.data_files import csv_rows

IFRS, US_GAAP = "ifrs-full", "us-gaap"
STANDARDS = {IFRS: "ifrs", US_GAAP: "us-gaap"}

Balance = Literal["debit", "credit"]
Element = tuple[str, str]


@dataclass(frozen=True)
class Place:
    """The place of an element in the order of a line; the lowest rank wins.

    ``as_good`` is its rank among the elements of earlier filings.
    """

    item: LineItem
    rank: int
    as_good: int
    unless: frozenset[str]


@dataclass(frozen=True)
class TaxonomyElement:
    """What a taxonomy says of an element, and the places it has; ``item`` is its first line."""

    name: Element
    item: LineItem
    balance: Balance | None
    kind: Kind
    shows: frozenset[str]
    places: tuple[Place, ...]

    @property
    def parts(self) -> tuple[str, ...]:
        """The elements of a declared sum, or the lines; of an element itself alone."""
        taxonomy, names = self.name
        return tuple(f"{taxonomy}:{name}".lstrip(":") for name in names.split(" + "))


def _elements() -> dict[Element, TaxonomyElement]:
    lines = {item.name: item for item in LINE_ITEMS}
    elements: dict[Element, TaxonomyElement] = {}
    rows = csv_rows(__name__, "elements")
    sums = [row for row in rows if " + " in row["element"]]
    added = {(row["taxonomy"], part) for row in sums for part in row["element"].split(" + ")}
    for row in rows:
        name = row["taxonomy"], row["element"]
        known, item = elements.get(name), lines[row["line_item"]]
        rank, _, as_good = row["rank"].partition("=")
        # A part that is added up is read, with a rank of 0: it is no line by itself.
        place = Place(
            item, int(rank or 0), int(as_good or rank or 0), frozenset(row["unless"].split())
        )
        elements[name] = TaxonomyElement(
            name,
            known.item if known else item,
            cast(Balance, row["balance"]) or None,
            cast(Kind, row["period"]),
            frozenset(row["shows"].split()) | (known.shows if known else frozenset()),
            (known.places if known else ()) + ((place,) if row["rank"] or name in added else ()),
        )
    return elements


BY_ELEMENT: dict[Element, TaxonomyElement] = _elements()
# The declared sums: of elements, and of lines.
ELEMENT_SUMS = tuple(each for each in BY_ELEMENT.values() if each.name[0] and len(each.parts) > 1)
LINE_SUMS = tuple(each for each in BY_ELEMENT.values() if not each.name[0])
_LINE_SUM_PLACES = {each.item.name: each.places[0] for each in LINE_SUMS}
_PLACES = {
    (place.item.name, ":".join(element.name)): place
    for element in BY_ELEMENT.values()
    for place in element.places
}


def is_worse(line_item: str, before: str, after: str) -> bool:
    """Return whether an element states less of a line than that of an earlier filing.

    Elements are named with their taxonomy: only those of one taxonomy can be compared.
    """
    # An element that is none of the line is a sum of lines, named by what states those.
    of_lines = _LINE_SUM_PLACES.get(line_item)
    earlier, later = (_PLACES.get((line_item, each), of_lines) for each in (before, after))
    if earlier is None or later is None or before.partition(":")[0] != after.partition(":")[0]:
        return False
    return later.as_good > earlier.as_good
