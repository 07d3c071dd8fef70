"""Which period a duration is: by its length, against the issuer's own year.

The labels of a filing (fy, fp) describe the filing and are never looked at.
"""

from collections import Counter
from collections.abc import Iterable
from datetime import date, timedelta

from warehouse.tables.fundamentals import PeriodType

Span = tuple[date, date]

# A year of 52 or 53 weeks begins some days before or after the first of a month.
_DRIFT = timedelta(days=10)

# Length in days, and the period by the month of the year in which it begins.
_PARTS: tuple[tuple[range, dict[int, PeriodType]], ...] = (
    (range(80, 101), {0: "Q1", 3: "Q2", 6: "Q3", 9: "Q4"}),
    (range(170, 191), {0: "H1", 6: "H2"}),
    (range(260, 281), {0: "9M"}),
)
_YEAR = range(350, 381)


def days_of(span: Span) -> int:
    """Count the days of a span, first and last included."""
    return (span[1] - span[0]).days + 1


def years_of(spans: Iterable[Span]) -> Counter[Span]:
    """Find the issuer's years: the spans of annual length, and how often each is stated."""
    return Counter(span for span in spans if days_of(span) in _YEAR)


def period_type(span: Span, years: Counter[Span]) -> PeriodType:
    """Name a duration; OTHER where its length or its place in the year fits nothing."""
    length = days_of(span)
    if length in _YEAR:
        return "FY"
    for lengths, by_month in _PARTS:
        if length in lengths:
            names = {by_month.get(_months(year, span), "OTHER") for year in _nearest(span, years)}
            return names.pop() if len(names) == 1 else "OTHER"
    return "OTHER"


def _nearest(span: Span, years: Counter[Span]) -> list[Span]:
    """Give the year the span lies in, as most figures state it, or those nearest to it.

    A change of year end leaves a span between two years: both are given.
    """
    if not years:
        return []
    outside = {year: max((year[0] - span[0]).days, (span[1] - year[1]).days, 0) for year in years}
    least = min(outside.values())
    near = [year for year in years if outside[year] == least]
    if least > 0:
        return near
    most = max(years[year] for year in near)
    return [year for year in near if years[year] == most]


def _months(year: Span, span: Span) -> int:
    """Count the months from the beginning of the issuer's year, round the year."""
    return (_month(span[0]) - _month(year[0])) % 12


def _month(day: date) -> int:
    shifted = day + _DRIFT
    return shifted.year * 12 + shifted.month
