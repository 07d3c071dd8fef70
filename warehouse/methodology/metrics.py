"""The formulas of metrics-v1, as one table of data: ``formulas.csv``.

Each value is one division of two sums of reported figures, so that it is rounded only once. The
rules of ``as_of`` are explained in ``pages``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Context, Decimal
from functools import cached_property
from typing import Any, Literal, cast

from warehouse.methodology.line_items import LINE_ITEMS
from warehouse.shared.data_files import csv_rows

MetricUnit = Literal["ratio", "days"]
AbsentReason = Literal[
    "revised_after_as_of",
    "completed_after_as_of",
    "input_not_reported",
    "inputs_not_comparable",
    "denominator_not_positive",
    "mixed_currency",
    "short_period",
]
# Why a value is left out, in words.
ABSENT_REASONS: Mapping[AbsentReason, str] = {
    "completed_after_as_of": "a publication stated all inputs only after `as_of`",
    "revised_after_as_of": "a publication had stated all inputs, but one has been revised since",
    "input_not_reported": "an input was never published, or has been withdrawn",
    "inputs_not_comparable": "all inputs are published, but no publication states their values of "
    "today together, or one contradicts its own publication",
    "mixed_currency": "its inputs were published, but not all in one currency",
    "short_period": "the metric needs a full year, and the published period has another length",
    "denominator_not_positive": "what it is divided by, or its condition, is not above zero",
}

# Of full years, and of the latest twelve months; the first is the one that is meant without a name.
METRIC_SET, TRAILING_SET = "metrics-v1", "metrics-ttm"
# Days of a full year, first and last included: financial years of 52 and 53 weeks count.
SHORTEST_YEAR, LONGEST_YEAR = 350, 380
# A period of that length that overlaps a year which ends before it is a year of the issuer if that
# one has at most so many times as many line items. Else it is a mistyped day, or twelve months up
# to the end of a quarter.
STRAY_YEAR = 2
METRIC_DIGITS = 10
# Half to even, so that rounding many values has no bias.
_TEN_DIGITS = Context(prec=METRIC_DIGITS, rounding=ROUND_HALF_EVEN)

# Balances at the last day of the year; every other line is a flow over the whole of it.
BALANCES = frozenset(item.name for item in LINE_ITEMS if item.kind == "instant")


@dataclass(frozen=True)
class Input:
    """A figure that a formula needs, of this year or of the one before it."""

    line_item: str
    last_year: bool = False

    @property
    def name(self) -> str:
        """The line item, with the year where it is not this one."""
        return f"{self.line_item} of last year" if self.last_year else self.line_item


Sum = tuple[tuple[int, Input], ...]


@dataclass(frozen=True)
class Formula:
    """One metric: ``numerator / denominator``, times the days of the year where it says so.

    Every sum in ``positive`` must be above zero. ``expression`` is the formula as people write it;
    numerator and denominator are the same, rearranged into a single division.
    """

    slug: str
    title: str
    unit: MetricUnit
    expression: str
    numerator: Sum
    denominator: Sum
    positive: tuple[Sum, ...]
    condition: str
    description: str

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The figures it needs, each once, those of this year first."""
        sums = (self.numerator, self.denominator, *self.positive)
        needed = dict.fromkeys(figure for terms in sums for _, figure in terms)
        return tuple(sorted(needed, key=lambda figure: figure.last_year))

    def total(self, terms: Sum, figures: Sequence[Any]) -> Any:
        """Add up a sum; ``figures`` has a number or a NumPy column for each of ``inputs``."""
        return sum(weight * figures[self._positions[needed]] for weight, needed in terms)

    def value(self, figures: Sequence[int], days: int) -> Decimal | None:
        """Compute it from the figures of ``inputs``; None if the condition is not met."""
        if any(self.total(terms, figures) <= 0 for terms in self.positive):
            return None
        factor = days if self.unit == "days" else 1
        return divide(
            self.total(self.numerator, figures) * factor, self.total(self.denominator, figures)
        )

    @cached_property
    def _positions(self) -> Mapping[Input, int]:
        return {needed: position for position, needed in enumerate(self.inputs)}


def divide(numerator: int, denominator: int) -> Decimal:
    """Divide with ten significant digits, rounding half to even.

    Both are multiples of the same small unit; which one does not matter, it cancels out.
    """
    return _TEN_DIGITS.divide(Decimal(numerator), Decimal(denominator))


def _sum(text: str) -> Sum:
    """Parse ``cfo - capex`` or ``2 profit``; ``equity'`` is the figure of last year."""
    terms: list[tuple[int, Input]] = []
    weight, sign = 1, 1
    for word in text.split():
        if word in "+-":
            sign = -1 if word == "-" else 1
        elif word.isdigit():
            weight = int(word)
        else:
            terms.append((sign * weight, Input(word.rstrip("'"), word.endswith("'"))))
            weight, sign = 1, 1
    return tuple(terms)


def _formula(row: Mapping[str, str]) -> Formula:
    """Return the formula of a row; its denominator must be positive if it names nothing else."""
    over, under = row["numerator"], row["denominator"]
    days = " × days of the year" if row["unit"] == "days" else ""
    positive = (row["positive"] or under).split("; ")
    return Formula(
        row["slug"],
        row["title"],
        cast(MetricUnit, row["unit"]),
        row["expression"] or f"{_bracketed(over)} / {_bracketed(under)}{days}",
        _sum(over),
        _sum(under),
        tuple(map(_sum, positive)),
        " and ".join(f"{text} > 0" for text in positive).replace("'", " of last year"),
        row["description"],
    )


def _bracketed(text: str) -> str:
    return f"({text})" if " " in text else text


FORMULAS = tuple(map(_formula, csv_rows(__name__, "formulas")))
FORMULA_BY_SLUG: Mapping[str, Formula] = {formula.slug: formula for formula in FORMULAS}
# The metrics of flows alone, which any twelve months have; a balance is that of a year's end.
TRAILING = tuple(
    formula
    for formula in FORMULAS
    if not any(figure.last_year or figure.line_item in BALANCES for figure in formula.inputs)
)
