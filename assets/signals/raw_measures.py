"""Measures before division, as whole numbers per row and closing, and their exact division.

Panels add their rows to the table ``raw`` with ``add_measure``; ``create_quotients`` divides them
in Python, since a value is rounded once, to ten digits.
"""

from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction

import duckdb
import pyarrow as pa

from assets.signals.calendar import EVALUATIONS
from warehouse.methodology.signals import SIGNAL_DIGITS
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
    panel VARCHAR, country_no INTEGER, month_no INTEGER, dimension VARCHAR,
    dimension_value VARCHAR, party_no INTEGER, measure VARCHAR, currency INTEGER,
    closing_no INTEGER, kind VARCHAR,
    term1 HUGEINT, term2 HUGEINT, term3 HUGEINT, denominator HUGEINT,
    n_eligible BIGINT, n_observed BIGINT, n_withheld BIGINT
)"""
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

_TEN_DIGITS = Context(prec=SIGNAL_DIGITS, rounding=ROUND_HALF_EVEN)
_MANY_DIGITS = Context(prec=80)
_LAST_DECIMAL = Decimal(1).scaleb(-18)
_BATCH = 100_000


def create_raw(sql: duckdb.DuckDBPyConnection) -> None:
    """Create the empty table ``raw``."""
    sql.execute(_RAW)


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


def with_ends(rows: str, keys: str) -> str:
    """Return SQL that adds a row of zeros after each run of closings that have a row.

    Without it, a row whose processes all moved to another month would hold for ever.
    """
    return f"""
WITH dense AS MATERIALIZED ({rows}),
followed AS (
    SELECT {keys}, closing_count, closing_no AS last_closing,
        lead(closing_no, 1, -1) OVER (PARTITION BY {keys} ORDER BY closing_no) AS next_closing
    FROM dense JOIN (SELECT country_no, closing_count FROM countries) USING (country_no)
)
SELECT * FROM dense
UNION ALL BY NAME
SELECT {keys}, last_closing + 1 AS closing_no, 0 AS denominator, 0 AS n_eligible, 0 AS n_observed
FROM followed
WHERE next_closing <> last_closing + 1
  AND last_closing + 1 < least(month_no + {EVALUATIONS}, closing_count)""".strip()


def create_quotients(sql: duckdb.DuckDBPyConnection) -> None:
    """Create ``quotients``: the value of each distinct division in ``raw``."""
    operands = "kind, term1, term2, term3, denominator"
    sql.execute(f"""
CREATE TEMP TABLE divisions AS
SELECT row_number() OVER () AS division_no, {operands}
-- most rows repeat the division of another row or closing
FROM (SELECT DISTINCT {operands} FROM raw WHERE denominator > 0 AND n_observed > 0)""")
    values = []
    divisions = sql.execute(f"SELECT {operands} FROM divisions ORDER BY division_no")
    while batch := divisions.fetchmany(_BATCH):
        values.append(pa.array([quotient(*row) for row in batch], DECIMAL))
    column = pa.chunked_array(values, DECIMAL)
    numbers = pa.array(range(1, len(column) + 1))
    sql.register("divided", pa.table({"division_no": numbers, "value": column}))
    sql.execute("CREATE TEMP TABLE quotients AS FROM divisions JOIN divided USING (division_no)")
    sql.unregister("divided")
    sql.execute("DROP TABLE divisions")


def create_coverages(sql: duckdb.DuckDBPyConnection) -> None:
    """Create ``coverages``: the share of each distinct pair of counts in ``valued``."""
    pairs = sql.execute(
        "SELECT DISTINCT n_observed, n_eligible FROM valued WHERE n_eligible > 0"
    ).fetchall()
    observed, eligible = zip(*pairs, strict=True) if pairs else ((), ())
    rows = pa.table(
        {
            "n_observed": pa.array(observed, pa.int64()),
            "n_eligible": pa.array(eligible, pa.int64()),
            "coverage": pa.array([divide(*pair) for pair in pairs], DECIMAL),
        }
    )
    sql.register("coverage_rows", rows)
    sql.execute("CREATE TEMP TABLE coverages AS FROM coverage_rows")
    sql.unregister("coverage_rows")


def quotient(kind: str, term1: int, term2: int, term3: int, denominator: int) -> Decimal | None:
    """Divide as the kind says; None if the value does not fit into a DECIMAL(38, 18)."""
    if kind == "ratio":
        return divide(term1, denominator)
    if kind == "hhi":
        squares = term1 * HALF * HALF + 2 * term2 * HALF + term3
        return divide(squares, denominator * denominator)
    mean = (Fraction(term1, term2) + Fraction(term3, denominator)) / 2
    return divide(mean.numerator, mean.denominator)


def divide(dividend: int, divisor: int) -> Decimal | None:
    """Divide two whole numbers, rounded once to ten digits and at most 18 decimals."""
    result = _TEN_DIGITS.divide(Decimal(dividend), Decimal(divisor))
    exponent = result.as_tuple().exponent
    if isinstance(exponent, int) and exponent < -18:
        # Divided anew: rounding the rounded result could be off by one.
        exact = _MANY_DIGITS.divide(Decimal(dividend), Decimal(divisor))
        result = exact.quantize(_LAST_DECIMAL, ROUND_HALF_EVEN)
    # DECIMAL(38, 18) has 20 digits before the point.
    return result if result.adjusted() < 20 else None
