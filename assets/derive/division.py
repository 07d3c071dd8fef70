"""Measures before division, as whole numbers, and their exact division, rounded once.

Panels add their rows to the table ``raw``; ``divide`` divides them outside DuckDB: a value is
rounded once, to ten digits, and operands are larger than the numbers of DuckDB.
"""

from collections.abc import Iterable
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from warehouse.methodology.signals import PANELS, SIGNAL_DIGITS
from warehouse.record.tables import DECIMAL
from warehouse.shared.data_files import sql_file

# Exact division of many whole numbers at once, rounded once to ten digits.
#
# Numbers of any size are Python integers in NumPy arrays: each step is one operation on whole
# columns, and none rounds before the last.

Integers = npt.NDArray[np.object_]

_DECIMALS = 18
_DIGITS_OF_DECIMAL = 38
_BITS = 64
_POWERS = np.array([10**exponent for exponent in range(160)], object)


def whole_numbers(decimals: pa.Array) -> Integers:
    """Return the integers behind decimals: multiples of their last digit. Null becomes 0.

    The 128-bit integers of Arrow's buffer are read directly: going through Decimal objects is many
    times slower.
    """
    if not len(decimals):
        return np.empty(0, object)
    # Little-endian two's complement: the low half is unsigned, the high half has the sign.
    halves = np.frombuffer(decimals.buffers()[1], "<i8").reshape(-1, 2)
    halves = halves[decimals.offset : decimals.offset + len(decimals)]
    low = halves[:, 0].view("<u8").astype(object)
    return np.asarray((halves[:, 1].astype(object) << _BITS) | low, object)


def quotients(dividends: Integers, divisors: Integers) -> pa.Array:
    """Return dividends / positive divisors with ten digits and at most 18 decimals, half to even.

    A result with more than 20 digits before the point is null: DECIMAL(38, 18) cannot hold it.
    """
    if not len(dividends):
        return pa.array([], DECIMAL)
    sizes, is_negative = np.abs(dividends), dividends < 0
    # How many decimals give ten digits: an estimate that may be off by one.
    ratio = sizes.astype(np.float64) / divisors.astype(np.float64)
    magnitude = np.floor(np.log10(np.where(ratio > 0, ratio, 1.0))).astype(np.int64)
    decimals = np.minimum(SIGNAL_DIGITS - 1 - magnitude, _DECIMALS)
    rounded = _rounded(sizes, divisors, decimals)
    # The estimate of the size, or rounding up to the next power of ten, gave a digit too many.
    longer = rounded >= 10**SIGNAL_DIGITS
    if longer.any():
        decimals[longer] -= 1
        rounded[longer] = _rounded(sizes[longer], divisors[longer], decimals[longer])
    shorter = (rounded < 10 ** (SIGNAL_DIGITS - 1)) & (decimals < _DECIMALS) & (sizes != 0)
    if shorter.any():
        decimals[shorter] += 1
        rounded[shorter] = _rounded(sizes[shorter], divisors[shorter], decimals[shorter])
    whole = rounded * _POWERS[_DECIMALS - decimals]
    fits = whole < 10**_DIGITS_OF_DECIMAL
    return _decimals(np.where(is_negative, -whole, whole), fits.astype(bool))


def _rounded(dividends: Integers, divisors: Integers, decimals: npt.NDArray[np.int64]) -> Integers:
    """Return dividends * 10**decimals / divisors as whole numbers, half to even."""
    scaled = dividends * _POWERS[np.maximum(decimals, 0)]
    divisors = divisors * _POWERS[np.maximum(-decimals, 0)]
    whole = scaled // divisors
    twice = (scaled - whole * divisors) * 2
    up = (twice > divisors) | ((twice == divisors) & (whole % 2 == 1))
    return np.asarray(whole + up.astype(bool).astype(object), object)


def _decimals(whole: Integers, fits: npt.NDArray[np.bool_]) -> pa.Array:
    """Return integers as the digits of DECIMAL(38, 18); null where they do not fit."""
    kept: Any = np.where(fits, whole, 0)
    halves = np.empty((len(kept), 2), "<i8")
    halves[:, 0] = (kept & (2**_BITS - 1)).astype(np.uint64).view(np.int64)
    halves[:, 1] = (kept >> _BITS).astype(np.int64)
    buffers = [pa.array(fits).buffers()[1], pa.py_buffer(halves.tobytes())]
    return pa.Array.from_buffers(DECIMAL, len(kept), buffers)


# A square of a large sum does not fit into 128 bits: it is summed as three products of the
# halves of its base, split at this number.
HALF = 100_000_000_000


def _enum(names: Iterable[str]) -> str:
    """Return a type of DuckDB for a few texts: compared as numbers, in the order of the texts."""
    listed = ", ".join(f"'{name}'" for name in sorted(set(names)))
    return f"ENUM ({listed})"


PANEL_TYPE = _enum(panel.key for panel in PANELS)
MEASURE_TYPE = _enum(measure.key for panel in PANELS for measure in panel.measures)

_SQL = sql_file(
    __name__,
    "raw_measures",
    fragments={
        "panels": PANEL_TYPE,
        "measures": MEASURE_TYPE,
        "dimensions": _enum(dimension for panel in PANELS for dimension in panel.dimensions),
    },
)
_BATCH = 100_000


def create_raw(sql: duckdb.DuckDBPyConnection) -> None:
    """Create the empty table ``raw``, to which panels add their rows."""
    _SQL.run_all(sql)


def divide(divisions: pa.Table) -> pa.Table:
    """Return the value of each division, a batch at a time."""
    values = pa.chunked_array(
        [_batch_values(batch) for batch in divisions.to_batches(_BATCH)], DECIMAL
    )
    return pa.table({"division_no": divisions["division_no"], "value": values})


def shares(pairs: pa.Table) -> pa.Table:
    """Return pairs of counts with the ``coverage``, the share that the first has in the second."""
    observed, eligible = (column.to_numpy().astype(object) for column in pairs.columns)
    return pairs.append_column("coverage", quotients(observed, eligible))


def _batch_values(divisions: pa.RecordBatch) -> pa.Array:
    kinds = divisions.column("kind").to_numpy(zero_copy_only=False)
    term1, term2, term3, denominator = (
        whole_numbers(divisions.column(name)) for name in ("term1", "term2", "term3", "denominator")
    )
    hhi, pair = kinds == "hhi", kinds == "pair"
    dividends, divisors = term1.copy(), denominator.copy()
    dividends[hhi] = term1[hhi] * HALF * HALF + term2[hhi] * (2 * HALF) + term3[hhi]
    divisors[hhi] = denominator[hhi] * denominator[hhi]
    dividends[pair] = term1[pair] * denominator[pair] + term3[pair] * term2[pair]
    divisors[pair] = 2 * term2[pair] * denominator[pair]
    return quotients(dividends, divisors)
