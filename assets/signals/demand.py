"""What public buyers ask for: shares of categories, and three months compared with last year's."""

import duckdb

from assets.signals.calendar import EVALUATIONS
from assets.signals.concentration import add_buyer_hhi
from assets.signals.every_month import from_first_month
from assets.signals.raw_measures import add_measure, at_each_closing
from warehouse.methodology.signals import MOMENTUM_NEEDS

_PANEL = "procurement-demand"
_DIMENSIONS = {"dimension": "dimension", "dimension_value": "dimension_value"}


def add_demand(sql: duckdb.DuckDBPyConnection) -> None:
    """Add the panel of demand."""
    # A month counts in its own rows and, a year later, in those of the momentum: it is needed at
    # that many more closings.
    sql.execute(f"""
CREATE OR REPLACE TEMP TABLE demand AS
SELECT country_no, month_no, category, currency, closing_no, sum(processes) AS processes,
    sum(units) AS units
FROM (
    SELECT *, {at_each_closing(f"{EVALUATIONS} + {MOMENTUM_NEEDS}")}
    FROM (
        SELECT country_no, month_no, category,
            -- a currency without an amount says nothing about value
            CASE WHEN units IS NOT NULL THEN currency END AS currency,
            known_from_closing, known_until_closing, closing_count, count(*) AS processes,
            sum(units) AS units
        FROM states WHERE month_no >= 0 GROUP BY ALL
    )
) GROUP BY ALL""")
    sql.execute(f"""
CREATE OR REPLACE TEMP TABLE demand_totals AS
SELECT country_no, month_no, closing_no, sum(processes) AS n_eligible,
    coalesce(sum(processes) FILTER (category IS NOT NULL), 0) AS with_category
FROM demand WHERE closing_no < month_no + {EVALUATIONS} GROUP BY ALL""")
    _add_share_of_count(sql)
    _add_share_of_value(sql)
    _add_momentum(sql)
    add_buyer_hhi(sql)


def _every_closing(keys: str) -> str:
    """Return SQL for a row per key and closing, from the first closing at which the key occurs.

    A key that no longer occurs then has a row of zero, and does not keep its last value.
    ``keys`` selects country_no, month_no, the rest of the key and its ``first_closing``.
    """
    return f"""
SELECT keys.* EXCLUDE (first_closing),
    CAST(unnest(range(first_closing, least(month_no + {EVALUATIONS}, closing_count)))
        AS INTEGER) AS closing_no
FROM ({keys}) AS keys
JOIN (SELECT country_no, closing_count FROM countries) USING (country_no)""".strip()


def _known_months(counted: str) -> str:
    """Return SQL for the months in which a category without processes has a row.

    That is also a month with other processes: the share is 0 then, whatever is published later.
    """
    return f"""
SELECT country_no, month_no, min(first_closing) AS first_closing FROM (
    FROM continued
    UNION ALL BY NAME
    SELECT country_no, month_no, closing_no AS first_closing FROM {counted}
) GROUP BY ALL""".strip()


def _add_share_of_count(sql: duckdb.DuckDBPyConnection) -> None:
    keys = f"""SELECT country_no, month_no, category, min(closing_no) AS first_closing FROM demand
WHERE category IS NOT NULL AND closing_no < month_no + {EVALUATIONS} GROUP BY ALL"""
    add_measure(
        sql,
        _PANEL,
        "category_share_count",
        f"""
SELECT country_no, month_no, closing_no, 'category' AS dimension,
    CAST(category AS VARCHAR) AS dimension_value,
    coalesce(processes, 0) AS term1, coalesce(with_category, 0) AS denominator,
    coalesce(n_eligible, 0) AS n_eligible, coalesce(with_category, 0) AS n_observed
-- left joins: a category that fell to zero keeps its row, with zeros
FROM ({_every_closing(from_first_month(keys, ("category",), _known_months("demand_totals")))})
LEFT JOIN demand_totals USING (country_no, month_no, closing_no)
LEFT JOIN (
    SELECT country_no, month_no, category, closing_no, sum(processes) AS processes
    FROM demand GROUP BY ALL
) USING (country_no, month_no, category, closing_no)""",
        **_DIMENSIONS,
    )


def _add_share_of_value(sql: duckdb.DuckDBPyConnection) -> None:
    # A process without a value is eligible in the row of the home currency.
    keys = f"""
SELECT country_no, month_no, category, coalesce(demand.currency, home.currency) AS currency,
    min(closing_no) AS first_closing
FROM demand JOIN home_currencies AS home USING (country_no)
WHERE category IS NOT NULL AND closing_no < month_no + {EVALUATIONS} GROUP BY ALL"""
    # Months without an amount have a row in the home currency only.
    at_home = (
        f"SELECT keys.* FROM ({keys}) AS keys JOIN home_currencies USING (country_no, currency)"
    )
    every_month = f"""
SELECT * FROM ({
        from_first_month(at_home, ("category", "currency"), _known_months("demand_totals"))
    })
UNION ALL BY NAME
SELECT keys.* FROM ({keys}) AS keys ANTI JOIN home_currencies USING (country_no, currency)"""
    add_measure(
        sql,
        _PANEL,
        "category_share_value",
        f"""
WITH valued AS (
    SELECT country_no, month_no, currency, closing_no, sum(units) AS total,
        sum(processes) AS n_observed
    FROM demand WHERE category IS NOT NULL AND currency IS NOT NULL GROUP BY ALL
)
SELECT country_no, month_no, closing_no, 'category' AS dimension,
    CAST(category AS VARCHAR) AS dimension_value, currency,
    coalesce(units, 0) AS term1, coalesce(total, 0) AS denominator,
    coalesce(n_eligible, 0) AS n_eligible, coalesce(n_observed, 0) AS n_observed
FROM ({_every_closing(every_month)})
LEFT JOIN demand_totals USING (country_no, month_no, closing_no)
LEFT JOIN valued USING (country_no, month_no, currency, closing_no)
LEFT JOIN demand USING (country_no, month_no, category, currency, closing_no)""",
        currency="currency",
        **_DIMENSIONS,
    )


def _add_momentum(sql: duckdb.DuckDBPyConnection) -> None:
    """Add the change of three months against the same three of the year before."""
    # A process counts in the rows of its own month and the next two as recent, and in those of
    # 12 to 14 months later as a year earlier. Both are counted as known at the same closing.
    sql.execute(f"""
CREATE OR REPLACE TEMP TABLE compared AS
WITH by_dimension AS (
    SELECT country_no, month_no, closing_no, 'all' AS dimension, 'all' AS dimension_value,
        processes
    FROM demand
    UNION ALL
    SELECT country_no, month_no, closing_no, 'category', CAST(category AS VARCHAR), processes
    FROM demand WHERE category IS NOT NULL
)
SELECT country_no, month_no + months_later AS month_no, closing_no, dimension, dimension_value,
    sum(processes) FILTER (months_later < 12) AS recent,
    sum(processes) FILTER (months_later >= 12) AS year_earlier
FROM by_dimension, (SELECT unnest([0, 1, 2, 12, 13, 14]) AS months_later)
WHERE closing_no >= month_no + months_later
  AND closing_no < month_no + months_later + {EVALUATIONS}
GROUP BY ALL""")
    keys = """
SELECT country_no, month_no, dimension, dimension_value, min(closing_no) AS first_closing
FROM compared GROUP BY ALL"""
    every_month = from_first_month(
        keys, ("dimension", "dimension_value"), _known_months("compared")
    )
    rows = f"""
WITH eligible AS (
    SELECT country_no, month_no, closing_no,
        coalesce(recent, 0) + coalesce(year_earlier, 0) AS n_eligible
    FROM compared WHERE dimension = 'all'
),
with_category AS (
    SELECT country_no, month_no, closing_no,
        sum(coalesce(recent, 0) + coalesce(year_earlier, 0)) AS n_with_category
    FROM compared WHERE dimension = 'category' GROUP BY ALL
)
SELECT country_no, month_no, closing_no, dimension, dimension_value,
    coalesce(recent, 0) - coalesce(year_earlier, 0) AS term1,
    -- no value until all six months lie within what is known of the country
    CASE WHEN month_no >= {MOMENTUM_NEEDS} THEN coalesce(year_earlier, 0) ELSE 0 END
        AS denominator,
    coalesce(n_eligible, 0) AS n_eligible,
    coalesce(CASE WHEN dimension = 'all' THEN n_eligible ELSE n_with_category END, 0)
        AS n_observed
FROM ({_every_closing(every_month)})
LEFT JOIN compared USING (country_no, month_no, closing_no, dimension, dimension_value)
LEFT JOIN eligible USING (country_no, month_no, closing_no)
LEFT JOIN with_category USING (country_no, month_no, closing_no)"""
    add_measure(sql, _PANEL, "momentum_3m_yoy", rows, **_DIMENSIONS)
