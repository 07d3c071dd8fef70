"""The annual reports of an issuer: periods, forms, dates and figures."""

from dataclasses import dataclass, replace
from datetime import date, timedelta
from itertools import pairwise

from assets.sample.organisations import ISSUERS_A_SCALE, Organisation
from assets.sample.statements import Figures, statement
from assets.sample.write import generator

FIRST_YEAR, LAST_YEAR = 2018, 2025

_JUNE_ROLES = (0, 6, 10)
_US_GAAP_ROLE = 9
_CHANGED_YEAR_ROLE = 4


@dataclass(frozen=True)
class Period:
    """A reported period, both days in it."""

    start: date
    end: date


@dataclass(frozen=True)
class Reported:
    """The figures of one period in one currency, as one filing shows them."""

    period: Period
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
    reported: tuple[Reported, ...]
    shares: int

    @property
    def period(self) -> Period:
        """Give the period the filing is about."""
        return self.reported[0].period


def role_of(company: Organisation) -> int:
    """Tell which of the twelve stories an issuer plays."""
    return company.serial % ISSUERS_A_SCALE


def taxonomy_of(company: Organisation) -> str:
    """Tell whose element names an issuer reports with."""
    return "us-gaap" if role_of(company) == _US_GAAP_ROLE else "ifrs-full"


def plain_filings(seed: int, company: Organisation) -> list[Filing]:
    """Give one annual report a year, each repeating the year before, oldest first."""
    reports = _reports(seed, company)
    annual = "10-K" if taxonomy_of(company) == "us-gaap" else "20-F"
    shares = 50_000_000 + 1_000_000 * (company.serial % 97)
    return [
        _filing(company, number, annual, (this, before), shares)
        for number, (before, this) in enumerate(pairwise(reports), 1)
    ]


def amendment(filing: Filing, number: int, days: int) -> Filing:
    """Give the same report filed again some days later under the form's /A."""
    filed = working_day(filing.filed + timedelta(days=days))
    stem, _ = filing.accession.rsplit("-", 1)
    return replace(
        filing,
        accession=f"{stem[:-2]}{filed:%y}-{number:06d}",
        form=f"{filing.form}/A",
        filed=filed,
        accepted=f"{filed}T16:31:09.000Z",
    )


def working_day(day: date) -> date:
    """Give the day itself, or the Monday after a weekend."""
    return day + timedelta(days=max(0, 7 - day.weekday()) if day.weekday() > 4 else 0)


def _reports(seed: int, company: Organisation) -> list[Reported]:
    rng = generator(seed, "filings", company.serial)
    revenue = rng.randrange(400_000, 4_000_000) * 1000
    currency = "USD" if taxonomy_of(company) == "us-gaap" else company.country.currency
    shares = 50_000_000 + 1_000_000 * (company.serial % 97)
    reports = []
    for period in _periods(role_of(company)):
        revenue = revenue * rng.randrange(970, 1180) // 1000 // 1000 * 1000
        earned = revenue // 2000 * 1000 if (period.end - period.start).days < 200 else revenue
        reports.append(Reported(period, currency, statement(rng, earned, shares)))
    return reports


def _periods(role: int) -> list[Period]:
    years = range(FIRST_YEAR - 1, LAST_YEAR + 1)
    calendar = [Period(date(year, 1, 1), date(year, 12, 31)) for year in years]
    to_june = [Period(date(year - 1, 7, 1), date(year, 6, 30)) for year in years]
    if role in _JUNE_ROLES:
        return to_june
    if role == _CHANGED_YEAR_ROLE:
        transition = Period(date(2022, 1, 1), date(2022, 6, 30))
        return [*calendar[:5], transition, *to_june[6:]]
    return calendar


def _filing(
    company: Organisation, number: int, form: str, reported: tuple[Reported, ...], shares: int
) -> Filing:
    end = reported[0].period.end
    filed = working_day(end + timedelta(days=95 + company.serial % 20))
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
