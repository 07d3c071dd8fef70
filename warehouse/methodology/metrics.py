"""The formulas of metrics-v1, as one table of data.

Each value is one division of two sums of reported figures, so that it is rounded once. What
the rules of ``as_of`` are stands in ``metric_pages``; this module knows no table.
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
    "denominator_not_positive",
    "mixed_currency",
    "short_period",
]

METRIC_SET = "metrics-v1"
# A full year has so many days, first and last included.
SHORTEST_YEAR, LONGEST_YEAR = 350, 380
METRIC_DIGITS = 10
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
        """Name it in words."""
        return f"{self.line_item} of last year" if self.last_year else self.line_item


Sum = tuple[tuple[int, Input], ...]


@dataclass(frozen=True)
class Formula:
    """One metric: ``numerator / denominator``, times the days of the year where it says so.

    Every sum of ``positive`` must be above zero. ``shown`` is the formula as it is read; the two
    sums are the same, brought to one division.
    """

    slug: str
    title: str
    shown: str
    numerator: Sum
    denominator: Sum
    positive: tuple[Sum, ...]
    condition: str
    words: str
    unit: MetricUnit = "ratio"

    @property
    def inputs(self) -> tuple[Input, ...]:
        """Give each figure it needs, once, those of this year first."""
        needed = dict.fromkeys(each for _, each in (*self.numerator, *self.denominator))
        return tuple(sorted(needed, key=lambda each: each.last_year))

    @property
    def methodology_ref(self) -> str:
        """Name the page of this formula."""
        return f"{METRIC_SET}/{self.slug}"

    def total(self, terms: Sum, given: Sequence[Any]) -> Any:
        """Add up what a sum names of the inputs in their order: whole numbers, or columns."""
        return sum(weight * given[self._places[needed]] for weight, needed in terms)

    def value(self, given: Sequence[int], days: int) -> Decimal | None:
        """Work it out from its inputs, in their order; None where the condition is not met."""
        if any(self.total(each, given) <= 0 for each in self.positive):
            return None
        times = days if self.unit == "days" else 1
        return divide(
            self.total(self.numerator, given) * times, self.total(self.denominator, given)
        )

    @cached_property
    def _places(self) -> Mapping[Input, int]:
        return {needed: place for place, needed in enumerate(self.inputs)}


def divide(over: int, under: int) -> Decimal:
    """Divide with ten significant digits, half even, rounded once.

    Both are whole multiples of one small unit; which one does not matter, it cancels.
    """
    return _TEN_DIGITS.divide(Decimal(over), Decimal(under))


def _sum(text: str) -> Sum:
    """Read ``cfo - capex`` or ``2 profit``; ``equity'`` is that of last year."""
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


def _ratio(slug: str, title: str, over: str, under: str, words: str) -> Formula:
    shown = f"{_bracketed(over)} / {_bracketed(under)}"
    below = _sum(under)
    return Formula(slug, title, shown, _sum(over), below, (below,), f"{under} > 0", words)


def _days(slug: str, title: str, over: str, under: str, words: str) -> Formula:
    shown, below = f"{over} / {under} × days of the year", _sum(under)
    return Formula(slug, title, shown, _sum(over), below, (below,), f"{under} > 0", words, "days")


def _growth(slug: str, title: str, item: str, words: str) -> Formula:
    over, under = _sum(f"{item} - {item}'"), _sum(f"{item}'")
    shown = f"{item} / {item} of last year - 1"
    return Formula(slug, title, shown, over, under, (under,), f"{item} of last year > 0", words)


def _bracketed(text: str) -> str:
    return f"({text})" if " " in text else text


FORMULAS: tuple[Formula, ...] = (
    _ratio(
        "gross_margin",
        "Gross margin",
        "gross_profit",
        "revenue",
        "What is left of each unit of revenue after the cost of sales.",
    ),
    _ratio(
        "operating_margin",
        "Operating margin",
        "operating_profit",
        "revenue",
        "What is left of each unit of revenue after all operating costs.",
    ),
    _ratio(
        "ebitda_margin",
        "EBITDA margin",
        "operating_profit + depreciation_amortisation",
        "revenue",
        "Operating profit before depreciation and amortisation, per unit of revenue.",
    ),
    _ratio(
        "pretax_margin",
        "Pre-tax margin",
        "profit_before_tax",
        "revenue",
        "Profit before income tax, per unit of revenue.",
    ),
    _ratio(
        "net_margin",
        "Net margin",
        "profit",
        "revenue",
        "Profit of the year, minorities included, per unit of revenue.",
    ),
    _ratio(
        "effective_tax_rate",
        "Effective tax rate",
        "income_tax_expense",
        "profit_before_tax",
        "Income tax of the year as a share of the profit it is levied on.",
    ),
    _ratio(
        "return_on_assets",
        "Return on assets",
        "profit",
        "total_assets",
        "Profit of the year per unit of assets at its end.",
    ),
    _ratio(
        "return_on_equity",
        "Return on equity",
        "profit_attributable",
        "equity_attributable",
        "Profit of the owners of the parent per unit of their equity at the year's end.",
    ),
    Formula(
        "return_on_average_equity",
        "Return on average equity",
        "profit_attributable / mean(equity_attributable, equity_attributable of last year)",
        _sum("2 profit_attributable"),
        _sum("equity_attributable + equity_attributable'"),
        (_sum("equity_attributable"), _sum("equity_attributable'")),
        "equity_attributable > 0 and equity_attributable of last year > 0",
        "Profit of the owners of the parent per unit of their equity, the mean of its balances "
        "at the beginning and at the end of the year.",
    ),
    _ratio(
        "return_on_capital_employed",
        "Return on capital employed",
        "operating_profit",
        "total_assets - current_liabilities",
        "Operating profit per unit of the capital that is tied up for longer than a year.",
    ),
    _ratio(
        "asset_turnover",
        "Asset turnover",
        "revenue",
        "total_assets",
        "Revenue of the year per unit of assets at its end.",
    ),
    _growth("revenue_growth", "Revenue growth", "revenue", "Change of revenue in a year."),
    _growth(
        "operating_profit_growth",
        "Operating profit growth",
        "operating_profit",
        "Change of operating profit in a year, from a profit.",
    ),
    _growth("profit_growth", "Profit growth", "profit", "Change of profit in a year."),
    _growth("equity_growth", "Equity growth", "total_equity", "Change of equity in a year."),
    _ratio(
        "current_ratio",
        "Current ratio",
        "current_assets",
        "current_liabilities",
        "What turns into cash within a year, per unit of what falls due within it.",
    ),
    _ratio(
        "quick_ratio",
        "Quick ratio",
        "current_assets - inventories",
        "current_liabilities",
        "Current assets without inventories, per unit of what falls due within a year.",
    ),
    _ratio(
        "cash_ratio",
        "Cash ratio",
        "cash",
        "current_liabilities",
        "Cash and its equivalents, per unit of what falls due within a year.",
    ),
    _ratio(
        "debt_to_equity",
        "Debt to equity",
        "borrowings_current + borrowings_non_current",
        "total_equity",
        "Borrowings, short and long, per unit of equity.",
    ),
    _ratio(
        "net_debt_to_ebitda",
        "Net debt to EBITDA",
        "borrowings_current + borrowings_non_current - cash",
        "operating_profit + depreciation_amortisation",
        "Years of operating profit before depreciation that would pay the borrowings less cash; "
        "below zero where there is more cash than borrowings.",
    ),
    _ratio(
        "liabilities_to_assets",
        "Liabilities to assets",
        "total_liabilities",
        "total_assets",
        "The share of the assets that others have financed.",
    ),
    _ratio(
        "equity_ratio",
        "Equity ratio",
        "total_equity",
        "total_assets",
        "The share of the assets that the owners have financed.",
    ),
    _ratio(
        "interest_cover",
        "Interest cover",
        "operating_profit",
        "finance_costs",
        "How many times operating profit pays the finance costs.",
    ),
    _ratio(
        "operating_cash_margin",
        "Operating cash margin",
        "cfo",
        "revenue",
        "Cash from operating activities per unit of revenue.",
    ),
    _ratio(
        "free_cash_flow_margin",
        "Free cash flow margin",
        "cfo - capex",
        "revenue",
        "Cash from operating activities after capital expenditure, per unit of revenue.",
    ),
    _ratio(
        "cash_conversion",
        "Cash conversion",
        "cfo",
        "profit",
        "Cash from operating activities per unit of profit.",
    ),
    _ratio(
        "capex_to_revenue",
        "Capital expenditure to revenue",
        "capex",
        "revenue",
        "What is spent on property, plant and equipment, per unit of revenue.",
    ),
    _ratio(
        "dividend_payout",
        "Dividend payout",
        "dividends_paid",
        "profit_attributable",
        "Dividends paid in the year, per unit of the profit of the owners of the parent.",
    ),
    _days(
        "receivable_days",
        "Receivable days",
        "receivables",
        "revenue",
        "Days of revenue that customers owe at the end of the year.",
    ),
    _days(
        "inventory_days",
        "Inventory days",
        "inventories",
        "cost_of_sales",
        "Days of sales, at cost, that lie in stock at the end of the year.",
    ),
)

FORMULA_BY_SLUG: Mapping[str, Formula] = {formula.slug: formula for formula in FORMULAS}
