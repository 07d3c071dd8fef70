"""What happens to the reports of an issuer, by the story it plays.

Each twist takes the plain filings of an issuer and gives them back changed.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal

from assets.sample.filings import Filing, Period, Reported, amendment, working_day
from assets.sample.statements import regrossed, restated, translated

Twist = Callable[[list[Filing]], list[Filing]]

LONG_VALUE = Decimal("1234567890123456.78")
SHORT_VALUE = Decimal("0.1")
MISSING_LINES = ("cost_of_sales", "gross_profit", "inventories", "finance_costs")

_CEDI_A_DOLLAR = Decimal(10)


def _restate(filings: list[Filing]) -> list[Filing]:
    return _map_year(filings, 2021, lambda filing: _with_before(filing, _restated_before(filing)))


def _come_back(filings: list[Filing]) -> list[Filing]:
    (original,) = [filing for filing in filings if filing.fiscal_year == 2022]
    before = original.reported[1]
    changed = replace(before, figures=regrossed(before.figures, 7_500_000))
    twisted = _map_year(filings, 2022, lambda filing: _with_before(filing, changed))
    return [*twisted, amendment(original, 91, 120)]


def _amend_without_change(filings: list[Filing]) -> list[Filing]:
    return [*filings, *(amendment(f, 92, 60) for f in filings if f.fiscal_year == 2022)]


def _change_currency(filings: list[Filing]) -> list[Filing]:
    return [f if (f.fiscal_year or 0) < 2022 else _in_dollars(f) for f in filings]


def _translate_for_convenience(filings: list[Filing]) -> list[Filing]:
    return [_with_convenience(filing) for filing in filings]


def _leave_lines_out(filings: list[Filing]) -> list[Filing]:
    return [f if (f.fiscal_year or 0) < 2023 else _without(f, MISSING_LINES) for f in filings]


def _need_exact_digits(filings: list[Filing]) -> list[Filing]:
    return _map_year(filings, 2025, _with_exact_digits)


def _report_half_years(filings: list[Filing]) -> list[Filing]:
    return [*filings, *(_half_year(filing) for filing in filings if filing.fiscal_year != 2025)]


TWISTS: dict[int, Twist] = {
    0: _restate,
    1: _come_back,
    2: _amend_without_change,
    5: _change_currency,
    6: _translate_for_convenience,
    7: _leave_lines_out,
    8: _need_exact_digits,
    9: _amend_without_change,
    11: _report_half_years,
}


def _map_year(filings: list[Filing], year: int, change: Callable[[Filing], Filing]) -> list[Filing]:
    return [change(filing) if filing.fiscal_year == year else filing for filing in filings]


def _with_before(filing: Filing, before: Reported) -> Filing:
    return replace(filing, reported=(filing.reported[0], before))


def _restated_before(filing: Filing) -> Reported:
    before = filing.reported[1]
    return replace(before, figures=restated(before.figures, -4))


def _in_dollars(filing: Filing) -> Filing:
    return replace(
        filing,
        reported=tuple(
            replace(each, currency="USD", figures=translated(each.figures, _CEDI_A_DOLLAR))
            for each in filing.reported
        ),
    )


def _with_convenience(filing: Filing) -> Filing:
    own = filing.reported[0]
    rate = Decimal(14) + Decimal(filing.period.end.year - 2017) / 2
    dollars = replace(own, currency="USD", figures=translated(own.figures, rate))
    return replace(filing, reported=(*filing.reported, dollars))


def _without(filing: Filing, lines: tuple[str, ...]) -> Filing:
    return replace(
        filing,
        reported=tuple(
            replace(each, figures={k: v for k, v in each.figures.items() if k not in lines})
            for each in filing.reported
        ),
    )


def _with_exact_digits(filing: Filing) -> Filing:
    own, before = filing.reported
    equity = LONG_VALUE - own.figures["total_liabilities"]
    exact = {
        "total_assets": LONG_VALUE,
        "total_equity": equity,
        "equity_attributable": equity,
        "eps_diluted": SHORT_VALUE,
    }
    return replace(filing, reported=(replace(own, figures=own.figures | exact), before))


def _half_year(filing: Filing) -> Filing:
    year = filing.period.end.year + 1
    half = {"revenue", "cost_of_sales", "gross_profit", "profit"}
    figures = {k: v // 2000 * 1000 for k, v in filing.reported[0].figures.items() if k in half}
    figures["gross_profit"] = figures["revenue"] - figures["cost_of_sales"]
    period = Period(date(year, 1, 1), date(year, 6, 30))
    filed = working_day(period.end + timedelta(days=60))
    stem = filing.accession[:11]
    return replace(
        filing,
        accession=f"{stem}{filed:%y}-000081",
        form="6-K",
        fiscal_year=None,
        filed=filed,
        accepted=f"{filed}T09:15:00.000Z",
        reported=(Reported(period, filing.reported[0].currency, figures),),
    )
