"""Panels that count the processes of a month: rates, and spreads of small whole numbers.

Processes that tell the same over the same closings are counted together first; what is then
looked at closing by closing grows with the months and not with the processes.
"""

import duckdb

from assets.signals.raw_measures import add, at_each_closing, in_both_dimensions, with_ends
from warehouse.methodology.signals import METHODS, SHORT_WINDOW

_KEYS = "c, m, dimension, dimension_value"
_DAYS = "datediff('day', {}, {})"


def counted(sql: duckdb.DuckDBPyConnection) -> None:
    """Add every panel that counts processes by the month of their tender or first award."""
    window = _DAYS.format("tender_start", "tender_end")
    waited = _DAYS.format("tender_end", "first_on")
    rate(sql, "single-bid-rate", "single_bid_rate", "states", "tenderers = 1")
    spread(sql, "bidder-participation", "states", "tenderers", ("mean", "median", "p10", "p90"))
    rate(
        sql,
        "submission-window",
        "share_under_15_days",
        "states",
        f"CASE WHEN {window} >= 0 THEN {window} < {SHORT_WINDOW} END",
    )
    spread(
        sql,
        "submission-window",
        "states",
        f"CASE WHEN {window} >= 0 THEN {window} END",
        ("median",),
    )
    rate(
        sql,
        "cancellation-rate",
        "cancellation_rate",
        "states",
        "CASE WHEN status > 0 THEN status > 1 END",
    )
    rate(
        sql,
        "value-revision",
        "value_revision_rate",
        "states",
        "CASE WHEN valued_twice THEN revalued END",
    )
    rate(sql, "time-to-award", "share_before_closing", "awarded", f"{waited} < 0")
    spread(
        sql,
        "time-to-award",
        "awarded",
        f"CASE WHEN {waited} >= 0 THEN {waited} END",
        ("median", "p90"),
    )
    _methods(sql)


def rate(sql: duckdb.DuckDBPyConnection, panel: str, measure: str, table: str, met: str) -> None:
    """Add the share of processes that meet a condition; null where it cannot be told."""
    _histogram(sql, table, met)
    rows = f"""
SELECT {_KEYS}, k, sum(n) FILTER (x) AS n1, sum(n) FILTER (x IS NOT NULL) AS den,
    sum(n) AS n_eligible, sum(n) FILTER (x IS NOT NULL) AS n_observed
FROM ({in_both_dimensions("histogram")}) GROUP BY {_KEYS}, k"""
    dims = {"dimension": "dimension", "dimension_value": "dimension_value"}
    add(sql, panel, measure, with_ends(rows, _KEYS), **dims)


_SPREADS = {
    "mean": ("mean", "sum(x * n)", "sum(n) FILTER (x IS NOT NULL)"),
    "median": (
        "median",
        "min(x) FILTER (2 * running >= total) + min(x) FILTER (2 * running > total)",
        "2",
    ),
    "p10": ("p10", "min(x) FILTER (10 * running >= total)", "1"),
    "p90": ("p90", "min(x) FILTER (10 * running >= 9 * total)", "1"),
}


def spread(
    sql: duckdb.DuckDBPyConnection, panel: str, table: str, number: str, kinds: tuple[str, ...]
) -> None:
    """Add mean and quantiles of a whole number that processes state."""
    _histogram(sql, table, number)
    measured = {kind: _SPREADS[kind][1:] for kind in kinds}
    sums = ", ".join(
        f"{num} AS {kind}_num, CASE WHEN count(x) = 0 THEN 0 ELSE {den} END AS {kind}_den"
        for kind, (num, den) in measured.items()
    )
    sql.execute(f"""
CREATE OR REPLACE TEMP TABLE spread AS
WITH each_value AS (
    SELECT {_KEYS}, k, x, sum(n) AS n FROM ({in_both_dimensions("histogram")})
    GROUP BY {_KEYS}, k, x
),
ranked AS (
    SELECT *, sum(n) OVER (PARTITION BY {_KEYS}, k, x IS NULL ORDER BY x) AS running,
        sum(n) OVER (PARTITION BY {_KEYS}, k, x IS NULL) AS total
    FROM each_value
)
SELECT {_KEYS}, k, {sums}, sum(n) AS n_eligible, sum(n) FILTER (x IS NOT NULL) AS n_observed
FROM ranked GROUP BY {_KEYS}, k""")
    dims = {"dimension": "dimension", "dimension_value": "dimension_value"}
    for kind in kinds:
        rows = (
            f"SELECT {_KEYS}, k, {kind}_num AS n1, {kind}_den AS den, n_eligible, n_observed "
            "FROM spread"
        )
        add(sql, panel, _measure(panel, kind), with_ends(rows, _KEYS), **dims)


def _measure(panel: str, kind: str) -> str:
    return f"{kind}_{'tenderers' if panel == 'bidder-participation' else 'days'}"


def _histogram(sql: duckdb.DuckDBPyConnection, table: str, number: str) -> None:
    sql.execute(f"""
CREATE OR REPLACE TEMP TABLE histogram AS
SELECT c, m, category, x, k, sum(n) AS n FROM (
    SELECT c, m, category, x, n, {at_each_closing()} FROM (
        SELECT c, m, category, kf, ku, closings, {number} AS x, count(*) AS n
        FROM {table} WHERE m >= 0 GROUP BY ALL
    )
) GROUP BY ALL""")


def _methods(sql: duckdb.DuckDBPyConnection) -> None:
    """Add the share of each procurement method; other words than the four count as stated."""
    _histogram(sql, "states", "method")
    keys = "c, m, dimension, dimension_value"
    each = ", ".join(f"({place}, '{method}')" for place, method in enumerate(METHODS, 1))
    rows = f"""
SELECT c, m, k, 'procurement_method' AS dimension, dimension_value,
    sum(n) FILTER (x = place) AS n1, sum(n) FILTER (x IS NOT NULL) AS den,
    sum(n) AS n_eligible, sum(n) FILTER (x IS NOT NULL) AS n_observed
FROM histogram, (VALUES {each}) AS methods(place, dimension_value) GROUP BY {keys}, k"""
    dims = {"dimension": "dimension", "dimension_value": "dimension_value"}
    add(sql, "procurement-method-mix", "method_share", with_ends(rows, keys), **dims)
