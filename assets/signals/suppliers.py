"""Awards to suppliers that had none before, and awards against what was estimated."""

import duckdb

from assets.signals.calendar import SPAN
from assets.signals.raw_measures import add, at_each_closing, in_both_dimensions, with_ends
from assets.signals.rolling_windows import PRESENT, moving, stepped
from warehouse.methodology.signals import NEW_AFTER

_KEYS = "c, m, dimension, dimension_value"
_DIMS = {"dimension": "dimension", "dimension_value": "dimension_value"}


def newcomers(sql: duckdb.DuckDBPyConnection) -> None:
    """Add the share of awards that went to suppliers without one in the months before."""
    sql.execute("""
CREATE OR REPLACE TEMP TABLE won AS
SELECT c, pid, a, kf, ku, unnest(suppliers) AS supplier, 1 AS amount
FROM lines WHERE len(suppliers) > 0""")
    moving(sql, "winning", "FROM won", ("c", "supplier"), 1)
    _earlier(sql)
    moving(sql, "awarding", "SELECT *, 1 AS amount FROM lines", ("c", "pid"), 1)
    moving(sql, "stating", "FROM won", ("c", "pid"), 1)
    hidden = "supplier IN (SELECT party FROM parties WHERE withheld)"
    steps = " UNION ALL BY NAME ".join(
        (
            "FROM newly",
            stepped("awarding", ("c",), "pid", {"n_eligible": PRESENT}),
            stepped("stating", ("c",), "pid", {"n_observed": PRESENT}),
            stepped("winning", ("c",), "supplier", {"n_withheld": PRESENT}, hidden),
        )
    )
    names = ("n_eligible", "n_observed", "n_withheld", "n1", "den")
    rows = f"""
SELECT * REPLACE (CASE WHEN m >= {NEW_AFTER} THEN den ELSE 0 END AS den) FROM (
    SELECT c, m, k, {", ".join(f"sum(sum({name})) OVER running AS {name}" for name in names)}
    FROM ({steps}) GROUP BY c, m, k WINDOW running AS (PARTITION BY c, m ORDER BY k)
) QUALIFY max(n_eligible) OVER (PARTITION BY c, m ORDER BY k) > 0"""
    add(sql, "supplier-newcomer-rate", "newcomer_award_share", rows, n_withheld="n_withheld")


def _earlier(sql: duckdb.DuckDBPyConnection) -> None:
    """Make ``newly``: by how much awards, and those to newcomers, change at a closing."""
    sql.execute(f"""
CREATE OR REPLACE TEMP TABLE newly AS
WITH present AS (
    SELECT c, supplier, a, min(kf) AS kf, ku FROM won WHERE a >= 0 GROUP BY ALL
),
own AS (
    SELECT c, supplier, m, k, v - coalesce(lag(v) OVER (
        PARTITION BY c, supplier, m ORDER BY k), 0) AS own, 0 AS earlier
    FROM winning
),
before AS (
    SELECT own.c, own.supplier, m, greatest(kf, m) AS k, ku, closings
    FROM (SELECT DISTINCT c, supplier, m FROM own) AS own
    JOIN present ON present.c = own.c AND present.supplier = own.supplier
     AND present.a BETWEEN m - {NEW_AFTER} AND m - 1
    JOIN (SELECT c, closings FROM countries) AS ends ON ends.c = own.c
    WHERE greatest(kf, m) < least(ku, m + {SPAN}, closings)
),
steps AS (
    FROM own
    UNION ALL SELECT c, supplier, m, k, 0, 1 FROM before
    UNION ALL SELECT c, supplier, m, ku, 0, -1 FROM before WHERE ku < least(m + {SPAN}, closings)
),
known AS (
    SELECT c, supplier, m, k, sum(sum(own)) OVER running AS den,
        CASE WHEN sum(sum(earlier)) OVER running = 0
            THEN sum(sum(own)) OVER running ELSE 0 END AS n1
    FROM steps GROUP BY c, supplier, m, k
    WINDOW running AS (PARTITION BY c, supplier, m ORDER BY k)
)
SELECT c, m, k, sum(den - den_before) AS den, sum(n1 - n1_before) AS n1 FROM (
    SELECT *, coalesce(lag(den) OVER ordered, 0) AS den_before,
        coalesce(lag(n1) OVER ordered, 0) AS n1_before
    FROM known WINDOW ordered AS (PARTITION BY c, supplier, m ORDER BY k)
) GROUP BY ALL""")


def against_estimate(sql: duckdb.DuckDBPyConnection) -> None:
    """Add what was awarded by a process over what was estimated, in one currency.

    Ratios are put in order once; quantiles are then of whole numbers, their places.
    """
    sql.execute("""
CREATE OR REPLACE TEMP TABLE placed AS
SELECT c, m, category, kf, ku, closings, units, tender_units,
    CASE WHEN units > 0 AND tender_units > 0 THEN row_number() OVER (
        ORDER BY CAST(units AS DOUBLE) / CAST(tender_units AS DOUBLE), units
    ) END AS place
FROM awarded WHERE m >= 0""")
    sql.execute(f"""
CREATE OR REPLACE TEMP TABLE quantiles AS
SELECT {_KEYS}, k, quantile_disc(place, [0.25, 0.5, 0.75]) AS up,
    -quantile_disc(-place, 0.5) AS upper,
    count(*) FILTER (place IS NOT NULL AND units > tender_units) AS above,
    count(*) AS n_eligible, count(place) AS n_observed
FROM (
    SELECT *, {at_each_closing()} FROM ({in_both_dimensions("placed")})
) GROUP BY {_KEYS}, k""")
    panel = "award-to-estimate"
    rows = (
        f"SELECT {_KEYS}, k, above AS n1, n_observed AS den, n_eligible, n_observed FROM quantiles"
    )
    add(sql, panel, "share_above_1", with_ends(rows, _KEYS), **_DIMS)
    for measure, low, high in (
        ("ratio_p25", "up[1]", "up[1]"),
        ("ratio_median", "up[2]", "upper"),
        ("ratio_p75", "up[3]", "up[3]"),
    ):
        rows = f"""
SELECT {_KEYS}, k, low.units AS n1, low.tender_units AS n2, high.units AS n3,
    coalesce(high.tender_units, 0) AS den, n_eligible, n_observed
FROM quantiles LEFT JOIN (FROM placed WHERE place IS NOT NULL) AS low ON low.place = {low}
LEFT JOIN (FROM placed WHERE place IS NOT NULL) AS high ON high.place = {high}"""
        pair = {"kind": "'pair'", "n2": "n2", "n3": "n3"}
        ambiguous = rows.replace(_KEYS, ", ".join(f"quantiles.{x}" for x in _KEYS.split(", ")))
        add(sql, panel, measure, with_ends(ambiguous, _KEYS), **_DIMS, **pair)
