"""One figure stated twice in one report, once rounded: the more precise one counts."""

from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Any

from assets.filings.figures import Reading
from assets.parsed import Parsed
from warehouse.landing import Document
from warehouse.record.tables import FUNDAMENTALS


def without_roundings(
    parsed: Parsed, document: Document, readings: Iterable[Reading]
) -> Iterator[Reading]:
    """Give the readings that are no rounding of another; reject the roundings with words."""
    groups: dict[tuple[Any, ...], list[Reading]] = {}
    for reading in readings:
        row = reading.row
        figure = (row["service_id"], reading.element, row["unit"], row["basis"])
        period = (row["period_start"], row["period_end"])
        groups.setdefault((*figure, *period), []).append(reading)
    for group in groups.values():
        best = max(group, key=_precision)
        for reading in group:
            if reading.value != best.value and is_rounding(reading, best):
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
