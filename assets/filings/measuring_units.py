"""In the purchasing power of which day figures under IAS 29 are stated.

A filing in the currency of a hyperinflationary economy states every figure, comparatives too, in
the measuring unit that is current at the end of its own reporting period. ``hyperinflation.csv``
says which currencies and when, and what each line rests on. An issuer may present its accounts in
such a currency while it keeps them in another, and then restates nothing: its filings repeat
earlier figures unchanged.
"""

from collections import Counter, defaultdict
from datetime import date
from decimal import Decimal

from assets.filings.figures import Reading
from warehouse.shared.data_files import csv_rows

# So many figures that repeat those of an earlier filing tell whether comparatives are restated.
_PROOF = 4
# So many figures make the end of a reporting period; fewer may be of an event after it.
_END = 3


def _read() -> dict[str, list[tuple[date, date]]]:
    """Return by currency the ends of the reporting periods to which IAS 29 applies."""
    periods: dict[str, list[tuple[date, date]]] = defaultdict(list)
    for line in csv_rows(__name__, "hyperinflation"):
        first, last = line["first_period_end"], line["last_period_end"] or str(date.max)
        periods[line["currency"]].append((date.fromisoformat(first), date.fromisoformat(last)))
    return dict(periods)


PERIODS = _read()


def is_hyperinflationary(currency: str, period_end: date) -> bool:
    """Return whether IAS 29 applies to a currency in a reporting period that ends on a day."""
    return any(first <= period_end <= last for first, last in PERIODS.get(currency, ()))


def date_measuring_units(readings: list[Reading]) -> None:
    """Set ``measuring_unit_date`` of every figure of a filing under IAS 29."""
    filings: dict[tuple[str, str], list[Reading]] = defaultdict(list)
    for reading in readings:
        currency = reading.row["currency_reported"]
        if currency in PERIODS and reading.row["accounting_standard"] == "ifrs":
            filings[reading.row["publication"], currency].append(reading)
    # What earlier filings stated, figure by figure, and the end of their reporting periods.
    stated: dict[tuple[object, ...], tuple[Decimal, date]] = {}
    for (_, currency), figures in sorted(filings.items(), key=_published):
        end = _reporting_date(figures)
        if is_hyperinflationary(currency, end) and not _repeats(figures, end, stated):
            for reading in figures:
                reading.row["measuring_unit_date"] = end
        stated |= {reading.identity: (reading.value, end) for reading in figures}


def _published(filing: tuple[tuple[str, str], list[Reading]]) -> tuple[date, str]:
    (publication, _), figures = filing
    return figures[0].row["available_at"] or date.min, publication


def _reporting_date(figures: list[Reading]) -> date:
    """Return the end of a filing's reporting period: the newest balance date."""
    balances = [reading for reading in figures if reading.row["period_start"] is None]
    ends: Counter[date] = Counter(reading.row["period_end"] for reading in balances or figures)
    return max([end for end, count in ends.items() if count >= _END] or ends)


def _repeats(
    figures: list[Reading], end: date, stated: dict[tuple[object, ...], tuple[Decimal, date]]
) -> bool:
    """Return whether a filing repeats the figures of earlier reporting periods unchanged."""
    same: Counter[bool] = Counter()
    for reading in figures:
        value, stated_at = stated.get(reading.identity, (None, end))
        # Another filing for the same period is in the same measuring unit: it tells nothing.
        if reading.value and stated_at < end:
            same[reading.value == value] += 1
    return same[True] >= _PROOF and same[True] > same[False]
