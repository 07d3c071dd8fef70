"""Which differing values are restatements, and which are only rounded or rescaled.

A convenience translation at another day's rate, a value in another scale, a sign that turns
away from the right one and an element that is the line only at times, and differs from one that
always is, only look like restatements. They are rejected with a reason, and the
earlier value stands. Within one report, a rounding of a more precise value is rejected too:
xBRL-JSON states its decimals; in company facts only trailing zeros show it.
"""

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from datetime import date
from decimal import Decimal
from typing import Any

from assets.filings.cross_checks import (
    FilingScales,
    Profits,
    Witness,
    conflicts_of,
    contradicts_its_balance,
    mark_figures,
    scale_of,
)
from assets.filings.figures import (
    Reading,
    declared_sums,
    grouped,
    settle,
    showing,
    without_narrower,
    without_refuted,
)
from assets.filings.line_items import BY_ELEMENT, LINE_SUMS, TaxonomyElement
from assets.parsing.parsed import Parsed
from warehouse.record.landing import Document
from warehouse.record.tables import FUNDAMENTALS

# Values that a filing states a thousand or a million times too small or too large.
#
# A filer who forgets that its tables are in millions states every figure of a filing so, with the
# digits of its other filings. The size that most filings of the issuer have, of those that were
# public by then, is the right one.


# Lines that are the sum of others, if no element states them.
_SUMMED = frozenset(each.item.name for each in LINE_SUMS)

# Tables are printed in thousands, millions or billions.
_SLIPS = (3, 6, 9)
# How far apart two values with the same digits may be, for rounding.
_SAME_DIGITS = Decimal("0.0005")
# Filings of one size differ by less than so many powers of ten.
_SAME_SIZE = 1.5


def is_slip(before: Decimal, after: Decimal) -> bool:
    """Return whether two values have the same digits in another of the usual scales."""
    small, large = sorted((abs(before), abs(after)))
    if not small:
        return False
    ratio = large / small
    return any(abs(ratio.scaleb(-power) - 1) <= _SAME_DIGITS for power in _SLIPS)


class FilingSizes:
    """The size of each filing of an issuer: the power of ten of its largest figure in a unit."""

    def __init__(self, readings: list[Reading]) -> None:
        """Measure the filings of an issuer, in order of publication."""
        largest: dict[str, dict[tuple[date, str], Decimal]] = defaultdict(dict)
        for reading in readings:
            sizes, filing = largest[reading.row["unit"]], _filing(reading)
            sizes[filing] = max(sizes.get(filing, Decimal(0)), abs(reading.value))
        self._filings = {unit: sorted(sizes) for unit, sizes in largest.items()}
        self._sizes = {
            unit: {filing: float(value.log10()) for filing, value in sizes.items() if value}
            for unit, sizes in largest.items()
        }

    def why_out_of_scale(self, standing: Reading, reading: Reading) -> str | None:
        """Return why a value in another scale does not replace the one that stands; else None."""
        # Only money is printed in thousands: a split of shares changes their number, and amounts
        # per share, by the same powers of ten.
        unit = reading.row["unit"]
        if unit != reading.row["currency_reported"] or not is_slip(standing.value, reading.value):
            return None
        sizes, filings = self._sizes[unit], self._filings[unit]
        before, after = sizes[_filing(standing)], sizes[_filing(reading)]
        # Filings of one size: only this figure changed, and nothing tells which of two is right.
        if abs(before - after) < _SAME_SIZE:
            return None
        until_then = filings[: bisect_right(filings, _filing(reading))]
        public = [sizes[filing] for filing in until_then if filing in sizes]
        alike = [sum(abs(size - own) < _SAME_SIZE for size in public) for own in (before, after)]
        if alike[1] > alike[0]:
            return None
        return f"in a scale that most filings of the issuer do not use: {standing.value} stands"


def _filing(reading: Reading) -> tuple[date, str]:
    return reading.row["available_at"] or date.min, reading.row["publication"]


# Where too few figures of a filing show its scale, two scales must lie so many powers of ten apart.
_WITHOUT_PROOF = 2


class StatedValues:
    """Which values each element of a figure stated, and since when."""

    def __init__(self, readings: Iterable[Reading]) -> None:
        """Keep the day of the first filing that states each value."""
        self._since: dict[tuple[Any, ...], date] = {}
        for reading in readings:
            statement = self._statement(reading, reading.value)
            day = reading.row["available_at"]
            self._since[statement] = min(day, self._since.get(statement, day))

    @staticmethod
    def _statement(reading: Reading, value: Decimal) -> tuple[Any, ...]:
        return (*reading.identity, reading.element, value)

    def before(self, reading: Reading, value: Decimal) -> bool:
        """Return whether the element of a reading had stated another value by then."""
        since = self._since.get(self._statement(reading, value))
        return since is not None and since <= reading.row["available_at"]


def without_echoes(
    parsed: Parsed, document: Document, readings: Iterable[Reading], stated: StatedValues
) -> Iterator[Reading]:
    """Yield first statements, repetitions and restatements; reject apparent restatements.

    ``stated`` has every element that a filing states, also those that others won over.
    """
    all_readings = list(readings)
    filings, sizes = FilingScales(all_readings), FilingSizes(all_readings)
    profits = Profits(all_readings)
    for group in grouped(all_readings, FUNDAMENTALS.identity):
        group.sort(key=lambda other: (other.row["available_at"], other.row["publication"]))
        standing = group[0]
        for number, reading in enumerate(group, start=1):
            reason = _no_restatement(standing, reading, filings)
            reason = reason or sizes.why_out_of_scale(standing, reading)
            reason = reason or _why_less_sure(standing, reading, stated)
            if reason is None and reading.value * standing.value < 0:
                reason = _turned(standing, reading, group[:number], profits)
            if reason is None:
                # A value that is only an echo never replaces the one it is compared with.
                standing = reading
                yield reading
            else:
                parsed.reject(FUNDAMENTALS, document, reading.location, reason)


def _no_restatement(standing: Reading, reading: Reading, filings: FilingScales) -> str | None:
    """Return why a differing value is not a restatement; None where it may be one."""
    if reading.value == standing.value:
        return None
    if filings.is_translation(reading):
        currency = filings.reports_in(reading)
        return f"a convenience translation at another rate: the filing reports in {currency}"
    if _in_another_scale(standing, reading, filings):
        return f"in another scale, no restatement: {standing.value} stands"
    return None


def _why_less_sure(standing: Reading, reading: Reading, stated: StatedValues) -> str | None:
    """Return why an element that is the line only at times does not replace one that always is.

    Such as equity with minorities: if it differs from the equity of the owners in an earlier
    filing, that shows minorities. It is a restatement if both had been the same.
    """
    # New accounting standards renamed revenue: there the newer name is right.
    if reading.row["line_item"] == "revenue" or reading.value == standing.value:
        return None
    is_less_sure = reading.unless and not standing.unless and standing.rank < reading.rank
    # A zero shows nothing.
    if not is_less_sure or not standing.value or stated.before(reading, standing.value):
        return None
    return (
        f"{reading.element} is {reading.row['line_item']} only at times, and differs from "
        f"{standing.element}, which always is: {standing.value} stands"
    )


def _turned(
    standing: Reading, reading: Reading, until_then: list[Reading], profits: Profits
) -> str | None:
    """Return why a value of the other sign does not replace the one that stands."""
    if reading.value == -standing.value:
        same_size = (other for other in until_then if abs(other.value) == abs(reading.value))
        return _why_turned_away(standing, reading, _count_signs(same_size), profits)
    # Profit may turn into loss by a restatement; a payment never becomes a receipt.
    if contradicts_its_balance(reading):
        return f"its sign contradicts the balance of {reading.element}: {standing.value} stands"
    return None


def _why_turned_away(
    standing: Reading, reading: Reading, stated: Counter[int], profits: Profits
) -> str | None:
    """Return why a value of the other sign is no correction of the one that stands; None if it is.

    ``stated`` counts by sign the filings that stated the figure until then, this one included. The
    balance of the element decides, and for earnings per share the profit of their filing; where
    they allow both signs, the filing that contradicts itself is wrong; where that does not tell,
    the sign of most filings is right, and of as many on both sides that of an expense.
    """
    wrong = contradicts_its_balance(reading)
    if wrong != contradicts_its_balance(standing):
        if not wrong:
            return None
        return f"its sign contradicts the balance of {reading.element}: {standing.value} stands"
    profit = profits.contradicted_by(reading)
    if (profit is None) != (profits.contradicted_by(standing) is None):
        if profit is None:
            return None
        named = f"{profit.row['line_item']} = {profit.value}"
        return f"its sign contradicts its own filing ({named}): {standing.value} stands"
    if bool(conflicts_of(reading)) != bool(conflicts_of(standing)):
        if conflicts_of(standing):
            return None
        others = ", ".join(sorted(conflicts_of(reading)))
        return f"its sign contradicts its own filing ({others}): {standing.value} stands"
    given, before = stated[_sign(reading)], stated[_sign(standing)]
    if given > before or (given == before and _is_usual(reading)):
        return None
    return f"its sign is turned, a convention and no restatement: {standing.value} stands"


def _is_usual(reading: Reading) -> bool:
    """Return whether a figure is an expense, as its element is named, and not the benefit."""
    taxonomy, _, name = reading.row["element"].partition(":")
    is_expense = BY_ELEMENT[taxonomy, name].balance == "debit"
    return is_expense and reading.row["statement"] == "income" and reading.value > 0


def _count_signs(readings: Iterable[Reading]) -> Counter[int]:
    """Count the filings that state a figure with each sign."""
    filings = {(reading.row["publication"], _sign(reading)) for reading in readings}
    return Counter(sign for _, sign in filings)


def _sign(reading: Reading) -> int:
    return (reading.value > 0) - (reading.value < 0)


def _in_another_scale(standing: Reading, reading: Reading, filings: FilingScales) -> bool:
    """Return whether two values differ by less than the coarser of two scales can show.

    A filing adjusts a rounded value by up to one unit so that its sums hold.
    """
    (before, proved), (after, proved_again) = filings.scale(standing), filings.scale(reading)
    apart = abs(after - before)
    unit = Decimal(1).scaleb(max(before, after))
    if (
        apart < (1 if proved and proved_again else _WITHOUT_PROOF)
        # With so few digits left, a real change could pass for a rounding.
        or abs(reading.value) < 100 * unit
    ):
        return False
    return abs(reading.value - standing.value) < unit


def settled_figures(
    parsed: Parsed,
    document: Document,
    readings: Iterable[Reading],
    stated: Iterable[tuple[str, TaxonomyElement, Decimal]],
    witnesses: Iterable[Witness],
    *,
    as_written: bool = False,
) -> list[Reading]:
    """Return each figure of each filing once, checked against its filing; reject the others.

    ``stated`` is what filings state by whatever element, and ``as_written`` as in
    ``without_roundings``.
    """
    all_readings, shown = list(readings), showing(stated)
    # In this order: parts first, which are no roundings of a total; then roundings, or the elements
    # of a filing would seem to disagree.
    unrefuted = without_refuted((each for each in all_readings if each.rank), shown)
    precise = without_roundings(parsed, document, unrefuted, as_written=as_written)
    sums = without_refuted(declared_sums(all_readings, "element"), shown)
    return marked_figures(parsed, document, without_narrower([*precise, *sums]), witnesses)


def marked_figures(
    parsed: Parsed, document: Document, readings: list[Reading], witnesses: Iterable[Witness]
) -> list[Reading]:
    """Return each figure as the element of the best rank states it, checked against its filing.

    Lines that are declared to be the sum of others come last, when those are settled.
    """
    settled = list(settle(parsed, document, (each for each in readings if not _is_sum(each))))
    totals = [*filter(_is_sum, readings), *declared_sums(settled, "line_item")]
    settled += settle(parsed, document, without_narrower(totals))
    mark_figures(settled, witnesses)
    # What contradicts its filing is not added up.
    return [each for each in settled if not any(map(conflicts_of, each.parts))]


def _is_sum(reading: Reading) -> bool:
    return reading.row["line_item"] in _SUMMED


def without_roundings(
    parsed: Parsed, document: Document, readings: Iterable[Reading], *, as_written: bool = False
) -> Iterator[Reading]:
    """Yield the readings that are not a rounding of another in their filing; reject the roundings.

    ``as_written``: only trailing zeros show how far a value was rounded, and no decimals.
    """
    is_rounded = is_written_rounded if as_written else is_rounding
    precision = _written_precision if as_written else _precision
    for group in grouped(readings, (*FUNDAMENTALS.identity, "publication")):
        best = group[0] if len(group) == 1 else max(group, key=precision)
        for reading in group:
            if reading.value != best.value and is_rounded(reading, best):
                reason = f"a rounding of {best.value}, which the same report states"
                parsed.reject(FUNDAMENTALS, document, reading.location, reason)
            else:
                yield reading


def is_written_rounded(reading: Reading, precise: Reading) -> bool:
    """Return whether a value is the precise one with its last digits replaced by zeros."""
    scale = scale_of(reading.value)
    # One digit and zeros (500, 1,000) may be an exact value.
    if scale <= scale_of(precise.value) or len(reading.value.normalize().as_tuple().digits) < 2:
        return False
    return abs(reading.value - precise.value) <= Decimal(5).scaleb(scale - 1)


def is_rounding(reading: Reading, precise: Reading) -> bool:
    """Return whether a value is the precise one with fewer decimals."""
    if reading.decimals is None:
        return False
    half = Decimal(5).scaleb(-reading.decimals - 1)
    return abs(reading.value - precise.value) <= half


def _precision(reading: Reading) -> tuple[bool, int]:
    return reading.decimals is None, reading.decimals or 0


def _written_precision(reading: Reading) -> tuple[bool, int]:
    return True, -scale_of(reading.value)
