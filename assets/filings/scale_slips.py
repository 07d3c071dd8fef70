"""Values that a filing states a thousand or a million times too small or too large.

A filer who forgets that its tables are in millions states every figure of a filing so, with the
digits of its other filings. The size that most filings of the issuer have, of those that were
public by then, is the right one.
"""

from bisect import bisect_right
from collections import defaultdict
from datetime import date
from decimal import Decimal

from assets.filings.figures import Reading

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
