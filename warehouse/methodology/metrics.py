"""The formulas of metrics-v1, as one table of data.

Each value is one division of two sums of reported figures, so that it is rounded only once. The
rules of ``as_of`` are explained in ``pages``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Context, Decimal
from functools import cached_property
from typing import Any, Literal

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
    "denominator_not_positive": "what it is divided by is not above zero",
}

METRIC_SET = "metrics-v1"
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
BALANCES = frozenset(
    {
        "total_assets",
        "current_assets",
        "cash",
        "inventories",
        "receivables",
        "total_liabilities",
        "current_liabilities",
        "borrowings_current",
        "borrowings_non_current",
        "total_equity",
        "equity_attributable",
    }
)


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
    expression: str
    numerator: Sum
    denominator: Sum
    positive: tuple[Sum, ...]
    condition: str
    description: str
    unit: MetricUnit = "ratio"

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The figures it needs, each once, those of this year first."""
        needed = dict.fromkeys(figure for _, figure in (*self.numerator, *self.denominator))
        return tuple(sorted(needed, key=lambda figure: figure.last_year))

    @property
    def methodology_ref(self) -> str:
        """The reference of this formula's methodology page."""
        return f"{METRIC_SET}/{self.slug}"

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


def _ratio(slug: str, title: str, over: str, under: str, description: str) -> Formula:
    return Formula(
        slug,
        title,
        expression=f"{_bracketed(over)} / {_bracketed(under)}",
        numerator=_sum(over),
        denominator=_sum(under),
        positive=(_sum(under),),
        condition=f"{under} > 0",
        description=description,
    )


def _days(slug: str, title: str, over: str, under: str, description: str) -> Formula:
    return Formula(
        slug,
        title,
        expression=f"{over} / {under} × days of the year",
        numerator=_sum(over),
        denominator=_sum(under),
        positive=(_sum(under),),
        condition=f"{under} > 0",
        description=description,
        unit="days",
    )


def _growth(slug: str, title: str, item: str, description: str) -> Formula:
    # item / item' - 1, as one division
    return Formula(
        slug,
        title,
        expression=f"{item} / {item} of last year - 1",
        numerator=_sum(f"{item} - {item}'"),
        denominator=_sum(f"{item}'"),
        positive=(_sum(f"{item}'"),),
        condition=f"{item} of last year > 0",
        description=description,
    )


def _bracketed(text: str) -> str:
    return f"({text})" if " " in text else text


FORMULAS: tuple[Formula, ...] = (
    _ratio(
        "gross_margin",
        "Gross margin",
        "gross_profit",
        "revenue",
        "Share of revenue that remains after the cost of sales.",
    ),
    _ratio(
        "operating_margin",
        "Operating margin",
        "operating_profit",
        "revenue",
        "Share of revenue that remains after all operating costs.",
    ),
    _ratio(
        "ebitda_margin",
        "EBITDA margin",
        "operating_profit + depreciation_amortisation",
        "revenue",
        "Operating profit before depreciation and amortisation, as a share of revenue.",
    ),
    _ratio(
        "pretax_margin",
        "Pre-tax margin",
        "profit_before_tax",
        "revenue",
        "Profit before income tax, as a share of revenue.",
    ),
    _ratio(
        "net_margin",
        "Net margin",
        "profit",
        "revenue",
        "Profit of the year, minority interests included, as a share of revenue.",
    ),
    _ratio(
        "effective_tax_rate",
        "Effective tax rate",
        "income_tax_expense",
        "profit_before_tax",
        "Income tax of the year, as a share of profit before tax.",
    ),
    _ratio(
        "return_on_assets",
        "Return on assets",
        "profit",
        "total_assets",
        "Profit of the year, relative to assets at the end of the year.",
    ),
    _ratio(
        "return_on_equity",
        "Return on equity",
        "profit_attributable",
        "equity_attributable",
        "Profit attributable to owners of the parent, relative to their equity at year end.",
    ),
    Formula(
        "return_on_average_equity",
        "Return on average equity",
        "profit_attributable / mean(equity_attributable, equity_attributable of last year)",
        _sum("2 profit_attributable"),
        _sum("equity_attributable + equity_attributable'"),
        (_sum("equity_attributable"), _sum("equity_attributable'")),
        "equity_attributable > 0 and equity_attributable of last year > 0",
        "Profit attributable to owners of the parent, relative to the mean of their equity at the "
        "beginning and at the end of the year.",
    ),
    _ratio(
        "return_on_capital_employed",
        "Return on capital employed",
        "operating_profit",
        "total_assets - current_liabilities",
        "Operating profit, relative to assets less current liabilities.",
    ),
    _ratio(
        "asset_turnover",
        "Asset turnover",
        "revenue",
        "total_assets",
        "Revenue of the year, relative to assets at the end of the year.",
    ),
    _growth("revenue_growth", "Revenue growth", "revenue", "Change in revenue from last year."),
    _growth(
        "operating_profit_growth",
        "Operating profit growth",
        "operating_profit",
        "Change in operating profit from last year, if that was a profit.",
    ),
    _growth(
        "profit_growth",
        "Profit growth",
        "profit",
        "Change in profit from last year, if that was a profit.",
    ),
    _growth("equity_growth", "Equity growth", "total_equity", "Change in equity from last year."),
    _ratio(
        "current_ratio",
        "Current ratio",
        "current_assets",
        "current_liabilities",
        "Current assets, relative to current liabilities.",
    ),
    _ratio(
        "quick_ratio",
        "Quick ratio",
        "current_assets - inventories",
        "current_liabilities",
        "Current assets without inventories, relative to current liabilities.",
    ),
    _ratio(
        "cash_ratio",
        "Cash ratio",
        "cash",
        "current_liabilities",
        "Cash and cash equivalents, relative to current liabilities.",
    ),
    _ratio(
        "debt_to_equity",
        "Debt to equity",
        "borrowings_current + borrowings_non_current",
        "total_equity",
        "Short-term and long-term borrowings, relative to equity.",
    ),
    _ratio(
        "net_debt_to_ebitda",
        "Net debt to EBITDA",
        "borrowings_current + borrowings_non_current - cash",
        "operating_profit + depreciation_amortisation",
        "Years of EBITDA needed to repay borrowings less cash; negative if there is more cash "
        "than borrowings.",
    ),
    _ratio(
        "liabilities_to_assets",
        "Liabilities to assets",
        "total_liabilities",
        "total_assets",
        "Share of assets financed by liabilities.",
    ),
    _ratio(
        "equity_ratio",
        "Equity ratio",
        "total_equity",
        "total_assets",
        "Share of assets financed by equity.",
    ),
    _ratio(
        "interest_cover",
        "Interest cover",
        "operating_profit",
        "finance_costs",
        "How many times operating profit covers finance costs.",
    ),
    _ratio(
        "operating_cash_margin",
        "Operating cash margin",
        "cfo",
        "revenue",
        "Cash from operating activities, as a share of revenue.",
    ),
    _ratio(
        "free_cash_flow_margin",
        "Free cash flow margin",
        "cfo - capex",
        "revenue",
        "Cash from operating activities less capital expenditure, as a share of revenue.",
    ),
    _ratio(
        "cash_conversion",
        "Cash conversion",
        "cfo",
        "profit",
        "Cash from operating activities, relative to profit.",
    ),
    _ratio(
        "capex_to_revenue",
        "Capital expenditure to revenue",
        "capex",
        "revenue",
        "Spending on property, plant and equipment, as a share of revenue.",
    ),
    _ratio(
        "dividend_payout",
        "Dividend payout",
        "dividends_paid",
        "profit_attributable",
        "Dividends paid in the year, as a share of profit attributable to owners of the parent.",
    ),
    _days(
        "receivable_days",
        "Receivable days",
        "receivables",
        "revenue",
        "Days of revenue outstanding as receivables at the end of the year.",
    ),
    _days(
        "inventory_days",
        "Inventory days",
        "inventories",
        "cost_of_sales",
        "Days of cost of sales held in inventory at the end of the year.",
    ),
)

FORMULA_BY_SLUG: Mapping[str, Formula] = {formula.slug: formula for formula in FORMULAS}
