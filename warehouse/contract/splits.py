"""Splits of shares as they were known on a day, and figures in the shares of that day.

A filing proves a split where it restates numbers of shares, or one and an amount per share, by one
whole ratio (``split_ratio``). Later filings restate older periods by the same: that is no second
split. A figure of a day on which figures were still stated in the old shares is multiplied; one
that was published after such days and before the proof may be in either, and has no adjusted value.
"""

from collections.abc import Iterable, Sequence
from datetime import date
from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from math import prod
from typing import NamedTuple

import msgspec

from warehouse.methodology.line_items import LINE_ITEMS
from warehouse.methodology.metrics import METRIC_DIGITS
from warehouse.serve.build import Build
from warehouse.serve.rows import equal, fetch_page, known_on, one_of
from warehouse.shared.json_encoding import encode

_PER_SHARE = frozenset(item.name for item in LINE_ITEMS if item.measure == "money per share")
_SHARES = frozenset(item.name for item in LINE_ITEMS if item.measure == "shares")
# Digits in which every product of a stored figure is exact.
_EXACT, _ROUNDED = (Context(digits, ROUND_HALF_EVEN) for digits in (80, METRIC_DIGITS))


class _Fact(msgspec.Struct):
    """The members of a row that decide about a split."""

    line_item: str
    unit: str
    basis: str
    period_start: date | None
    period_end: date
    vintage: int
    available_at: date | None
    value_reported: Decimal | None
    split_ratio: str | None = None


_DECODER = msgspec.json.Decoder(_Fact)


class Split(NamedTuple):
    """A split: how many shares one became, the day of its proof, and the last day in old shares."""

    factor: Fraction
    known_on: date
    old_until: date


def splits_known(build: Build, owner: str, as_of: date | None) -> list[Split]:
    """Return the splits of an issuer that a filing had proven by a day, oldest first."""
    of_shares = [*equal(organisation=owner), one_of("line_item", sorted(_PER_SHARE | _SHARES))]
    rows = fetch_page(build, "fundamentals", [*of_shares, *known_on(as_of, "all")], None).rows
    return _splits(_DECODER.decode(row) for row in rows)


def _splits(facts: Iterable[_Fact]) -> list[Split]:
    # The vintages of a figure, and the days on which they became known.
    figures: dict[tuple[object, ...], dict[int, tuple[date, _Fact]]] = {}
    for fact in facts:
        if fact.available_at is not None:
            figure = (fact.line_item, fact.unit, fact.basis, fact.period_start, fact.period_end)
            figures.setdefault(figure, {})[fact.vintage] = fact.available_at, fact
    proofs = [
        (day, vintages[number - 1][0], _factor(fact.split_ratio))
        for vintages in figures.values()
        for number, (day, fact) in vintages.items()
        if fact.split_ratio is not None and number - 1 in vintages
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


def _factor(ratio: str) -> Fraction:
    new_shares, old_shares = map(int, ratio.split(":"))
    return Fraction(new_shares, old_shares)


def with_splits(rows: Sequence[bytes], splits: Sequence[Split]) -> list[bytes]:
    """Add to rows what their figures are in the shares of the day, and by which factor."""
    return [_adjusted(row, splits) for row in rows]


def _adjusted(row: bytes, splits: Sequence[Split]) -> bytes:
    fact = _DECODER.decode(row)
    factor, value = None, None
    if fact.line_item in _PER_SHARE | _SHARES and fact.available_at is not None:
        later = [split for split in splits if fact.available_at < split.known_on]
        if all(fact.available_at <= split.old_until for split in later):
            factor = prod((split.factor for split in later), start=Fraction(1))
    if factor is not None and fact.value_reported is not None:
        times = factor if fact.line_item in _SHARES else 1 / factor
        value = _times(fact.value_reported, times)
    ratio = None if factor is None else f"{factor.numerator}:{factor.denominator}"
    members = {"split_factor": ratio, "adjusted_value": value}
    return row[:-1] + b"," + encode(members)[1:]


def _times(value: Decimal, times: Fraction) -> Decimal:
    """Return a product: exact, or with as many digits as a metric if it does not end."""
    product = Fraction(value) * times
    # A decimal ends if all of its denominator divides a power of ten.
    ends = 10 ** product.denominator.bit_length() % product.denominator == 0
    context = _EXACT if ends else _ROUNDED
    return context.divide(Decimal(product.numerator), Decimal(product.denominator))
