"""What happens in the filings of the issuers: the story of each role.

A story takes the plain filings of an issuer and returns them changed: restated, amended, in another
currency, with a wrong sign and so on. Years are counted back from the issuer's last one, but for
the first story, which the documentation cites. Most issuers restate something, as most real ones
do.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal

from tests.sample_world.filings import (
    Filing,
    ReportedFigures,
    ReportPeriod,
    amendment,
    plain_filings,
    working_day,
    years_ago,
)
from tests.sample_world.organisations import SampleOrganisation, role_of
from tests.sample_world.statements import Figures, regrossed, restated, translated

LONG_VALUE = Decimal("1234567890123456.78")
SHORT_VALUE = Decimal("0.1")
MISSING_LINES = ("cost_of_sales", "gross_profit", "inventories", "finance_costs")

# Ghana's economy counts as hyperinflationary for years that end from this day on.
_HYPERINFLATION = date(2023, 12, 31)
_PRICES = Decimal("1.23")
_CEDI_PER_DOLLAR = Decimal(10)

Story = Callable[[list[Filing]], list[Filing]]


def filings_of(seed: int, company: SampleOrganisation, day: date) -> list[Filing]:
    """Return all filings of an issuer before a day, changed by the stories of its role."""
    filings = plain_filings(seed, company, day)
    for story in STORIES[role_of(company)]:
        filings = story(filings)
    return [filing for filing in filings if filing.filed < day]


def _restate(ago: int, percent: int) -> Story:
    """Return the story of an issuer that restates the comparatives of one report."""

    def story(filings: list[Filing]) -> list[Filing]:
        return _map_year(filings, ago, lambda filing: _restated_before(filing, percent))

    return story


def _restate_2020(filings: list[Filing]) -> list[Filing]:
    return [_restated_before(f, -4) if f.fiscal_year == 2021 else f for f in filings]


def _come_back(filings: list[Filing]) -> list[Filing]:
    (original,) = _of_year(filings, 3)
    before = original.reported[1]
    changed = replace(before, figures=regrossed(before.figures, 7_500_000))
    changed_filings = _map_year(filings, 3, lambda filing: _with_before(filing, changed))
    return [*changed_filings, amendment(original, 91, 120)]


def _amend_without_change(filings: list[Filing]) -> list[Filing]:
    return [*filings, *(amendment(f, 92, 60) for f in _of_year(filings, 3))]


def _change_currency(filings: list[Filing]) -> list[Filing]:
    return [f if years_ago(filings, f) > 3 else _in_dollars(f) for f in filings]


def _translate_for_convenience(filings: list[Filing]) -> list[Filing]:
    return [_with_convenience(filing) for filing in filings]


def _leave_lines_out(filings: list[Filing]) -> list[Filing]:
    return [f if years_ago(filings, f) > 2 else _without(f, MISSING_LINES) for f in filings]


def _need_exact_digits(filings: list[Filing]) -> list[Filing]:
    return _map_year(filings, 0, _with_exact_digits)


def _report_half_years(filings: list[Filing]) -> list[Filing]:
    return [*filings, *(_half_year(filing) for filing in filings)]


def _of_year(filings: list[Filing], ago: int) -> list[Filing]:
    return [filing for filing in filings if years_ago(filings, filing) == ago]


def _map_year(filings: list[Filing], ago: int, change: Callable[[Filing], Filing]) -> list[Filing]:
    return [change(each) if years_ago(filings, each) == ago else each for each in filings]


def _with_before(filing: Filing, before: ReportedFigures) -> Filing:
    return replace(filing, reported=(filing.reported[0], before, *filing.reported[2:]))


def _restated_before(filing: Filing, percent: int) -> Filing:
    own, before, *others = filing.reported
    changed = replace(before, figures=restated(before.figures, percent))
    return replace(filing, reported=(own, changed, *others))


def _in_dollars(filing: Filing) -> Filing:
    return replace(
        filing,
        reported=tuple(
            replace(
                reported, currency="USD", figures=translated(reported.figures, _CEDI_PER_DOLLAR)
            )
            for reported in filing.reported
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
            replace(reported, figures={k: v for k, v in reported.figures.items() if k not in lines})
            for reported in filing.reported
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
    period = ReportPeriod(date(year, 1, 1), date(year, 6, 30))
    filed = working_day(period.end + timedelta(days=60))
    stem = filing.accession[:11]
    return replace(
        filing,
        accession=f"{stem}{filed:%y}-000081",
        form="6-K",
        fiscal_year=None,
        filed=filed,
        accepted=f"{filed}T09:15:00.000Z",
        reported=(ReportedFigures(period, filing.reported[0].currency, figures),),
    )


def _measure_in_later_money(filings: list[Filing]) -> list[Filing]:
    """State comparatives in the purchasing power of the year reported, as IAS 29 asks."""
    return [
        filing if filing.period.end < _HYPERINFLATION else _with_before(filing, _repriced(filing))
        for filing in filings
    ]


def _repriced(filing: Filing) -> ReportedFigures:
    before = filing.reported[1]
    return replace(before, figures=translated(before.figures, 1 / _PRICES))


def _change_element(filings: list[Filing]) -> list[Filing]:
    """State revenue as that from contracts with customers, comparatives included."""
    return [f if years_ago(filings, f) > 2 else _each(f, _from_contracts) for f in filings]


def _from_contracts(figures: Figures) -> Figures:
    others = {name: value for name, value in figures.items() if name != "revenue"}
    contracts = (figures["revenue"] * 97 / 100 / 1000).quantize(Decimal(1)) * 1000
    return {"revenue_from_contracts": contracts} | others


def _state_minorities(filings: list[Filing]) -> list[Filing]:
    return [_each(filing, _with_minorities) for filing in filings]


def _with_minorities(figures: Figures) -> Figures:
    return figures | {
        "profit_minority": figures["profit"] - figures["profit_attributable"],
        "equity_minority": figures["total_equity"] - figures["equity_attributable"],
    }


def _correct_signs(filings: list[Filing]) -> list[Filing]:
    """Print payments in brackets in one report; the next one states them right."""
    return _map_year(filings, 4, lambda f: _turned(f, 0, ("capex", "dividends_paid")))


def _turn_a_sign(filings: list[Filing]) -> list[Filing]:
    """Turn a payment of the year before to the wrong sign."""
    return _map_year(filings, 2, lambda f: _turned(f, 1, ("capex",)))


def _turned(filing: Filing, position: int, lines: Iterable[str]) -> Filing:
    reported = list(filing.reported)
    figures = reported[position].figures
    turned = figures | {name: -figures[name] for name in lines}
    reported[position] = replace(reported[position], figures=turned)
    return replace(filing, reported=tuple(reported))


def _contradict(filings: list[Filing]) -> list[Filing]:
    """State assets in the last report that are not its liabilities and equity."""
    return _map_year(filings, 0, _with_other_assets)


def _with_other_assets(filing: Filing) -> Filing:
    own, *others = filing.reported
    assets = own.figures["total_assets"] * 3
    return replace(
        filing,
        reported=(replace(own, figures=own.figures | {"total_assets": assets}), *others),
    )


def _pay_dividends_in_dollars(filings: list[Filing]) -> list[Filing]:
    return [f if years_ago(filings, f) > 1 else _with_dollar_dividends(f) for f in filings]


def _with_dollar_dividends(filing: Filing) -> Filing:
    own, *others = filing.reported
    paid = {"dividends_paid": own.figures["dividends_paid"]}
    rest = {name: value for name, value in own.figures.items() if name not in paid}
    dollars = ReportedFigures(own.period, "USD", translated(paid, Decimal(45)))
    return replace(filing, reported=(replace(own, figures=rest), *others, dollars))


def _owe_more_than_owned(filings: list[Filing]) -> list[Filing]:
    """Buy back shares on credit in the last year, until the equity is negative."""
    return _map_year(filings, 0, _without_equity)


def _without_equity(filing: Filing) -> Filing:
    own, *others = filing.reported
    bought = own.figures["total_equity"] * 12 // 10
    owed = {"total_liabilities": bought, "borrowings_non_current": bought}
    owed |= {"total_equity": -bought, "equity_attributable": -bought}
    changed = {name: own.figures[name] + change for name, change in owed.items()}
    return replace(filing, reported=(replace(own, figures=own.figures | changed), *others))


def _each(filing: Filing, change: Callable[[Figures], Figures]) -> Filing:
    return replace(
        filing,
        reported=tuple(
            replace(reported, figures=change(reported.figures)) for reported in filing.reported
        ),
    )


STORIES: dict[int, tuple[Story, ...]] = {
    0: (_restate_2020,),
    1: (_restate(1, 3), _come_back),
    2: (_restate(1, -2), _amend_without_change),
    3: (_restate(2, 5),),
    4: (_restate(1, -3), _owe_more_than_owned),
    5: (_restate(1, 2), _change_currency),
    6: (_restate(2, -5), _translate_for_convenience),
    7: (_restate(4, 6), _leave_lines_out),
    8: (_restate(2, 4), _need_exact_digits, _pay_dividends_in_dollars),
    9: (_restate(1, -6), _amend_without_change),
    10: (_change_element,),
    11: (_restate(1, 4), _report_half_years),
    12: (),
    13: (),
    14: (_measure_in_later_money,),
    15: (_state_minorities, _restate(1, -2), _correct_signs),
    16: (_restate(0, 3),),
    17: (_restate(3, -3), _turn_a_sign, _contradict),
}
