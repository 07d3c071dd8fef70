"""Division of whole columns: the digits of an exact division of each pair."""

from decimal import ROUND_HALF_EVEN, Context, Decimal

import numpy as np
import pyarrow as pa
from hypothesis import example, given
from hypothesis import strategies as st

from assets.derive.division import quotients, whole_numbers

_TEN = Context(prec=10, rounding=ROUND_HALF_EVEN)
_MANY = Context(prec=200)


def divided(dividend: int, divisor: int) -> Decimal | None:
    """One division by the decimal module: ten digits, at most 18 decimals."""
    result = _TEN.divide(Decimal(dividend), Decimal(divisor))
    exponent = result.as_tuple().exponent
    if isinstance(exponent, int) and exponent < -18:
        exact = _MANY.divide(Decimal(dividend), Decimal(divisor))
        result = exact.quantize(Decimal(1).scaleb(-18), ROUND_HALF_EVEN)
    return result if result.adjusted() < 20 else None


_NUMBERS = st.one_of(st.integers(-(10**6), 10**6), st.integers(-(10**60), 10**60))


@given(st.lists(st.tuples(_NUMBERS, st.one_of(st.integers(1, 10**6), st.integers(1, 10**60)))))
@example([(1, 3), (2, 3), (10**10 - 1, 10**10), (99999999995, 10**11), (10**11 - 1, 10**11)])
@example([(1, 2), (25, 10**11), (5, 10**19), (15, 10**19), (1, 10**40), (0, 7), (-5, 10**19)])
@example([(10**20, 1), (10**20 - 1, 1), (-(10**30), 7), (12345678905, 1), (12345678915, 1)])
def test_whole_columns_are_divided_as_exactly_as_one_pair(pairs: list[tuple[int, int]]) -> None:
    dividends = np.array([dividend for dividend, _ in pairs], object)
    divisors = np.array([divisor for _, divisor in pairs], object)
    expected = [divided(*pair) for pair in pairs]
    assert quotients(dividends, divisors).to_pylist() == expected


@given(st.lists(st.integers(-(10**38) + 1, 10**38 - 1)), st.integers(0, 3))
def test_integers_come_out_of_arrow_as_they_are(numbers: list[int], offset: int) -> None:
    column = pa.array([Decimal(number) for number in numbers], pa.decimal128(38, 0)).slice(offset)
    assert whole_numbers(column).tolist() == numbers[offset:]
