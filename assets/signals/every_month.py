"""A row for every month while a country publishes: one with nothing in scope says so.

A dimension has rows from the first month in which it is in scope. An empty month has one only if
the country published on after it: nothing is known of the months since its last release. No
look-ahead: the row begins at the closing of its month, or at the later one by which the dimension,
and a release dated after the month, were first known.
"""

from collections.abc import Sequence

import duckdb

from assets.signals.calendar import EVALUATIONS, NEVER

# Buyers and issuers have rows while they are in the window; there are too many that bought once.
_DIMENSIONS = ("all", "category", "procurement_method")
_KEY = ("panel", "measure", "dimension", "dimension_value", "currency")


def from_first_month(
    keys: str, columns: Sequence[str], known_months: str = "FROM continued"
) -> str:
    """Return SQL for keys in every known month from the first in which they occur.

    ``keys`` selects country_no, month_no, the ``columns`` and the ``first_closing`` at which the
    key is known in that month; so does the result. ``known_months`` selects country_no, month_no
    and the ``first_closing`` from which a key that does not occur in the month may have a row.
    """
    key = ", ".join(("country_no", *columns))
    return f"""
WITH known_months AS ({known_months}),
found AS (
    SELECT {key}, month_no, first_closing,
        lead(month_no) OVER by_month AS next_month,
        min(first_closing) OVER by_month AS known_closing,
        min(first_closing) OVER (PARTITION BY {key} ORDER BY month_no
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS known_before
    FROM ({keys}) WINDOW by_month AS (PARTITION BY {key} ORDER BY month_no)
),
later AS (
    SELECT {key}, CAST(unnest(range(month_no + 1, coalesce(next_month, closing_count)))
        AS INTEGER) AS month_no, known_closing, closing_count
    FROM found JOIN (SELECT country_no, closing_count FROM countries) USING (country_no)
)
SELECT {key}, month_no, least(found.first_closing, greatest(month_no,
    coalesce(known_before, found.first_closing), coalesce(known_months.first_closing, {NEVER})))
        AS first_closing
FROM found LEFT JOIN known_months USING (country_no, month_no)
UNION ALL BY NAME
SELECT {key}, month_no, greatest(month_no, known_closing, first_closing) AS first_closing
FROM later JOIN known_months USING (country_no, month_no)
-- after its last evaluation a month is final
WHERE greatest(month_no, known_closing, first_closing)
    < least(month_no + {EVALUATIONS}, closing_count)""".strip()


def add_empty_months(sql: duckdb.DuckDBPyConnection) -> None:
    """Add a row of zeros to ``raw`` for every known month in which nothing was in scope."""
    dimensions = ", ".join(f"'{dimension}'" for dimension in _DIMENSIONS)
    # An amount in a foreign currency is in scope in the months that have one.
    sql.execute(f"""
CREATE OR REPLACE TEMP TABLE raw_keys AS
SELECT country_no, month_no, {", ".join(f"raw.{name}" for name in _KEY)},
    min(closing_no) AS first_closing
FROM raw LEFT JOIN home_currencies AS home USING (country_no)
WHERE dimension IN ({dimensions}) AND (raw.currency IS NULL OR raw.currency = home.currency)
GROUP BY ALL""")
    same_key = " AND ".join(
        f"every.{name} IS NOT DISTINCT FROM raw_keys.{name}"
        for name in ("country_no", "month_no", *_KEY)
    )
    numbers = ("term1", "term2", "term3", "denominator", "n_eligible", "n_observed", "n_withheld")
    sql.execute(f"""
INSERT INTO raw BY NAME
SELECT every.country_no, every.month_no, {", ".join(f"every.{name}" for name in _KEY)},
    CAST(NULL AS INTEGER) AS party_no, every.first_closing AS closing_no, 'ratio' AS kind,
    {", ".join(f"0 AS {name}" for name in numbers)}
FROM ({from_first_month("FROM raw_keys", _KEY)}) AS every
LEFT JOIN raw_keys ON {same_key}
WHERE raw_keys.first_closing IS NULL OR every.first_closing < raw_keys.first_closing""")
    sql.execute("DROP TABLE raw_keys")
