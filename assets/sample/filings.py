"""The reports of an issuer: periods, forms, dates and figures, and the story it plays.

``plain_filings`` makes one annual report a year. Nine of the twelve roles have a story, which
takes the plain filings and returns them changed: restated, amended, in another currency and so on.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date, timedelta
from decimal import Decimal
from itertools import pairwise

from assets.sample.organisations import ISSUERS_PER_SCALE, SampleOrganisation
from assets.sample.statements import Figures, regrossed, restated, statement, translated
from assets.sample.writer import generator

FIRST_YEAR, LAST_YEAR = 2018, 2025

LONG_VALUE = Decimal("1234567890123456.78")
SHORT_VALUE = Decimal("0.1")
MISSING_LINES = ("cost_of_sales", "gross_profit", "inventories", "finance_costs")

_CEDI_PER_DOLLAR = Decimal(10)
_JUNE_ROLES = (0, 6, 10)
_US_GAAP_ROLE = 9
_CHANGED_YEAR_ROLE = 4


@dataclass(frozen=True)
class ReportPeriod:
    """A reported period, from its first to its last day."""

    start: date
    end: date


@dataclass(frozen=True)
class ReportedFigures:
    """The figures of one period in one currency, as one filing shows them."""

    period: ReportPeriod
    currency: str
    figures: Figures


@dataclass(frozen=True)
class Filing:
    """One filing; its own period is the first reported, its comparative the second."""

    accession: str
    form: str
    fiscal_year: int | None
    filed: date
    accepted: str
    reported: tuple[ReportedFigures, ...]
    shares: int

    @property
    def period(self) -> ReportPeriod:
        """The period the filing is about."""
        return self.reported[0].period


def role_of(company: SampleOrganisation) -> int:
    """Return the role of an issuer, 0 to 11; it decides which story the issuer plays."""
    return company.serial % ISSUERS_PER_SCALE


def taxonomy_of(company: SampleOrganisation) -> str:
    """Return the taxonomy an issuer reports in."""
    return "us-gaap" if role_of(company) == _US_GAAP_ROLE else "ifrs-full"


def plain_filings(seed: int, company: SampleOrganisation) -> list[Filing]:
    """Return one annual report a year, oldest first; every report repeats the year before."""
    reports = _reports(seed, company)
    annual = "10-K" if taxonomy_of(company) == "us-gaap" else "20-F"
    shares = 50_000_000 + 1_000_000 * (company.serial % 97)
    return [
        _filing(company, number, annual, (this, before), shares)
        for number, (before, this) in enumerate(pairwise(reports), 1)
    ]


def amendment(filing: Filing, number: int, days: int) -> Filing:
    """Return the same report filed again some days later, as an amendment (``/A``)."""
    filed = working_day(filing.filed + timedelta(days=days))
    # An accession has the filer, the year and a number: the year of the amendment may be the next.
    stem, _ = filing.accession.rsplit("-", 1)
    return replace(
        filing,
        accession=f"{stem[:-2]}{filed:%y}-{number:06d}",
        form=f"{filing.form}/A",
        filed=filed,
        accepted=f"{filed}T16:31:09.000Z",
    )


def working_day(day: date) -> date:
    """Return the day itself, or the Monday after a weekend."""
    return day + timedelta(days=max(0, 7 - day.weekday()) if day.weekday() > 4 else 0)


def _reports(seed: int, company: SampleOrganisation) -> list[ReportedFigures]:
    rng = generator(seed, "filings", company.serial)
    revenue = rng.randrange(400_000, 4_000_000) * 1000
    currency = "USD" if taxonomy_of(company) == "us-gaap" else company.country.currency
    shares = 50_000_000 + 1_000_000 * (company.serial % 97)
    reports = []
    for period in _periods(role_of(company)):
        # In whole thousands, as reports are.
        revenue = revenue * rng.randrange(970, 1180) // 1000 // 1000 * 1000
        # A transition period of half a year earns half the revenue.
        earned = revenue // 2000 * 1000 if (period.end - period.start).days < 200 else revenue
        reports.append(ReportedFigures(period, currency, statement(rng, earned, shares)))
    return reports


def _periods(role: int) -> list[ReportPeriod]:
    years = range(FIRST_YEAR - 1, LAST_YEAR + 1)
    calendar = [ReportPeriod(date(year, 1, 1), date(year, 12, 31)) for year in years]
    to_june = [ReportPeriod(date(year - 1, 7, 1), date(year, 6, 30)) for year in years]
    if role in _JUNE_ROLES:
        return to_june
    if role == _CHANGED_YEAR_ROLE:
        transition = ReportPeriod(date(2022, 1, 1), date(2022, 6, 30))
        return [*calendar[:5], transition, *to_june[6:]]
    return calendar


def _filing(
    company: SampleOrganisation,
    number: int,
    form: str,
    reported: tuple[ReportedFigures, ...],
    shares: int,
) -> Filing:
    end = reported[0].period.end
    filed = working_day(end + timedelta(days=95 + company.serial % 20))
    # Every fourth report is accepted after closing hours and dated the next working day.
    late = number % 4 == 0
    accepted = filed - timedelta(days=3 if filed.weekday() == 0 else 1) if late else filed
    return Filing(
        accession=f"{9_900_001 + company.serial:010d}-{filed:%y}-{number:06d}",
        form=form,
        fiscal_year=end.year,
        filed=filed,
        accepted=f"{accepted}T{'17:45:10' if late else '11:02:33'}.000Z",
        reported=reported,
        shares=shares + 250_000 * number,
    )


Story = Callable[[list[Filing]], list[Filing]]


def _restate(filings: list[Filing]) -> list[Filing]:
    return _map_year(filings, 2021, lambda filing: _with_before(filing, _restated_before(filing)))


def _come_back(filings: list[Filing]) -> list[Filing]:
    (original,) = [filing for filing in filings if filing.fiscal_year == 2022]
    before = original.reported[1]
    changed = replace(before, figures=regrossed(before.figures, 7_500_000))
    changed_filings = _map_year(filings, 2022, lambda filing: _with_before(filing, changed))
    return [*changed_filings, amendment(original, 91, 120)]


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


STORIES: dict[int, Story] = {
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


def _with_before(filing: Filing, before: ReportedFigures) -> Filing:
    return replace(filing, reported=(filing.reported[0], before))


def _restated_before(filing: Filing) -> ReportedFigures:
    before = filing.reported[1]
    return replace(before, figures=restated(before.figures, -4))


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
