"""Measures before division, as whole numbers per row and closing, and their exact division.

Panels add their rows to the table ``raw``; ``divide`` divides them outside DuckDB: a value is
rounded once, to ten digits, and operands are larger than the numbers of DuckDB.
"""

from collections.abc import Iterable

import duckdb
import pyarrow as pa

from assets.signals.exact_division import quotients, whole_numbers
from warehouse.methodology.signals import PANELS
from warehouse.record.tables import DECIMAL
from warehouse.sql_files import sql_file

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
