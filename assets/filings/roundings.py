"""One figure stated twice in one report, once rounded: the more precise one counts.

xBRL-JSON says how far a value was rounded. Company facts do not: there the zeros at the end of
a value tell, where at least two digits stand before them.
"""

from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from typing import Any

from assets.filings.figures import Reading
from assets.parsing.parsed import Parsed
from warehouse.record.landing import Document
from warehouse.record.tables import FUNDAMENTALS


def without_roundings(
    parsed: Parsed, document: Document, readings: Iterable[Reading]
) -> Iterator[Reading]:
    """Give the readings that are no rounding of another; reject the roundings with words."""
    for group in _by_figure(readings):
        best = max(group, key=_precision)
        yield from _others(parsed, document, group, best, is_rounding)


def without_written_roundings(
    parsed: Parsed, document: Document, readings: Iterable[Reading]
) -> Iterator[Reading]:
    """Do the same where only the digits tell how far a value was rounded."""
    for group in _by_figure(readings):
        best = group[0] if len(group) == 1 else min(group, key=lambda each: scale_of(each.value))
        yield from _others(parsed, document, group, best, is_written_rounded)


def scale_of(value: Decimal) -> int:
    """Give the power of ten in which a value is written: 5 for 1,471,900,000."""
    exponent = value.normalize().as_tuple().exponent
    return exponent if isinstance(exponent, int) else 0


def is_written_rounded(reading: Reading, precise: Reading) -> bool:
    """Say whether a value is the precise one, with zeros in the place of its last digits."""
    scale = scale_of(reading.value)
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
    rounded: Callable[[Reading, Reading], bool],
) -> Iterator[Reading]:
    for reading in group:
        if reading.value != best.value and rounded(reading, best):
            reason = f"a rounding of {best.value}, which the same report states"
            parsed.reject(FUNDAMENTALS, document, reading.place, reason)
        else:
            yield reading


def is_rounding(reading: Reading, precise: Reading) -> bool:
    """Say whether a value is the precise one, written with fewer decimals."""
    if reading.decimals is None:
        return False
    half = Decimal(5).scaleb(-reading.decimals - 1)
    return abs(reading.value - precise.value) <= half


def _precision(reading: Reading) -> tuple[bool, int]:
    return reading.decimals is None, reading.decimals or 0
