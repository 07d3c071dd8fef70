"""Panels that count the processes of a month: rates, spreads of small whole numbers, ratios.

Processes with the same value over the same closings are counted together first; the work per
closing then grows with the months and not with the processes.
"""

import duckdb

from assets.signals.calendar import EVALUATIONS
from assets.signals.raw_measures import add_measure, in_both_dimensions, with_ends
from warehouse.methodology.signals import METHODS, SHORT_WINDOW

_KEYS = "country_no, month_no, dimension, dimension_value"
_DIMENSIONS = {"dimension": "dimension", "dimension_value": "dimension_value"}
_WINDOW_DAYS = "datediff('day', tender_start, tender_end)"
_DAYS_TO_AWARD = "datediff('day', tender_end, first_awarded_on)"


def add_rates(sql: duckdb.DuckDBPyConnection) -> None:
    """Add every panel that counts processes by the month of their tender or first award.

    A value is null for a process that does not state what it needs: it is eligible then, but not
    observed.
    """
    for table in ("states", "awarded"):
        _create_change_closings(sql, table)
    # A process that states no tenderers is not a process with none: the comparison is null then.
    _add_rate(sql, "single-bid-rate", "single_bid_rate", "states", "tenderers = 1")
    _add_spread(
        sql, "bidder-participation", "states", "tenderers", ("mean", "median", "p10", "p90")
    )
    _add_rate(
        sql,
        "submission-window",
        "share_under_15_days",
        "states",
        # A window that ends before it starts is a typing error, and not a short window.
        f"CASE WHEN {_WINDOW_DAYS} >= 0 THEN {_WINDOW_DAYS} < {SHORT_WINDOW} END",
    )
    _add_spread(
        sql,
        "submission-window",
        "states",
        f"CASE WHEN {_WINDOW_DAYS} >= 0 THEN {_WINDOW_DAYS} END",
        ("median",),
    )
    # status is the position among FINAL_STATUSES: 0 is not final, 1 is complete.
    _add_rate(
        sql,
        "cancellation-rate",
        "cancellation_rate",
        "states",
        "CASE WHEN status > 0 THEN status > 1 END",
    )
    _add_rate(
        sql,
        "value-revision",
        "value_revision_rate",
        "states",
        "CASE WHEN valued_twice THEN revalued END",
    )
    _add_rate(sql, "time-to-award", "share_before_closing", "awarded", f"{_DAYS_TO_AWARD} < 0")
    _add_spread(
        sql,
        "time-to-award",
        "awarded",
        # Awards before the end of submission are counted apart, in share_before_closing.
        f"CASE WHEN {_DAYS_TO_AWARD} >= 0 THEN {_DAYS_TO_AWARD} END",
        ("median", "p90"),
    )
    _add_method_shares(sql)


def _add_rate(
    sql: duckdb.DuckDBPyConnection, panel: str, measure: str, table: str, condition: str
) -> None:
    """Add the share of processes that meet a condition."""
    _create_histogram(sql, table, condition)
    rows = f"""
SELECT {_KEYS}, closing_no, sum(processes) FILTER (value) AS term1,
    sum(processes) FILTER (value IS NOT NULL) AS denominator,
    sum(processes) AS n_eligible, sum(processes) FILTER (value IS NOT NULL) AS n_observed
FROM ({in_both_dimensions("histogram")}) GROUP BY {_KEYS}, closing_no"""
    add_measure(sql, panel, measure, with_ends(rows, _KEYS, f"{table}_closings"), **_DIMENSIONS)


# Numerator and denominator of each statistic, over the distinct values of a histogram in order.
# ``running`` counts the processes up to a value: the smallest value that reaches a share of the
# total is the quantile. The median is the mean of the lower and the upper one.
_STATISTICS = {
    "mean": ("sum(value * processes)", "sum(processes) FILTER (value IS NOT NULL)"),
    "median": (
        "min(value) FILTER (2 * running >= total) + min(value) FILTER (2 * running > total)",
        "2",
    ),
    "p10": ("min(value) FILTER (10 * running >= total)", "1"),
    "p90": ("min(value) FILTER (10 * running >= 9 * total)", "1"),
}


def _add_spread(
    sql: duckdb.DuckDBPyConnection, panel: str, table: str, value: str, statistics: tuple[str, ...]
) -> None:
    """Add the mean and quantiles of a whole number that processes state."""
    _create_histogram(sql, table, value)
    columns = ", ".join(
        f"{numerator} AS {name}_numerator, "
        f"CASE WHEN count(value) = 0 THEN 0 ELSE {denominator} END AS {name}_denominator"
        for name, (numerator, denominator) in _STATISTICS.items()
        if name in statistics
    )
    sql.execute(f"""
CREATE OR REPLACE TEMP TABLE spread AS
WITH distinct_values AS (
    SELECT {_KEYS}, closing_no, value, sum(processes) AS processes
    FROM ({in_both_dimensions("histogram")}) GROUP BY {_KEYS}, closing_no, value
),
ranked AS (
    -- processes without a value are a partition of their own: they are in no quantile
    SELECT *, sum(processes) OVER (
            PARTITION BY {_KEYS}, closing_no, value IS NULL ORDER BY value) AS running,
        sum(processes) OVER (PARTITION BY {_KEYS}, closing_no, value IS NULL) AS total
    FROM distinct_values
)
SELECT {_KEYS}, closing_no, {columns}, sum(processes) AS n_eligible,
    sum(processes) FILTER (value IS NOT NULL) AS n_observed
FROM ranked GROUP BY {_KEYS}, closing_no""")
    # Part of the name of the measure, as in median_days.
    unit = "tenderers" if panel == "bidder-participation" else "days"
    for name in statistics:
        rows = (
            f"SELECT {_KEYS}, closing_no, {name}_numerator AS term1, "
            f"{name}_denominator AS denominator, n_eligible, n_observed FROM spread"
        )
        rows = with_ends(rows, _KEYS, f"{table}_closings")
        add_measure(sql, panel, f"{name}_{unit}", rows, **_DIMENSIONS)


def _create_change_closings(sql: duckdb.DuckDBPyConnection, table: str) -> None:
    """Create ``<table>_closings``: when anything of a month begins or ends."""
    sql.execute(f"""
CREATE OR REPLACE TEMP TABLE {table}_closings AS
SELECT country_no, month_no, closing_no,
    lead(closing_no) OVER (PARTITION BY country_no, month_no ORDER BY closing_no) AS next_change
FROM (
    SELECT DISTINCT country_no, month_no, unnest([greatest(known_from_closing, month_no),
        known_until_closing]) AS closing_no, least(month_no + {EVALUATIONS}, closing_count) AS ends
    FROM {table} WHERE month_no >= 0
) WHERE closing_no >= month_no AND closing_no < ends""")


def _create_histogram(sql: duckdb.DuckDBPyConnection, table: str, value: str) -> None:
    """Create ``histogram``: how many processes of a month have a value, where that changes."""
    sql.execute(f"""
CREATE OR REPLACE TEMP TABLE histogram AS
SELECT country_no, month_no, category, value, closing_no, sum(processes) AS processes
FROM (
    SELECT country_no, month_no, category, known_from_closing, known_until_closing,
        {value} AS value, count(*) AS processes
    FROM {table} WHERE month_no >= 0 GROUP BY ALL
) JOIN {table}_closings USING (country_no, month_no)
WHERE closing_no >= known_from_closing AND closing_no < known_until_closing
GROUP BY country_no, month_no, category, value, closing_no""")


def _add_method_shares(sql: duckdb.DuckDBPyConnection) -> None:
    """Add the share of each procurement method; other words than the four count as stated."""
    _create_histogram(sql, "states", "method")
    methods = ", ".join(f"({position}, '{method}')" for position, method in enumerate(METHODS, 1))
    rows = f"""
SELECT country_no, month_no, closing_no, 'procurement_method' AS dimension, dimension_value,
    sum(processes) FILTER (value = method_no) AS term1,
    sum(processes) FILTER (value IS NOT NULL) AS denominator,
    sum(processes) AS n_eligible, sum(processes) FILTER (value IS NOT NULL) AS n_observed
FROM histogram, (VALUES {methods}) AS methods(method_no, dimension_value)
GROUP BY {_KEYS}, closing_no"""
    rows = with_ends(rows, _KEYS, "states_closings")
    add_measure(sql, "procurement-method-mix", "method_share", rows, **_DIMENSIONS)


def add_award_to_estimate(sql: duckdb.DuckDBPyConnection) -> None:
    """Add how the total awarded by a process compares with its estimate in the same currency.

    Ratios are ordered once; quantiles are then taken of whole numbers, their ranks.
    """
    sql.execute("""
CREATE OR REPLACE TEMP TABLE ranked_ratios AS
SELECT country_no, month_no, category, known_from_closing, known_until_closing, closing_count,
    units, tender_units,
    CASE WHEN units > 0 AND tender_units > 0 THEN row_number() OVER (
        -- DOUBLE only orders the ratios; the value is divided exactly from the pair of the rank
        ORDER BY CAST(units AS DOUBLE) / CAST(tender_units AS DOUBLE), units
    ) END AS ratio_rank
FROM awarded WHERE month_no >= 0""")
    # The lower median is the quantile in ascending order, the upper one that in descending order.
    sql.execute(f"""
CREATE OR REPLACE TEMP TABLE quantiles AS
SELECT {_KEYS}, closing_no, quantile_disc(ratio_rank, [0.25, 0.5, 0.75]) AS lower_ranks,
    -quantile_disc(-ratio_rank, 0.5) AS upper_median_rank,
    count(*) FILTER (ratio_rank IS NOT NULL AND units > tender_units) AS above_estimate,
    count(*) AS n_eligible, count(ratio_rank) AS n_observed
FROM ({in_both_dimensions("ranked_ratios")}) JOIN awarded_closings USING (country_no, month_no)
WHERE closing_no >= known_from_closing AND closing_no < known_until_closing
GROUP BY {_KEYS}, closing_no""")
    panel = "award-to-estimate"
    rows = f"""
SELECT {_KEYS}, closing_no, above_estimate AS term1, n_observed AS denominator, n_eligible,
    n_observed
FROM quantiles"""
    add_measure(
        sql, panel, "share_above_1", with_ends(rows, _KEYS, "awarded_closings"), **_DIMENSIONS
    )
    qualified_keys = ", ".join(f"quantiles.{key}" for key in _KEYS.split(", "))
    for measure, lower_rank, upper_rank in (
        ("ratio_p25", "lower_ranks[1]", "lower_ranks[1]"),
        ("ratio_median", "lower_ranks[2]", "upper_median_rank"),
        ("ratio_p75", "lower_ranks[3]", "lower_ranks[3]"),
    ):
        rows = f"""
SELECT {qualified_keys}, closing_no, low.units AS term1, low.tender_units AS term2,
    high.units AS term3, coalesce(high.tender_units, 0) AS denominator, n_eligible, n_observed
FROM quantiles
LEFT JOIN (FROM ranked_ratios WHERE ratio_rank IS NOT NULL) AS low
    ON low.ratio_rank = {lower_rank}
LEFT JOIN (FROM ranked_ratios WHERE ratio_rank IS NOT NULL) AS high
    ON high.ratio_rank = {upper_rank}"""
        pair = {"kind": "'pair'", "term2": "term2", "term3": "term3"}
        add_measure(
            sql, panel, measure, with_ends(rows, _KEYS, "awarded_closings"), **_DIMENSIONS, **pair
        )
