"""Division of whole numbers to ten significant digits, half even."""

from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction

import duckdb
import pyarrow as pa

from assets.signals.concentration import HALF
from warehouse.methodology.signals import DIGITS
from warehouse.record.schema import DECIMAL

_TEN = Context(prec=DIGITS, rounding=ROUND_HALF_EVEN)
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
