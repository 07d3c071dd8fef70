"""Which readings state the whole of a line, judged by what their own filing states.

An element is a part of a line where its filing shows that there is more: by an element that says
so (a minority's share beside the profit of the owners), or by a wider element that differs from it
in any period. One that is smaller than it can be states something else under a wrong name. Sums
that a filing states beside each other, such as gross profit and cost of sales, decide between
elements that disagree. Nothing is computed into a value, and no other filing is asked: so a later
one cannot change the choice.
"""

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from assets.filings.figures import FIGURE, Reading, by_figure
from assets.filings.line_items import TaxonomyElement

# A line is the sum of the two others, where a filing states them.
_SUMS = {
    "revenue": (
        ("gross_profit", "cost_of_sales"),
        ("operating_profit", "costs_and_expenses"),
        ("operating_profit", "operating_expenses"),
    ),
}

# The least share of another element that an element can be. Receivables include those from trade,
# less allowances: a small fraction of them are the other receivables. Most of what is spent on
# fixed assets is property, plant and equipment: a small fraction is that of a project, from a note.
_HALF, _TENTH = Decimal("0.5"), Decimal("0.1")
_PPE = "PurchaseOfPropertyPlantAndEquipment"
_LEAST_SHARES = {
    "ReceivablesNetCurrent": {
        "AccountsAndOtherReceivablesNetCurrent": _HALF,
        "AccountsReceivableNetCurrent": _HALF,
    },
    "AccountsAndOtherReceivablesNetCurrent": {"AccountsReceivableNetCurrent": _HALF},
    "TradeAndOtherCurrentReceivables": {"CurrentTradeReceivables": _HALF},
    "TradeAndOtherCurrentPayables": {"TradeAndOtherCurrentPayablesToTradeSuppliers": _HALF},
    "AccountsPayableAndAccruedLiabilitiesCurrent": {"AccountsPayableTradeCurrent": _HALF},
    f"{_PPE}ClassifiedAsInvestingActivities": {
        f"{_PPE}IntangibleAssetsOtherThanGoodwillInvestmentPropertyAndOtherNoncurrentAssets": (
            _TENTH
        )
    },
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
    sums = _Sums(all_readings)
    kept: list[Reading] = []
    for group in by_figure(all_readings):
        proved = [reading for reading in group if reading.value in sums.of(reading)]
        kept += proved or [reading for reading in group if not _is_refuted(reading, shown)]
    return kept


def _is_refuted(reading: Reading, shown: Shown) -> bool:
    in_filing = shown.get(reading.row["publication"], {})
    return any(in_filing.get(what, frozenset()) - {reading.element} for what in reading.unless)


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
        for group in by_figure(readings)
        for reading in group
        for other in group
        if (share := _LEAST_SHARES.get(reading.element, {}).get(other.element))
        and abs(reading.value) < share * abs(other.value)
    }


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


class _Sums:
    """The sums that filings state beside a line: what its whole must be."""

    def __init__(self, readings: list[Reading]) -> None:
        self._values: dict[tuple[Any, ...], set[Decimal]] = {}
        for reading in readings:
            line = *_column(reading), reading.row["line_item"]
            self._values.setdefault(line, set()).add(reading.value)

    def of(self, reading: Reading) -> set[Decimal]:
        """Return what the line of a reading amounts to by the others of its column."""
        column = _column(reading)
        return {
            one + other
            for first, second in _SUMS.get(reading.row["line_item"], ())
            for one in self._values.get((*column, first), ())
            for other in self._values.get((*column, second), ())
        }


def _column(reading: Reading) -> tuple[Any, ...]:
    return tuple(reading.row[name] for name in _COLUMN)
