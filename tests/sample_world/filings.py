"""The reports of an issuer: periods, forms, dates and figures.

``plain_filings`` makes one annual report a year, up to the last one that was filed by the day of
the world. ``stories`` change them.
"""

from dataclasses import dataclass, replace
from datetime import date, timedelta
from itertools import pairwise

from tests.sample_world.organisations import SampleOrganisation, role_of
from tests.sample_world.statements import STATEMENTS, Figures, statement
from tests.sample_world.writer import generator

# The first report; the years before the last ones never change, whatever the day of the world.
FIRST_YEAR = 2018
# Days from the end of a year to its report, at most.
LATEST_REPORT = 120

_JUNE_ROLES = (0, 6, 10)
_US_GAAP_ROLE = 9
_CHANGED_YEAR_ROLE = 4
# Its year ends on a Sunday and has 52 or 53 weeks; it always has just reported.
_WEEKS_ROLE = 16
_WEEKS_ENDED, _WEEKS_REPORTED = 98, 91


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


def taxonomy_of(company: SampleOrganisation) -> str:
    """Return the taxonomy an issuer reports in."""
    return "us-gaap" if role_of(company) == _US_GAAP_ROLE else "ifrs-full"


def plain_filings(seed: int, company: SampleOrganisation, day: date) -> list[Filing]:
    """Return one annual report a year, oldest first; every report repeats the year before."""
    reports = _reports(seed, company, day)
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


def _reports(seed: int, company: SampleOrganisation, day: date) -> list[ReportedFigures]:
    rng = generator(seed, "filings", company.serial)
    revenue = rng.randrange(400_000, 4_000_000) * 1000
    currency = "USD" if taxonomy_of(company) == "us-gaap" else company.country.currency
    shares = 50_000_000 + 1_000_000 * (company.serial % 97)
    reports = []
    for period in _periods(role_of(company), day):
        # In whole thousands, as reports are.
        revenue = revenue * rng.randrange(970, 1180) // 1000 // 1000 * 1000
        # A transition period of half a year earns half the revenue.
        earned = revenue // 2000 * 1000 if (period.end - period.start).days < 200 else revenue
        figures = STATEMENTS.get(role_of(company), statement)(rng, earned, shares)
        reports.append(ReportedFigures(period, currency, figures))
    return reports


def last_year(day: date, month: int, day_of_month: int) -> int:
    """Return the last year, ending on a day of a month, that was reported by a day."""
    reported = day - timedelta(days=LATEST_REPORT)
    ended = date(reported.year, month, day_of_month) <= reported
    return reported.year if ended else reported.year - 1


def _periods(role: int, day: date) -> list[ReportPeriod]:
    calendar = [
        ReportPeriod(date(year, 1, 1), date(year, 12, 31))
        for year in range(FIRST_YEAR - 1, last_year(day, 12, 31) + 1)
    ]
    to_june = [
        ReportPeriod(date(year - 1, 7, 1), date(year, 6, 30))
        for year in range(FIRST_YEAR - 1, last_year(day, 6, 30) + 1)
    ]
    if role in _JUNE_ROLES:
        return to_june
    if role == _WEEKS_ROLE:
        return _years_of_weeks(day - timedelta(days=_WEEKS_ENDED))
    if role == _CHANGED_YEAR_ROLE:
        changed = 2022
        transition = ReportPeriod(date(changed, 1, 1), date(changed, 6, 30))
        before = [period for period in calendar if period.end < transition.start]
        return [*before, transition, *(period for period in to_june if period.end.year > changed)]
    return calendar


def _years_of_weeks(last: date) -> list[ReportPeriod]:
    """Return years that end on the last Sunday up to the same day of each year."""
    years = last.year - FIRST_YEAR + 2
    days = [last - timedelta(days=round(365.25 * back)) for back in range(years, -1, -1)]
    ends = [day - timedelta(days=(day.weekday() + 1) % 7) for day in days]
    return [ReportPeriod(before + timedelta(days=1), end) for before, end in pairwise(ends)]


def _filing(
    company: SampleOrganisation,
    number: int,
    form: str,
    reported: tuple[ReportedFigures, ...],
    shares: int,
) -> Filing:
    end = reported[0].period.end
    takes = _WEEKS_REPORTED if role_of(company) == _WEEKS_ROLE else 95 + company.serial % 20
    filed = working_day(end + timedelta(days=takes))
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


def years_ago(filings: list[Filing], filing: Filing) -> int:
    """Return how many years before the last one of the filings the year of one ended."""
    last = max(each.period.end.year for each in filings if each.fiscal_year)
    return last - filing.period.end.year
