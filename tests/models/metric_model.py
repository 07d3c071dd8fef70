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


def _of_bank(line: str, of: str) -> Plan:
    """A ratio of a bank: deposits from customers are more than a tenth of its assets."""
    needs = dict.fromkeys((line, of, "loans", "deposits", "total_assets"))
    conditions = dict.fromkeys((of, "loans", "deposits - 0.1 total_assets"))
    return Plan(" ".join(needs), lambda get, _: get(line) / get(of), ", ".join(conditions))


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
    "debt_to_equity": _margin("total_borrowings", "total_equity"),
    "net_debt_to_ebitda": Plan(
        "total_borrowings cash operating_profit depreciation_amortisation",
        lambda get, _: (get("total_borrowings") - get("cash")) / _ebitda(get),
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
    "net_interest_margin": _of_bank("net_interest_income", "total_assets"),
    "cost_to_income": _of_bank("operating_expenses", "total_operating_income"),
    "loans_to_deposits": _of_bank("loans", "deposits"),
    "impairments_to_loans": _of_bank("loan_impairment", "loans"),
    "equity_to_assets": _of_bank("total_equity", "total_assets"),
}


def worked_out(metric: str, get: Get, days: int) -> Decimal | None:
    """Recompute a value with far more digits than needed, then round it to ten."""
    plan = PLANS[metric]
    with localcontext() as exact:
        exact.prec = 400
        for condition in plan.above_zero.split(", "):
            line, _, rest = condition.partition(" ")
            sign, _, addend = rest.partition(" ")
            times, _, other = addend.rpartition(" ")
            more = Decimal(times or 1) * get(other) if other else Decimal(0)
            if get(line) + (-more if sign == "-" else more) <= 0:
                return None
        value = plan.work(get, days)
        exact.prec = 10
        return +value


class Statement(NamedTuple):
    """What one publication says of a figure."""

    publication: str
    day: date
    value: Decimal | None
    measured: tuple[Any, ...]
    contradicted: bool


@dataclass
class Figure:
    """One figure with all that was ever said of it."""

    row: Row
    statements: list[Statement]

    @cached_property
    def vintages(self) -> list[tuple[date, Decimal | None]]:
        """Return the changes of its value."""
        changes: list[tuple[date, Decimal | None]] = []
        for said in self.statements:
            if not changes or changes[-1][1] != said.value:
                changes.append((said.day, said.value))
        return changes

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

    @cached_property
    def usable(self) -> list[Statement]:
        """Return the statements with a value that contradict nothing."""
        return [
            said for said in self.statements if said.value is not None and not said.contradicted
        ]

    def said_by(self, publication: str) -> Statement | None:
        return next((said for said in self.usable if said.publication == publication), None)

    def counts_from(self, said: Statement, current_only: bool) -> date | None:
        """Return since when a statement counts; None if its value is no longer current."""
        if not current_only:
            return said.day
        return max(said.day, self.current_at) if said.value == self.value else None


_KEY = ("service_id", "line_item", "unit", "basis", "period_start", "period_end")


def figures_of(rows: Iterable[Row]) -> list[Figure]:
    """Sort publications by figure, without what only looks like a restatement."""
    candidates: dict[tuple[Any, ...], Figure] = {}
    counted = (row for row in rows if row.get("apparent_restatement") is None)
    for row in sorted(counted, key=lambda row: (row["available_at"], row["publication"])):
        figure = candidates.setdefault(tuple(row[name] for name in _KEY), Figure(row, []))
        measured = row.get("element"), row.get("measuring_unit_date")
        contradicted = row.get("conflicts_with") is not None
        said = (row["publication"], row["available_at"], row["value_reported"])
        figure.statements.append(Statement(*said, measured, contradicted))
    return [item for item in candidates.values() if any(v is not None for _, v in item.vintages)]


def is_year(span: Span | None) -> bool:
    return span is not None and 350 <= (span[1] - span[0]).days + 1 <= 380


@dataclass(frozen=True)
class Option:
    """One way to state a year: its span, its basis and currency, and the figures of a metric."""

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
        ends = [span[1] for span, known in self._years.items() if known <= day]
        if not ends:
            return self._before(day)
        end = max(ends)
        options = self._options(metric, end)
        stated = [option for option in options if self._complete_at(option) is not None]
        stated.sort(key=self._preference)
        ended = [self._ended_at(option) for option in stated]
        if None in ended:
            return self._judged(metric, stated, ended, day)
        if any(self._all_stated(option) for option in options):
            return "inputs_not_comparable", end, None
        return "input_not_reported" if options else self._lacking(metric, end), end, None

    @cached_property
    def _years(self) -> dict[Span, date]:
        """Return every full year and since when it is known to be one."""
        spans = {figure.span for figure in self.figures if figure.span and is_year(figure.span)}
        known = {span: self._known_as_year(span, spans) for span in spans}
        return {span: day for span, day in known.items() if day is not None}

    def _known_as_year(self, span: Span, spans: set[Span]) -> date | None:
        earlier = [other for other in spans if span[0] <= other[1] < span[1]]
        for day in sorted({figure.first_at for figure in self.figures if figure.span == span}):
            here = self._lines_on(span, day)
            if all(self._lines_on(other, day) <= 2 * here for other in earlier):
                return day
        return None

    def _lines_on(self, span: Span, day: date) -> int:
        there = (f for f in self.figures if f.span == span and f.first_at <= day)
        return len({figure.row["line_item"] for figure in there})

    def _lines(self, metric: str, last_year: bool) -> list[str]:
        named = PLANS[metric].needs.split()
        return [item.rstrip("'") for item in named if item.endswith("'") == last_year]

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
        short = any(figure.span is not None for figure in seen)
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
        return candidates

    def _spans(self, end: date) -> list[Span]:
        return sorted(span for span in self._years if span[1] == end)

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

    def _together_at(self, option: Option, current_only: bool) -> date | None:
        """Return the first day on which one publication stated all inputs, or two comparable."""
        publications = {
            said.publication for figure in option.inputs.values() for said in figure.usable
        }
        covered = []
        for publication in publications:
            days = [
                self._said_at(option, name, publication, current_only) for name in option.inputs
            ]
            if None not in days:
                covered.append(max(day for day in days if day is not None))
        return min(covered, default=None)

    def _said_at(
        self, option: Option, name: str, publication: str, current_only: bool
    ) -> date | None:
        figure = option.inputs[name]
        said = figure.said_by(publication)
        if said is not None:
            return figure.counts_from(said, current_only)
        if not name.endswith("'") or (current_only and len(figure.vintages) > 1):
            return None
        this_year = option.inputs[name.rstrip("'")]
        own = this_year.said_by(publication)
        own_day = None if own is None else this_year.counts_from(own, current_only)
        if own is None or own_day is None:
            return None
        comparable = [other.day for other in figure.usable if other.measured == own.measured]
        return max(own_day, min(comparable)) if comparable else None

    def _complete_at(self, option: Option) -> date | None:
        day = self._together_at(option, current_only=False)
        return None if day is None else max(day, self._years[option.span])

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

    def _judged(
        self, metric: str, options: list[Option], ended: list[date | None], day: date
    ) -> Expected:
        position = ended.index(None)
        chosen = options[position]
        end = chosen.span[1]
        days = (chosen.span[1] - chosen.span[0]).days + 1
        values = {name: figure.value for name, figure in chosen.inputs.items()}
        value = worked_out(metric, lambda name: values[name] or Decimal(0), days)
        if value is None:
            return "denominator_not_positive", end, None
        complete, current = self._complete_at(chosen), self._together_at(chosen, current_only=True)
        assert complete is not None and current is not None
        if complete > day:
            return "completed_after_as_of", end, None
        since = min(f.since_at for f in self._spanning(chosen) if f.value is not None)
        before = [item for item in ended[:position] if item is not None]
        if max(current, since, *before, self._years[chosen.span]) > day:
            return "revised_after_as_of", end, None
        return "value", end, value

    def _spanning(self, option: Option) -> list[Figure]:
        return [figure for figure in self.figures if figure.span == option.span]

    def _all_stated(self, option: Option) -> bool:
        """Return whether every input, and the year itself, still has a value."""
        return all(f.value is not None for f in option.inputs.values()) and any(
            figure.value is not None for figure in self._spanning(option)
        )

    def _ended_at(self, option: Option) -> date | None:
        """Return since when nothing states the values of today together; None if it does."""
        withdrawn_at = [
            figure.current_at for figure in option.inputs.values() if figure.value is None
        ]
        spanning = self._spanning(option)
        if all(figure.value is None for figure in spanning):
            withdrawn_at.append(max(figure.current_at for figure in spanning))
        if withdrawn_at:
            return min(withdrawn_at)
        if self._together_at(option, current_only=True) is not None:
            return None
        return max(figure.current_at for figure in option.inputs.values())
