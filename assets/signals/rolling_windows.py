"""Sums over a moving window of months, closing by closing, only where they change.

Nearly everything of a month is known when it closes: then a supplier has one row for a window,
however many later closings look at it again. What changes later adds a row.
"""

from collections.abc import Sequence

import duckdb

from assets.signals.calendar import SPAN


def moving(
    sql: duckdb.DuckDBPyConnection,
    made: str,
    pieces: str,
    keys: Sequence[str],
    months: int,
) -> None:
    """Make a table of the sums ``v`` of each key (the first is c) over ``months`` up to m.

    A piece has the keys, its month ``a``, its closings ``kf`` until ``ku``, and an amount.
    """
    named = ", ".join(keys)
    # written out and not joined: DuckDB 2.0 fails with an internal error (dict-surviving cache)
    # where millions of rows take a column of a table of a few rows and are then unnested
    found = sql.execute("SELECT closings FROM countries ORDER BY c").fetchall()
    ends = ", ".join(str(closings) for (closings,) in found) or "0"
    sql.execute(f"""
CREATE OR REPLACE TEMP TABLE {made} AS
WITH pieces AS (SELECT {named}, a, kf, ku, sum(amount) AS amount FROM ({pieces}) GROUP BY ALL),
windows AS (
    SELECT pieces.*, CAST(unnest(range(a, least(a + {months}, closings))) AS INTEGER) AS m
    FROM (SELECT *, [{ends}][c] AS closings FROM pieces WHERE a >= 0) AS pieces
),
standing AS (
    SELECT * FROM windows WHERE greatest(kf, m) < least(ku, m + {SPAN}, closings)
),
moved AS (
    SELECT {named}, m, greatest(kf, m) AS k, amount FROM standing
    UNION ALL
    SELECT {named}, m, ku, -amount FROM standing WHERE ku < least(m + {SPAN}, closings)
),
summed AS (
    SELECT {named}, m, CAST(k AS INTEGER) AS k, CAST(sum(amount) AS HUGEINT) AS d
    FROM moved GROUP BY ALL
)
SELECT {named}, m, k, CAST(sum(d) OVER (PARTITION BY {named}, m ORDER BY k) AS HUGEINT) AS v
FROM summed""")


def stepped(
    table: str, scope: Sequence[str], entity: str, steps: dict[str, str], where: str = "TRUE"
) -> str:
    """Write by how much sums over entities change at a closing; ``steps`` are of ``{v}``."""
    named = ", ".join(scope)
    window = f"(PARTITION BY {named}, {entity}, m ORDER BY k)"
    changes = ", ".join(
        f"sum({step.format(v='v')} - {step.format(v='before')}) AS {name}"
        for name, step in steps.items()
    )
    return f"""
SELECT {named}, m, k, {changes}
FROM (SELECT *, coalesce(lag(v) OVER {window}, 0) AS before FROM {table} WHERE {where})
GROUP BY ALL""".strip()


PRESENT = "CAST({v} > 0 AS BIGINT)"
