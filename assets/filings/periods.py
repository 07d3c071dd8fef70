"""Classify a duration as FY, Q1, H1 and so on, by its length and the issuer's own fiscal year.

The labels of a filing (fy, fp) are not used: they describe the filing, also where a figure in it
is of an earlier year.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from datetime import date, timedelta

from warehouse.tables.fundamentals import PeriodType

Span = tuple[date, date]

# A year of 52 or 53 weeks begins some days before or after the first of a month.
_DRIFT = timedelta(days=10)

# Length in days -> period type by the month of the fiscal year in which it begins.
_PARTS: tuple[tuple[range, dict[int, PeriodType]], ...] = (
    (range(80, 101), {0: "Q1", 3: "Q2", 6: "Q3", 9: "Q4"}),
    (range(170, 191), {0: "H1", 6: "H2"}),
    (range(260, 281), {0: "9M"}),
)
# Days from the beginning of a part to the end of its year.
_DAYS_LEFT = {"Q1": 364, "Q2": 273, "Q3": 182, "H1": 364, "9M": 364}
# A year of weeks that ends so early in January is called after the year before.
_EARLY = timedelta(days=5)
# Periods that end on one day, the one first that names the day best.
_LABELLED: tuple[PeriodType, ...] = ("FY", "H1", "9M", "Q1", "H2", "Q2", "Q3", "Q4")
# 52 weeks are 364 days, 53 are 371; the same bounds as in metrics-v1.
_YEAR = range(350, 381)


def days_of(span: Span) -> int:
    """Count the days of a span, first and last included."""
    return (span[1] - span[0]).days + 1


def years_of(spans: Iterable[Span]) -> Counter[Span]:
    """Return the fiscal years: spans of annual length, with the number of their figures."""
    return Counter(span for span in spans if days_of(span) in _YEAR)


def period_type(span: Span, years: Counter[Span]) -> PeriodType:
    """Return the period type of a duration; OTHER if length or position in the year do not fit."""
    length = days_of(span)
    if length in _YEAR:
        return "FY"
    for lengths, by_month in _PARTS:
        if length in lengths:
            names = {by_month.get(_months(year, span), "OTHER") for year in _nearest(span, years)}
            return names.pop() if len(names) == 1 else "OTHER"
    return "OTHER"


def fiscal_label(span: Span, kind: PeriodType) -> str | None:
    """Return the label of a period: FY2020 for a year that ends in 2020, H1 FY2020 for its half.

    It is made from the period alone: filings label a comparative column with their own year. A
    year of weeks that ends on one of the first five days of January is that of the year before.
    """
    if kind in ("INSTANT", "OTHER"):
        return None
    year_end = span[0] + timedelta(days=_DAYS_LEFT[kind]) if kind in _DAYS_LEFT else span[1]
    year = (year_end - _EARLY).year
    return f"FY{year}" if kind == "FY" else f"{kind} FY{year}"


class KnownPeriods:
    """The durations that an issuer has stated so far; they grow from one filing day to the next.

    The issuer's years decide what a quarter is. A year that is filed later decides nothing
    about an earlier filing.
    """

    def __init__(self) -> None:
        """Start without any period."""
        self._years: Counter[Span] = Counter()
        self._by_end: dict[date, set[Span]] = defaultdict(set)
        self._types: dict[Span, PeriodType] = {}

    def add(self, spans: Iterable[Span]) -> None:
        """Take in the durations of further figures, one for each figure."""
        figures = list(spans)
        for span in set(figures):
            self._by_end[span[1]].add(span)
        self._years.update(years_of(figures))
        self._types.clear()

    def named(self, start: date | None, end: date) -> tuple[PeriodType, str | None]:
        """Return type and label of a period, by the years known so far.

        A balance, which has no start, is labelled by the period that ends on its day.
        """
        if start is not None:
            kind = self._type_of((start, end))
            return kind, fiscal_label((start, end), kind)
        kinds = ((span, self._type_of(span)) for span in self._by_end.get(end, ()))
        labels = (
            (_LABELLED.index(kind), label)
            for span, kind in kinds
            if (label := fiscal_label(span, kind)) is not None
        )
        return "INSTANT", min(labels, default=(0, None))[1]

    def _type_of(self, span: Span) -> PeriodType:
        if span not in self._types:
            self._types[span] = period_type(span, self._years)
        return self._types[span]


def _nearest(span: Span, years: Counter[Span]) -> list[Span]:
    """Return the fiscal year that contains the span, as most figures state it, or the nearest.

    After a change of the year end a span may lie between two years: both are returned.
    """
    if not years:
        return []
    days_outside = {
        year: max((year[0] - span[0]).days, (span[1] - year[1]).days, 0) for year in years
    }
    fewest = min(days_outside.values())
    nearest = [year for year in years if days_outside[year] == fewest]
    if fewest > 0:
        return nearest
    # A single mistyped period of a year's length must not outvote the real year.
    most_figures = max(years[year] for year in nearest)
    return [year for year in nearest if years[year] == most_figures]


def _months(year: Span, span: Span) -> int:
    """Count the months from the beginning of the issuer's year, modulo 12."""
    return (_month(span[0]) - _month(year[0])) % 12


def _month(day: date) -> int:
    shifted = day + _DRIFT
    return shifted.year * 12 + shifted.month
