"""The panels of signals-v1 as data: ``panels.csv``, and ``measures.csv`` with their measures.

The pages in ``pages`` are written from this data.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, cast

from warehouse.shared.data_files import csv_rows

SIGNAL_SET = "signals-v1"
SIGNAL_DIGITS = 10

# Days from the end of a month to its closing: long enough for all portals. Do not change them when
# a portal is added: closed months would be computed again.
CLOSES_AFTER = 5
# The number of later closings at which a month is computed again.
REEVALUATED = 36

TRAILING = 12
NEW_AFTER = 24
# The momentum compares three months with the same three a year before, 14 months back.
MOMENTUM_NEEDS = 14
SHORT_WINDOW = 15
YEAR_DAYS = (350, 380)

# Amounts are summed exactly, as whole 1/10,000 of a currency unit.
PARTS = 10_000
# Numbers that cannot be: an amount of MONEY_BELOW or more, whatever its currency, or of more than
# AMOUNT_TIMES the 99.9th percentile of its portal and currency, of which FEWEST_AMOUNTS must be
# known; and a count of more than MOST_TENDERERS.
MONEY_BELOW = 10**18
AMOUNT_TIMES = 1_000
FEWEST_AMOUNTS = 1_000
MOST_TENDERERS = 1_000

METHODS = ("open", "selective", "limited", "direct")
# The first is success, the others end a process without an award.
FINAL_STATUSES = ("complete", "cancelled", "unsuccessful", "withdrawn")

MeasureUnit = Literal["share", "index", "ratio", "change", "days", "tenderers"]
MonthRule = Literal["tender", "first award", "award", "year end"]
Dimension = Literal["all", "category", "procurement_method", "buyer", "issuer"]


@dataclass(frozen=True)
class Measure:
    """One number that a panel publishes."""

    key: str
    unit: MeasureUnit
    meaning: str
    per_currency: bool = False


@dataclass(frozen=True)
class Panel:
    """One panel: its measures, the data they need, and which processes are in scope."""

    key: str
    title: str
    month: MonthRule
    dimensions: tuple[Dimension, ...]
    needs: str
    eligible: str
    observed: str
    measures: tuple[Measure, ...]
    notes: tuple[str, ...] = ()


# Numbers that the tables name in braces.
_NUMBERS: Mapping[str, object] = {
    "TRAILING": TRAILING,
    "BEFORE_TRAILING": TRAILING - 1,
    "NEW_AFTER": NEW_AFTER,
    "MOMENTUM_NEEDS": MOMENTUM_NEEDS,
    "SHORT_WINDOW": SHORT_WINDOW,
    "SHORTEST_YEAR": YEAR_DAYS[0],
    "LONGEST_YEAR": YEAR_DAYS[1],
    "FINAL_STATUSES": ", ".join(FINAL_STATUSES),
    "ENDED_WITHOUT_AWARD": ", ".join(FINAL_STATUSES[1:]),
}


def _rows(rows: list[dict[str, str]]) -> list[dict[str, str]]:
    return [{name: text.format_map(_NUMBERS) for name, text in row.items()} for row in rows]


_MEASURES = _rows(csv_rows(__name__, "measures"))
PANELS = tuple(
    Panel(
        row["key"],
        row["title"],
        cast(MonthRule, row["month"]),
        cast(tuple[Dimension, ...], tuple(row["dimensions"].split())),
        row["needs"],
        row["eligible"],
        row["observed"],
        tuple(
            Measure(
                measure["measure"],
                cast(MeasureUnit, measure["unit"]),
                measure["meaning"],
                measure["per_currency"] == "yes",
            )
            for measure in _MEASURES
            if measure["panel"] == row["key"]
        ),
        tuple(row["notes"].split(" | ")) if row["notes"] else (),
    )
    for row in _rows(csv_rows(__name__, "panels"))
)
PANEL_BY_KEY: Mapping[str, Panel] = {panel.key: panel for panel in PANELS}
