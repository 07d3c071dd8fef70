"""Which differing values are restatements, and which are only rounded or rescaled.

A convenience translation at another day's rate, a value in another scale, a sign that turns
away from the right one and an element that is the line only at times, and differs from one that
always is, only look like restatements. They are rejected with a reason, and the
earlier value stands. Within one report, a rounding of a more precise value is rejected too:
xBRL-JSON states its decimals; in company facts only trailing zeros show it.
"""

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from datetime import date
from decimal import Decimal
from typing import Any

from assets.filings.figures import Reading
from assets.filings.signs import (
    Profits,
    contradicts_its_balance,
    count_signs,
    why_turned_away,
)
from assets.parsing.parsed import Parsed
from warehouse.record.landing import Document
from warehouse.record.tables import FUNDAMENTALS

# Values that a filing states a thousand or a million times too small or too large.
#
# A filer who forgets that its tables are in millions states every figure of a filing so, with the
# digits of its other filings. The size that most filings of the issuer have, of those that were
# public by then, is the right one.


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


# So many figures of a filing show its scale; with fewer, the zeros of one value may be chance, and
# the scales must lie at least two powers of ten apart.
_PROOF = 4
_WITHOUT_PROOF = 2

_LINE = ("line_item", "basis", "period_start", "period_end")


class FilingScales:
    """Currency and scale of each filing, inferred from all readings of an issuer."""

    def __init__(self, readings: list[Reading]) -> None:
        """Group the readings by filing; currency and scale are computed on demand."""
        self._readings = readings
        self._by_filing: dict[str, list[Reading]] = {}
        for reading in readings:
            self._by_filing.setdefault(reading.row["publication"], []).append(reading)
        self._scales: dict[tuple[str, str], tuple[int, bool]] = {}
        self._money: dict[str, str | None] = {}

    def scale(self, reading: Reading) -> tuple[int, bool]:
        """Return the power of ten a filing is written in, and whether enough figures prove it."""
        filing_unit = reading.row["publication"], reading.row["unit"]
        if filing_unit not in self._scales:
            same_unit = (
                other
                for other in self._by_filing[filing_unit[0]]
                if other.row["unit"] == filing_unit[1]
            )
            scales = Counter(scale_of(other.value) for other in same_unit if other.value)
            main_scale = max(scales, key=lambda scale: (scales[scale], scale), default=0)
            self._scales[filing_unit] = main_scale, scales.total() >= _PROOF
        main_scale, proved = self._scales[filing_unit]
        return (main_scale, True) if proved else (scale_of(reading.value), False)

    def reports_in(self, reading: Reading) -> str | None:
        """Return the currency of a filing's statements: of several, that of most figures."""
        filing = reading.row["publication"]
        if filing not in self._money:
            in_filing = _money(self._by_filing[filing])
            overall = _money(self._until(reading)) if len(in_filing) > 1 else in_filing
            main_currency = max(
                in_filing, key=lambda code: (in_filing[code], overall[code]), default=None
            )
            self._money[filing] = main_currency
        return self._money[filing]

    def _until(self, reading: Reading) -> list[Reading]:
        """Return what was public on the day of a reading."""
        day = reading.row["available_at"]
        return [other for other in self._readings if other.row["available_at"] <= day]

    def is_translation(self, reading: Reading) -> bool:
        """Return whether the filing states the same line in its reporting currency."""
        currency = self.reports_in(reading)
        if currency is None or reading.row["currency_reported"] in (None, currency):
            return False
        line = [reading.row[name] for name in _LINE]
        return any(
            other.row["currency_reported"] == currency
            and [other.row[name] for name in _LINE] == line
            for other in self._by_filing[reading.row["publication"]]
        )


def _money(readings: list[Reading]) -> Counter[str]:
    return Counter(
        reading.row["currency_reported"] for reading in readings if reading.row["currency_reported"]
    )


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
        identity = tuple(reading.row[name] for name in FUNDAMENTALS.identity)
        return (*identity, reading.element, value)

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
    for group in _by_identity(all_readings):
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


def _by_identity(readings: list[Reading]) -> Iterator[list[Reading]]:
    groups: dict[tuple[Any, ...], list[Reading]] = {}
    for reading in readings:
        identity = tuple(reading.row[name] for name in FUNDAMENTALS.identity)
        groups.setdefault(identity, []).append(reading)
    for group in groups.values():
        if len(group) > 1:
            group.sort(key=lambda other: (other.row["available_at"], other.row["publication"]))
        yield group


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
        return why_turned_away(standing, reading, count_signs(same_size), profits)
    # Profit may turn into loss by a restatement; a payment never becomes a receipt.
    if contradicts_its_balance(reading):
        return f"its sign contradicts the balance of {reading.element}: {standing.value} stands"
    return None


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


def without_roundings(
    parsed: Parsed, document: Document, readings: Iterable[Reading]
) -> Iterator[Reading]:
    """Yield the readings that are not a rounding of another; reject the roundings."""
    for group in _by_figure(readings):
        best = max(group, key=_precision)
        yield from _others(parsed, document, group, best, is_rounding)


def without_written_roundings(
    parsed: Parsed, document: Document, readings: Iterable[Reading]
) -> Iterator[Reading]:
    """Like ``without_roundings``, where only trailing zeros show how far a value was rounded."""
    for group in _by_figure(readings):
        best = group[0] if len(group) == 1 else min(group, key=lambda other: scale_of(other.value))
        yield from _others(parsed, document, group, best, is_written_rounded)


def scale_of(value: Decimal) -> int:
    """Return the power of ten in which a value is written: 5 for 1,471,900,000."""
    exponent = value.normalize().as_tuple().exponent
    return exponent if isinstance(exponent, int) else 0


def is_written_rounded(reading: Reading, precise: Reading) -> bool:
    """Return whether a value is the precise one with its last digits replaced by zeros."""
    scale = scale_of(reading.value)
    # One digit and zeros (500, 1,000) may be an exact value.
    if scale <= scale_of(precise.value) or len(reading.value.normalize().as_tuple().digits) < 2:
        return False
    return abs(reading.value - precise.value) <= Decimal(5).scaleb(scale - 1)


def _by_figure(readings: Iterable[Reading]) -> Iterable[list[Reading]]:
    groups: dict[tuple[Any, ...], list[Reading]] = {}
    for reading in readings:
        row = reading.row
        figure = (row["service_id"], row["line_item"], row["unit"], row["basis"])
        period = (row["period_start"], row["period_end"], row["publication"])
        groups.setdefault((*figure, *period), []).append(reading)
    return groups.values()


def _others(
    parsed: Parsed,
    document: Document,
    group: list[Reading],
    best: Reading,
    is_rounded: Callable[[Reading, Reading], bool],
) -> Iterator[Reading]:
    for reading in group:
        if reading.value != best.value and is_rounded(reading, best):
            reason = f"a rounding of {best.value}, which the same report states"
            parsed.reject(FUNDAMENTALS, document, reading.location, reason)
        else:
            yield reading


def is_rounding(reading: Reading, precise: Reading) -> bool:
    """Return whether a value is the precise one with fewer decimals."""
    if reading.decimals is None:
        return False
    half = Decimal(5).scaleb(-reading.decimals - 1)
    return abs(reading.value - precise.value) <= half


def _precision(reading: Reading) -> tuple[bool, int]:
    return reading.decimals is None, reading.decimals or 0
