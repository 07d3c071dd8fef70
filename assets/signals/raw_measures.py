"""Measures before they are divided: whole numbers for each row and closing."""

from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction

import duckdb
import pyarrow as pa

from assets.signals.calendar import SPAN
from warehouse.methodology.signals import SIGNAL_DIGITS
from warehouse.record.tables import DECIMAL

HALF = 100_000_000_000

# ``value`` is n1 / den; of kind hhi (n1 E22 + 2 n2 E11 + n3) / den²; of kind pair, the mean of
# n1 / n2 and n3 / den. Nothing is to be divided where den is 0: nothing was observed then.
_RAW = """
CREATE TEMP TABLE raw (
    panel VARCHAR, c INTEGER, m INTEGER, dimension VARCHAR, dimension_value VARCHAR,
    party INTEGER, measure VARCHAR, currency INTEGER, k INTEGER, kind VARCHAR,
    n1 HUGEINT, n2 HUGEINT, n3 HUGEINT, den HUGEINT,
    n_eligible BIGINT, n_observed BIGINT, n_withheld BIGINT
)"""
_GIVEN = (
    "c",
    "m",
    "dimension",
    "dimension_value",
    "party",
    "currency",
    "k",
    "kind",
    "n1",
    "n2",
    "n3",
    "den",
    "n_eligible",
    "n_observed",
    "n_withheld",
)
_ELSE = {
    "dimension": "'all'",
    "dimension_value": "'all'",
    "party": "NULL",
    "currency": "NULL",
    "kind": "'ratio'",
    "n2": "NULL",
    "n3": "NULL",
    "n_withheld": "0",
}
_NUMBERS = ("n1", "n2", "n3", "den", "n_eligible", "n_observed", "n_withheld")


def make(sql: duckdb.DuckDBPyConnection) -> None:
    """Make the table, empty."""
    sql.execute(_RAW)


def add(sql: duckdb.DuckDBPyConnection, panel: str, measure: str, rows: str, **given: str) -> None:
    """Add the rows of a measure; ``given`` says what a column is where not its own name."""
    stated = {name: given.get(name, _ELSE.get(name, name)) for name in _GIVEN}
    values = ", ".join(
        f"coalesce({value}, 0)" if name in _NUMBERS else value for name, value in stated.items()
    )
    sql.execute(
        f"INSERT INTO raw BY NAME SELECT '{panel}' AS panel, '{measure}' AS measure, * "
        f"FROM (SELECT {values} FROM ({rows})) AS made({', '.join(_GIVEN)})"
    )


def at_each_closing() -> str:
    """Write the closings at which a month ``m`` is evaluated while a state holds."""
    return f"CAST(unnest(range(greatest(kf, m), least(ku, m + {SPAN}, closings))) AS INTEGER) AS k"


def in_both_dimensions(counted: str) -> str:
    """Write rows for the whole country, and again for each category."""
    return (
        f"SELECT *, 'all' AS dimension, 'all' AS dimension_value FROM {counted} UNION ALL "
        f"SELECT *, 'category', CAST(category AS VARCHAR) FROM {counted} WHERE category IS NOT NULL"
    )


def with_ends(rows: str, keys: str) -> str:
    """Add to dense rows one that says so when nothing is in scope any more."""
    return f"""
WITH made AS MATERIALIZED ({rows}),
followed AS (
    SELECT {keys}, closings, k AS last_k,
        lead(k, 1, -1) OVER (PARTITION BY {keys} ORDER BY k) AS next_k
    FROM made JOIN (SELECT c, closings FROM countries) USING (c)
)
SELECT * FROM made
UNION ALL BY NAME
SELECT {keys}, last_k + 1 AS k, 0 AS den, 0 AS n_eligible, 0 AS n_observed
FROM followed WHERE next_k <> last_k + 1 AND last_k + 1 < least(m + {SPAN}, closings)""".strip()


_TEN = Context(prec=SIGNAL_DIGITS, rounding=ROUND_HALF_EVEN)
_MANY = Context(prec=80)
_LAST_PLACE = Decimal(1).scaleb(-18)
_BATCH = 100_000


def quotients(sql: duckdb.DuckDBPyConnection) -> None:
    """Make ``quotients``: the value of each division that the raw rows ask for."""
    asked = "kind, n1, n2, n3, den"
    sql.execute(f"""
CREATE TEMP TABLE divisions AS
SELECT row_number() OVER () AS qid, {asked}
FROM (SELECT DISTINCT {asked} FROM raw WHERE den > 0 AND n_observed > 0)""")
    values = []
    given = sql.execute(f"SELECT {asked} FROM divisions ORDER BY qid")
    while batch := given.fetchmany(_BATCH):
        values.append(pa.array([value(*row) for row in batch], DECIMAL))
    column = pa.chunked_array(values, DECIMAL)
    sql.register("divided", pa.table({"qid": pa.array(range(1, len(column) + 1)), "value": column}))
    sql.execute("CREATE TEMP TABLE quotients AS FROM divisions JOIN divided USING (qid)")
    sql.unregister("divided")
    sql.execute("DROP TABLE divisions")


def shares(sql: duckdb.DuckDBPyConnection) -> None:
    """Make ``shares``: the coverage of each pair of counts in ``valued``."""
    pairs = sql.execute(
        "SELECT DISTINCT n_observed, n_eligible FROM valued WHERE n_eligible > 0"
    ).fetchall()
    observed, eligible = zip(*pairs, strict=True) if pairs else ((), ())
    found = pa.table(
        {
            "n_observed": pa.array(observed, pa.int64()),
            "n_eligible": pa.array(eligible, pa.int64()),
            "coverage": pa.array([rounded(*pair) for pair in pairs], DECIMAL),
        }
    )
    sql.register("found", found)
    sql.execute("CREATE TEMP TABLE shares AS FROM found")
    sql.unregister("found")


def value(kind: str, n1: int, n2: int, n3: int, den: int) -> Decimal | None:
    """Divide as the kind says; None where the record has no exact place for the value."""
    if kind == "ratio":
        return rounded(n1, den)
    if kind == "hhi":
        return rounded(n1 * HALF * HALF + 2 * n2 * HALF + n3, den * den)
    mean = (Fraction(n1, n2) + Fraction(n3, den)) / 2
    return rounded(mean.numerator, mean.denominator)


def rounded(number: int, by: int) -> Decimal | None:
    """Divide two whole numbers, rounded once."""
    found = _TEN.divide(Decimal(number), Decimal(by))
    exponent = found.as_tuple().exponent
    if isinstance(exponent, int) and exponent < -18:
        found = _MANY.divide(Decimal(number), Decimal(by)).quantize(_LAST_PLACE, ROUND_HALF_EVEN)
    return found if found.adjusted() < 20 else None
