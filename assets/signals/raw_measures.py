"""Measures before division, as whole numbers per row and closing, and their exact division.

Panels add their rows to the table ``raw``; ``create_quotients`` divides them outside DuckDB: a
value is rounded once, to ten digits, and operands are larger than the numbers of DuckDB.
"""

from collections.abc import Iterable

import duckdb
import pyarrow as pa

from assets.signals.calendar import EVALUATIONS
from assets.signals.exact_division import quotients, whole_numbers
from warehouse.methodology.signals import PANELS
from warehouse.record.tables import DECIMAL

# A square of a large sum does not fit into 128 bits: it is summed as three products of the
# halves of its base, split at this number.
HALF = 100_000_000_000

# The value is
#   of kind ratio: term1 / denominator
#   of kind hhi:   (term1 * HALF² + 2 * term2 * HALF + term3) / denominator²
#   of kind pair:  the mean of term1 / term2 and term3 / denominator.
# A denominator of 0 means that nothing was observed: there is no value.
_RAW = """
CREATE TEMP TABLE raw (
    panel {panels}, country_no INTEGER, month_no INTEGER, dimension {dimensions},
    dimension_value VARCHAR, party_no INTEGER, measure {measures}, currency INTEGER,
    closing_no INTEGER, kind ENUM ('ratio', 'hhi', 'pair'),
    term1 HUGEINT, term2 HUGEINT, term3 HUGEINT, denominator HUGEINT,
    n_eligible BIGINT, n_observed BIGINT, n_withheld BIGINT,
    -- no other closing of the month has a row of this key
    is_only BOOLEAN DEFAULT FALSE
)"""


def _enum(names: Iterable[str]) -> str:
    """Return a type of DuckDB for a few texts: compared as numbers, in the order of the texts."""
    listed = ", ".join(f"'{name}'" for name in sorted(set(names)))
    return f"ENUM ({listed})"


PANEL_TYPE = _enum(panel.key for panel in PANELS)
MEASURE_TYPE = _enum(measure.key for panel in PANELS for measure in panel.measures)
_DIMENSION_TYPE = _enum(dimension for panel in PANELS for dimension in panel.dimensions)
_COUNTS = ("n_eligible", "n_observed", "n_withheld")
_NUMBERS = ("term1", "term2", "term3", "denominator", *_COUNTS)
_COLUMNS = (
    *("country_no", "month_no", "dimension", "dimension_value", "party_no", "currency"),
    *("closing_no", "kind", *_NUMBERS),
)
# What a column is if a panel does not say; the others are columns of its statement.
_DEFAULTS = {
    "dimension": "'all'",
    "dimension_value": "'all'",
    "party_no": "NULL",
    "currency": "NULL",
    "kind": "'ratio'",
    "term2": "NULL",
    "term3": "NULL",
    "n_withheld": "0",
}

_BATCH = 100_000


def create_raw(sql: duckdb.DuckDBPyConnection) -> None:
    """Create the empty table ``raw``."""
    sql.execute(_RAW.format(panels=PANEL_TYPE, measures=MEASURE_TYPE, dimensions=_DIMENSION_TYPE))


def add_measure(
    sql: duckdb.DuckDBPyConnection, panel: str, measure: str, rows: str, **columns: str
) -> None:
    """Insert the rows of a measure; ``columns`` are SQL for those not named as in ``raw``."""
    selected = {name: columns.get(name, _DEFAULTS.get(name, name)) for name in _COLUMNS}
    values = ", ".join(
        # No nulls: quotients are joined back on these numbers, and null equals nothing.
        f"coalesce({value}, 0)" if name in _NUMBERS else value
        for name, value in selected.items()
    )
    sql.execute(
        f"INSERT INTO raw BY NAME SELECT '{panel}' AS panel, '{measure}' AS measure, * "
        f"FROM (SELECT {values} FROM ({rows})) AS added({', '.join(_COLUMNS)})"
    )


def at_each_closing(evaluations: str = str(EVALUATIONS)) -> str:
    """Return SQL that repeats a state for each closing at which its month is evaluated."""
    return (
        # Not before its own closing, nor after its last evaluation: a month is final then.
        "CAST(unnest(range(greatest(known_from_closing, month_no), "
        f"least(known_until_closing, month_no + {evaluations}, closing_count))) AS INTEGER) "
        "AS closing_no"
    )


def in_both_dimensions(relation: str) -> str:
    """Return SQL for rows of the whole country, and again for each category."""
    return (
        f"SELECT *, 'all' AS dimension, 'all' AS dimension_value FROM {relation} UNION ALL "
        f"SELECT *, 'category', CAST(category AS VARCHAR) FROM {relation} "
        "WHERE category IS NOT NULL"
    )


def with_ends(rows: str, keys: str, closings: str | None = None) -> str:
    """Return SQL that adds a row of zeros after each run of closings that have a row.

    Without it, a row whose processes all moved to another month would hold for ever. ``rows`` has
    every closing, or those of the table ``closings``, which has the ``next_change`` of each.
    """
    if closings is None:
        changes = "JOIN (SELECT country_no, closing_count FROM countries) USING (country_no)"
        next_change = f"""CASE WHEN closing_no + 1 < least(month_no + {EVALUATIONS}, closing_count)
            THEN closing_no + 1 END"""
    else:
        changes = f"JOIN {closings} USING (country_no, month_no, closing_no)"
        next_change = "next_change"
    return f"""
WITH dense AS MATERIALIZED ({rows}),
followed AS (
    SELECT {keys}, {next_change} AS next_change,
        lead(closing_no, 1, -1) OVER (PARTITION BY {keys} ORDER BY closing_no) AS next_closing
    FROM dense {changes}
)
SELECT * FROM dense
UNION ALL BY NAME
SELECT {keys}, next_change AS closing_no, 0 AS denominator, 0 AS n_eligible, 0 AS n_observed
FROM followed
-- null after the last closing at which the month is evaluated
WHERE next_closing <> next_change""".strip()


def create_quotients(sql: duckdb.DuckDBPyConnection) -> None:
    """Create ``quotients``: the value of each distinct division in ``raw``."""
    operands = "kind, term1, term2, term3, denominator"
    sql.execute(f"""
CREATE TEMP TABLE divisions AS
SELECT row_number() OVER () AS division_no, {operands}
-- most rows repeat the division of another row or closing
FROM (SELECT DISTINCT {operands} FROM raw WHERE denominator > 0 AND n_observed > 0)""")
    divisions = sql.sql(
        "SELECT * REPLACE (CAST(kind AS VARCHAR) AS kind) FROM divisions"
    ).to_arrow_table()
    values = pa.table({"division_no": divisions["division_no"], "value": _values(divisions)})
    sql.register("divided", values)
    sql.execute("CREATE TEMP TABLE quotients AS FROM divisions JOIN divided USING (division_no)")
    sql.unregister("divided")
    sql.execute("DROP TABLE divisions")


def create_coverages(sql: duckdb.DuckDBPyConnection) -> None:
    """Create ``coverages``: the share of each distinct pair of counts in ``valued``."""
    pairs = sql.sql(
        "SELECT DISTINCT n_observed, n_eligible FROM valued WHERE n_eligible > 0"
    ).to_arrow_table()
    observed, eligible = (column.to_numpy().astype(object) for column in pairs.columns)
    sql.register("coverage_rows", pairs.append_column("coverage", quotients(observed, eligible)))
    sql.execute("CREATE TEMP TABLE coverages AS FROM coverage_rows")
    sql.unregister("coverage_rows")


def _values(divisions: pa.Table) -> pa.ChunkedArray:
    """Return the value of each division, a batch at a time."""
    return pa.chunked_array(
        [_batch_values(batch) for batch in divisions.to_batches(_BATCH)], DECIMAL
    )


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
