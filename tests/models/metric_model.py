"""A second reading of metrics-v1, day by day and figure by figure, to compare with.

Written from the contract alone: it shares no table, no formula and no statement with the code.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal, localcontext
from functools import cached_property
from typing import Any, NamedTuple

Get = Callable[[str], Decimal]
Row = dict[str, Any]
Span = tuple[date, date]
Expected = tuple[str, date | None, Decimal | None]


class Plan(NamedTuple):
    """The line items a metric needs; a trailing ``'`` means last year's."""

    needs: str
    work: Callable[[Get, int], Decimal]
    above_zero: str


def _margin(line: str, of: str = "revenue") -> Plan:
    return Plan(f"{line} {of}", lambda get, _: get(line) / get(of), of)


def _growth(line: str) -> Plan:
    return Plan(f"{line} {line}'", lambda get, _: get(line) / get(f"{line}'") - 1, f"{line}'")


def _ebitda(get: Get) -> Decimal:
    return get("operating_profit") + get("depreciation_amortisation")


def _debt(get: Get) -> Decimal:
    return get("borrowings_current") + get("borrowings_non_current")


_EQUITY = "equity_attributable"
_EMPLOYED = "total_assets - current_liabilities"
_EBITDA = "operating_profit + depreciation_amortisation"

PLANS: Mapping[str, Plan] = {
    "gross_margin": _margin("gross_profit"),
    "operating_margin": _margin("operating_profit"),
    "ebitda_margin": Plan(
        "operating_profit depreciation_amortisation revenue",
        lambda get, _: _ebitda(get) / get("revenue"),
        "revenue",
    ),
    "pretax_margin": _margin("profit_before_tax"),
    "net_margin": _margin("profit"),
    "effective_tax_rate": _margin("income_tax_expense", "profit_before_tax"),
    "return_on_assets": _margin("profit", "total_assets"),
    "return_on_equity": _margin("profit_attributable", _EQUITY),
    "return_on_average_equity": Plan(
        f"profit_attributable {_EQUITY} {_EQUITY}'",
        lambda get, _: get("profit_attributable") / ((get(_EQUITY) + get(f"{_EQUITY}'")) / 2),
        f"{_EQUITY}, {_EQUITY}'",
    ),
    "return_on_capital_employed": Plan(
        "operating_profit total_assets current_liabilities",
        lambda get, _: get("operating_profit") / (get("total_assets") - get("current_liabilities")),
        _EMPLOYED,
    ),
    "asset_turnover": _margin("revenue", "total_assets"),
    "revenue_growth": _growth("revenue"),
    "operating_profit_growth": _growth("operating_profit"),
    "profit_growth": _growth("profit"),
    "equity_growth": _growth("total_equity"),
    "current_ratio": _margin("current_assets", "current_liabilities"),
    "quick_ratio": Plan(
        "current_assets inventories current_liabilities",
        lambda get, _: (get("current_assets") - get("inventories")) / get("current_liabilities"),
        "current_liabilities",
    ),
    "cash_ratio": _margin("cash", "current_liabilities"),
    "debt_to_equity": Plan(
        "borrowings_current borrowings_non_current total_equity",
        lambda get, _: _debt(get) / get("total_equity"),
        "total_equity",
    ),
    "net_debt_to_ebitda": Plan(
        "borrowings_current borrowings_non_current cash operating_profit depreciation_amortisation",
        lambda get, _: (_debt(get) - get("cash")) / _ebitda(get),
        _EBITDA,
    ),
    "liabilities_to_assets": _margin("total_liabilities", "total_assets"),
    "equity_ratio": _margin("total_equity", "total_assets"),
    "interest_cover": _margin("operating_profit", "finance_costs"),
    "operating_cash_margin": _margin("cfo"),
    "free_cash_flow_margin": Plan(
        "cfo capex revenue",
        lambda get, _: (get("cfo") - get("capex")) / get("revenue"),
        "revenue",
    ),
    "cash_conversion": _margin("cfo", "profit"),
    "capex_to_revenue": _margin("capex"),
    "dividend_payout": _margin("dividends_paid", "profit_attributable"),
    "receivable_days": Plan(
        "receivables revenue",
        lambda get, days: get("receivables") / get("revenue") * days,
        "revenue",
    ),
    "inventory_days": Plan(
        "inventories cost_of_sales",
        lambda get, days: get("inventories") * days / get("cost_of_sales"),
        "cost_of_sales",
    ),
}


def worked_out(metric: str, get: Get, days: int) -> Decimal | None:
    """Recompute a value with far more digits than needed, then round it to ten."""
    plan = PLANS[metric]
    with localcontext() as exact:
        exact.prec = 400
        for condition in plan.above_zero.split(", "):
            line, _, rest = condition.partition(" ")
            sign, _, other = rest.partition(" ")
            more = get(other) if other else Decimal(0)
            if get(line) + (-more if sign == "-" else more) <= 0:
                return None
        value = plan.work(get, days)
        exact.prec = 10
        return +value


@dataclass
class Figure:
    """One figure with all its vintages."""

    row: Row
    vintages: list[tuple[date, Decimal | None]]

    @cached_property
    def first_at(self) -> date:
        return min(day for day, value in self.vintages if value is not None)

    @cached_property
    def current_at(self) -> date:
        return self.vintages[-1][0]

    @cached_property
    def value(self) -> Decimal | None:
        return self.vintages[-1][1]

    @cached_property
    def since_at(self) -> date:
        """Return the day since which it has a value without a break."""
        days: list[date] = []
        for day, value in self.vintages:
            days = [] if value is None else [*days, day]
        return days[0]

    @cached_property
    def is_used(self) -> bool:
        """Return whether any metric needs this line."""
        return any(self.row["line_item"] in plan.needs.split() for plan in PLANS.values())

    @cached_property
    def span(self) -> Span | None:
        start = self.row["period_start"]
        return None if start is None else (start, self.row["period_end"])


_KEY = ("service_id", "line_item", "unit", "basis", "period_start", "period_end")


def figures_of(rows: Iterable[Row]) -> list[Figure]:
    """Sort publications and merge repetitions."""
    candidates: dict[tuple[Any, ...], Figure] = {}
    for row in sorted(rows, key=lambda row: (row["available_at"], row["publication"])):
        figure = candidates.setdefault(tuple(row[name] for name in _KEY), Figure(row, []))
        if not figure.vintages or figure.vintages[-1][1] != row["value_reported"]:
            figure.vintages.append((row["available_at"], row["value_reported"]))
    return [item for item in candidates.values() if any(v is not None for _, v in item.vintages)]


def is_year(span: Span | None) -> bool:
    return span is not None and 350 <= (span[1] - span[0]).days + 1 <= 380


@dataclass(frozen=True)
class Option:
    """One statement of a year: its span, its basis and currency, and the figures of a metric."""

    span: Span
    basis: str
    currency: str
    inputs: Mapping[str, Figure]


@dataclass
class Issuer:
    """All figures of one issuer; answers for one metric on one day."""

    figures: list[Figure]

    def answer(self, metric: str, day: date) -> Expected | None:
        """Return (reason or ``value``, year end, value); None if nothing is published yet."""
        ends = [end for end in self._ends() if self._published(metric, end, day)]
        if not ends:
            return self._before(day)
        end = max(ends)
        options = self._options(metric, end)
        if not options:
            return self._lacking(metric, end), end, None
        return self._judged(metric, end, options, day)

    def _ends(self) -> set[date]:
        return {figure.row["period_end"] for figure in self.figures if is_year(figure.span)}

    def _lines(self, metric: str, last_year: bool) -> list[str]:
        named = PLANS[metric].needs.split()
        return [item.rstrip("'") for item in named if item.endswith("'") == last_year]

    def _published(self, metric: str, end: date, day: date) -> bool:
        lines = self._lines(metric, False)
        return any(
            figure.row["line_item"] in lines and figure.first_at <= day for figure in self._at(end)
        )

    def _at(self, end: date) -> list[Figure]:
        """Return the flows of the year that ends then, and its balances."""
        return [
            figure
            for figure in self.figures
            if figure.row["period_end"] == end and (figure.span is None or is_year(figure.span))
        ]

    def _before(self, day: date) -> Expected | None:
        seen = [figure for figure in self.figures if figure.first_at <= day]
        if not seen:
            return None
        flows = [figure.span for figure in seen if figure.span is not None]
        short = bool(flows) and not any(map(is_year, flows))
        return "short_period" if short else "input_not_reported", None, None

    def _options(self, metric: str, end: date) -> list[Option]:
        candidates = []
        for span in self._spans(end):
            for basis, currency in {(f.row["basis"], f.row["unit"]) for f in self.figures}:
                inputs = {}
                for name in PLANS[metric].needs.split():
                    figure = self._input(name, span, basis, currency)
                    if figure is not None:
                        inputs[name] = figure
                if len(inputs) == len(PLANS[metric].needs.split()):
                    candidates.append(Option(span, basis, currency, inputs))
        return sorted(candidates, key=self._preference)

    def _spans(self, end: date) -> set[Span]:
        spans = {figure.span for figure in self._at(end) if figure.span is not None}
        return {span for span in spans if is_year(span)}

    def _input(self, name: str, span: Span, basis: str, currency: str | None) -> Figure | None:
        """Find a figure of this year or of last year, in one currency or in any."""
        last = name.endswith("'")
        end = span[0] - timedelta(days=1) if last else span[1]
        candidates = [
            figure
            for figure in self._at(end)
            if figure.row["line_item"] == name.rstrip("'")
            and figure.row["basis"] == basis
            and currency in (None, figure.row["unit"])
            and (last or figure.span in (None, span))
        ]
        order = [(figure.first_at, figure.row["period_start"] or date.min) for figure in candidates]
        return candidates[order.index(min(order))] if candidates else None

    def _known_at(self, span: Span) -> date:
        return min(figure.first_at for figure in self.figures if figure.span == span)

    def _complete_at(self, option: Option) -> date:
        firsts = [figure.first_at for figure in option.inputs.values()]
        return max(*firsts, self._known_at(option.span))

    def _preference(self, option: Option) -> tuple[Any, ...]:
        """Consolidated, complete first, most figures on the first day, most used currency."""
        year = [figure for figure in self._at(option.span[1]) if figure.is_used]
        first_day = min(figure.first_at for figure in year)
        of_it = [
            figure
            for figure in year
            if figure.first_at == first_day
            and figure.span in (None, option.span)
            and (figure.row["basis"], figure.row["unit"]) == (option.basis, option.currency)
        ]
        used = [
            figure
            for figure in self.figures
            if figure.is_used
            and figure.first_at <= first_day
            and figure.row["unit"] == option.currency
        ]
        consolidated = option.basis.startswith("consolidated")
        settled = (not consolidated, self._complete_at(option), -len(of_it), -len(used))
        return (*settled, option.span[0], option.currency, option.basis)

    def _lacking(self, metric: str, end: date) -> str:
        for span in self._spans(end):
            for basis in {figure.row["basis"] for figure in self.figures}:
                candidates = [
                    self._input(n, span, basis, None) for n in PLANS[metric].needs.split()
                ]
                if None not in candidates:
                    return "mixed_currency"
        return "short_period" if self._after_a_short_one(metric, end) else "input_not_reported"

    def _after_a_short_one(self, metric: str, end: date) -> bool:
        for span in self._spans(end):
            for figure in self.figures:
                row = figure.row
                line, book = row["line_item"], (row["basis"], row["unit"])
                if (
                    figure.span is not None
                    and not is_year(figure.span)
                    and row["period_end"] == span[0] - timedelta(days=1)
                    and line in self._lines(metric, True)
                    and self._input(line, span, *book) is not None
                ):
                    return True
        return False

    def _judged(self, metric: str, end: date, options: list[Option], day: date) -> Expected:
        ended = [self._ended_at(option) for option in options]
        if None not in ended:
            return "input_not_reported", end, None
        position = ended.index(None)
        chosen = options[position]
        days = (chosen.span[1] - chosen.span[0]).days + 1
        values = {name: figure.value for name, figure in chosen.inputs.items()}
        value = worked_out(metric, lambda name: values[name] or Decimal(0), days)
        if value is None:
            return "denominator_not_positive", end, None
        if self._complete_at(chosen) > day:
            return "completed_after_as_of", end, None
        current = [figure.current_at for figure in chosen.inputs.values()]
        stands = min(f.since_at for f in self._spanning(chosen) if f.value is not None)
        before = [item for item in ended[:position] if item is not None]
        if max(*current, stands, *before) > day:
            return "revised_after_as_of", end, None
        return "value", end, value

    def _spanning(self, option: Option) -> list[Figure]:
        return [figure for figure in self.figures if figure.span == option.span]

    def _ended_at(self, option: Option) -> date | None:
        """Return the day on which part of a statement was withdrawn; None if it stands."""
        withdrawn_at = [
            figure.current_at for figure in option.inputs.values() if figure.value is None
        ]
        spanning = self._spanning(option)
        if all(figure.value is None for figure in spanning):
            withdrawn_at.append(max(figure.current_at for figure in spanning))
        return min(withdrawn_at) if withdrawn_at else None
