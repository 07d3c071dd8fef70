"""What is asked for: shares of the categories, and three months against the year before."""

import duckdb

from assets.signals.calendar import SPAN
from assets.signals.concentration import hhi_of_buyers
from assets.signals.raw_measures import add
from warehouse.methodology.signals import MOMENTUM_NEEDS

_PANEL = "procurement-demand"
_DIMS = {"dimension": "dimension", "dimension_value": "dimension_value"}
# Closings at which the processes of a month count for some row: of its own, or a year later.
_USED = f"{SPAN} + {MOMENTUM_NEEDS}"


def demand(sql: duckdb.DuckDBPyConnection) -> None:
    """Add the panel of demand."""
    sql.execute(f"""
CREATE OR REPLACE TEMP TABLE asked AS
SELECT c, m, category, currency, k, sum(n) AS n, sum(units) AS units FROM (
    SELECT *, CAST(unnest(range(greatest(kf, m), least(ku, m + {_USED}, closings))) AS INTEGER) AS k
    FROM (
        SELECT c, m, category, CASE WHEN units IS NOT NULL THEN currency END AS currency,
            kf, ku, closings, count(*) AS n, sum(units) AS units
        FROM states WHERE m >= 0 GROUP BY ALL
    )
) GROUP BY ALL""")
    sql.execute(f"""
CREATE OR REPLACE TEMP TABLE asked_all AS
SELECT c, m, k, sum(n) AS n_eligible, coalesce(sum(n) FILTER (category IS NOT NULL), 0) AS stating
FROM asked WHERE k < m + {SPAN} GROUP BY ALL""")
    _share_of_count(sql)
    _share_of_value(sql)
    _momentum(sql)
    hhi_of_buyers(sql)


def _grid(seen: str) -> str:
    """Write every closing from which a key was seen, in the order of ``seen`` (c, m, …, k0)."""
    return f"""
SELECT seen.* EXCLUDE (k0), CAST(unnest(range(k0, least(m + {SPAN}, closings))) AS INTEGER) AS k
FROM ({seen}) AS seen JOIN (SELECT c, closings FROM countries) USING (c)""".strip()


def _share_of_count(sql: duckdb.DuckDBPyConnection) -> None:
    seen = f"""SELECT c, m, category, min(k) AS k0 FROM asked
WHERE category IS NOT NULL AND k < m + {SPAN} GROUP BY ALL"""
    add(
        sql,
        _PANEL,
        "category_share_count",
        f"""
SELECT c, m, k, 'category' AS dimension, CAST(category AS VARCHAR) AS dimension_value,
    coalesce(n, 0) AS n1, coalesce(stating, 0) AS den,
    coalesce(n_eligible, 0) AS n_eligible, coalesce(stating, 0) AS n_observed
FROM ({_grid(seen)})
LEFT JOIN asked_all USING (c, m, k)
LEFT JOIN (SELECT c, m, category, k, sum(n) AS n FROM asked GROUP BY ALL)
    USING (c, m, category, k)""",
        **_DIMS,
    )


def _share_of_value(sql: duckdb.DuckDBPyConnection) -> None:
    seen = f"""
SELECT c, m, category, coalesce(currency, code) AS currency, min(k) AS k0
FROM asked JOIN homes USING (c)
WHERE category IS NOT NULL AND k < m + {SPAN} GROUP BY ALL"""
    add(
        sql,
        _PANEL,
        "category_share_value",
        f"""
WITH valued AS (
    SELECT c, m, currency, k, sum(units) AS total, sum(n) AS n_observed
    FROM asked WHERE category IS NOT NULL AND currency IS NOT NULL GROUP BY ALL
)
SELECT c, m, k, 'category' AS dimension, CAST(category AS VARCHAR) AS dimension_value, currency,
    coalesce(units, 0) AS n1, coalesce(total, 0) AS den,
    coalesce(n_eligible, 0) AS n_eligible, coalesce(n_observed, 0) AS n_observed
FROM ({_grid(seen)})
LEFT JOIN asked_all USING (c, m, k)
LEFT JOIN valued USING (c, m, currency, k)
LEFT JOIN asked USING (c, m, category, currency, k)""",
        currency="currency",
        **_DIMS,
    )


def _momentum(sql: duckdb.DuckDBPyConnection) -> None:
    """Add the change of three months against the same three of the year before."""
    sql.execute(f"""
CREATE OR REPLACE TEMP TABLE compared AS
WITH dims AS (
    SELECT c, m, k, 'all' AS dimension, 'all' AS dimension_value, n, TRUE AS stated FROM asked
    UNION ALL
    SELECT c, m, k, 'category', CAST(category AS VARCHAR), n, TRUE
    FROM asked WHERE category IS NOT NULL
),
placed AS (
    SELECT c, m + ahead AS m, k, dimension, dimension_value,
        sum(n) FILTER (ahead < 12) AS now, sum(n) FILTER (ahead >= 12) AS before
    FROM dims, (SELECT unnest([0, 1, 2, 12, 13, 14]) AS ahead)
    WHERE k >= m + ahead AND k < m + ahead + {SPAN} GROUP BY ALL
)
FROM placed""")
    seen = "SELECT c, m, dimension, dimension_value, min(k) AS k0 FROM compared GROUP BY ALL"
    rows = f"""
WITH eligible AS (
    SELECT c, m, k, coalesce(now, 0) + coalesce(before, 0) AS n_eligible
    FROM compared WHERE dimension = 'all'
),
stating AS (
    SELECT c, m, k, sum(coalesce(now, 0) + coalesce(before, 0)) AS stating
    FROM compared WHERE dimension = 'category' GROUP BY ALL
)
SELECT c, m, k, dimension, dimension_value,
    coalesce(now, 0) - coalesce(before, 0) AS n1,
    CASE WHEN m >= {MOMENTUM_NEEDS} THEN coalesce(before, 0) ELSE 0 END AS den,
    coalesce(n_eligible, 0) AS n_eligible,
    coalesce(CASE WHEN dimension = 'all' THEN n_eligible ELSE stating END, 0) AS n_observed
FROM ({_grid(seen)})
LEFT JOIN compared USING (c, m, k, dimension, dimension_value)
LEFT JOIN eligible USING (c, m, k)
LEFT JOIN stating USING (c, m, k)"""
    add(sql, _PANEL, "momentum_3m_yoy", rows, **_DIMS)
