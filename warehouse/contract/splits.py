"""Splits of shares as they were known on a day, and figures in the shares of that day.

A filing proves a split where it restates numbers of shares, or one and an amount per share, by one
whole ratio (``split_ratio``). Later filings restate older periods by the same: that is no second
split. A figure of a day on which figures were still stated in the old shares is multiplied; one
that was published after such days and before the proof may be in either, and has no adjusted value.
"""

from collections.abc import Iterable, Mapping, Sequence
from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from math import prod
from typing import Any, NamedTuple

import msgspec

from warehouse.methodology.line_items import LINE_ITEMS
from warehouse.methodology.metrics import METRIC_DIGITS
from warehouse.shared.json_encoding import encode
from warehouse.tables.column import identity_of
from warehouse.tables.fundamentals import FundamentalVintage

_MEASURES = {item.name: item.measure for item in LINE_ITEMS if item.measure != "money"}
# The lines whose vintages tell of splits.
LINES_OF_SHARES = tuple(_MEASURES)
# Digits in which every product of a stored figure is exact.
_EXACT, _ROUNDED = (Context(digits, ROUND_HALF_EVEN) for digits in (80, METRIC_DIGITS))
_DECODER = msgspec.json.Decoder(dict[str, Any], float_hook=Decimal)
_FIGURE = identity_of(FundamentalVintage)


class Split(NamedTuple):
    """A split: how many shares one became, the day of its proof, and the last day in old shares."""

    factor: Fraction
    known_on: str
    old_until: str


def splits_of(rows: Iterable[bytes]) -> list[Split]:
    """Return the splits that the vintages of an issuer's figures prove, oldest first."""
    figures: dict[tuple[str, ...], dict[int, Mapping[str, Any]]] = {}
    for fact in map(_DECODER.decode, rows):
        if fact["available_at"] is not None:
            vintages = figures.setdefault(tuple(fact[name] for name in _FIGURE), {})
            vintages[fact["vintage"]] = fact
    proofs = [
        (
            fact["available_at"],
            vintages[number - 1]["available_at"],
            Fraction(fact["split_ratio"].replace(":", "/")),
        )
        for vintages in figures.values()
        for number, fact in vintages.items()
        if fact.get("split_ratio") is not None and number - 1 in vintages
    ]
    splits: list[Split] = []
    for day, old_until, factor in sorted(proofs):
        since = [split for split in splits if old_until < split.known_on]
        if not since:
            splits.append(Split(factor, day, old_until))
        elif prod(split.factor for split in since) == factor:
            # The same split, of another figure: it says more of the days in old shares.
            first = splits.index(since[0])
            splits[first] = since[0]._replace(old_until=max(since[0].old_until, old_until))
    return splits


def with_splits(row: bytes, splits: Sequence[Split]) -> bytes:
    """Add to a row what its figure is in the shares of the day, and by which factor."""
    fact = _DECODER.decode(row)
    measure, day, value = _MEASURES.get(fact["line_item"]), fact["available_at"], None
    later = [] if day is None else [split for split in splits if day < split.known_on]
    is_known = day is not None and all(day <= split.old_until for split in later)
    factor = prod((split.factor for split in later), start=Fraction(1))
    if measure is not None and is_known and fact["value_reported"] is not None:
        times = factor if measure == "shares" else 1 / factor
        value = _decimal(Fraction(fact["value_reported"]) * times)
    ratio = None if value is None else f"{factor.numerator}:{factor.denominator}"
    return row[:-1] + b"," + encode({"split_factor": ratio, "adjusted_value": value})[1:]


def _decimal(product: Fraction) -> Decimal:
    """Return a number: exact, or with as many digits as a metric if it does not end."""
    # A decimal ends if all of its denominator divides a power of ten.
    ends = 10 ** product.denominator.bit_length() % product.denominator == 0
    context = _EXACT if ends else _ROUNDED
    return context.divide(Decimal(product.numerator), Decimal(product.denominator))
