"""Sums over a rolling window of months, with one row per closing that changes them.

Nearly everything about a month is known when it closes: then a supplier has a single row for a
window, however many later closings re-evaluate it. A later change adds a row.
"""

from collections.abc import Sequence

import duckdb

from assets.signals.calendar import EVALUATIONS

# Entities with a positive total: for counting them with ``changes_of``.
PRESENT = "CAST({total} > 0 AS BIGINT)"


def create_rolling_totals(
    sql: duckdb.DuckDBPyConnection,
    table: str,
    pieces: str,
    keys: Sequence[str],
    months: int,
) -> None:
    """Create a table of running totals per key over the ``months`` that end with ``month_no``.

    ``pieces`` is a statement whose rows have the keys (``country_no`` first), an
    ``award_month_no``, ``known_from_closing``, ``known_until_closing`` and an ``amount``. The table
    has the keys, ``month_no``, ``closing_no`` and the ``total`` from that closing on.
    """
    key = ", ".join(keys)
    # The closing counts are written out as a list rather than joined: DuckDB 2.0 fails with an
    # internal error (dict-surviving cache) if millions of rows take a column of a table of a few
    # rows and are then unnested.
    rows = sql.execute("SELECT closing_count FROM countries ORDER BY country_no").fetchall()
    closing_counts = ", ".join(str(count) for (count,) in rows) or "0"
    sql.execute(f"""
CREATE OR REPLACE TEMP TABLE {table} AS
WITH pieces AS (
    SELECT {key}, award_month_no, known_from_closing, known_until_closing, sum(amount) AS amount
    FROM ({pieces}) GROUP BY ALL
),
windows AS (
    -- a piece counts in its own month and in the windows of the following months
    SELECT pieces.*,
        CAST(unnest(range(award_month_no, least(award_month_no + {months}, closing_count)))
            AS INTEGER) AS month_no
    FROM (
        SELECT *, [{closing_counts}][country_no] AS closing_count FROM pieces
        WHERE award_month_no >= 0
    ) AS pieces
),
evaluated AS (
    -- those that hold at one of the closings at which the month is evaluated
    SELECT * FROM windows
    WHERE greatest(known_from_closing, month_no)
        < least(known_until_closing, month_no + {EVALUATIONS}, closing_count)
),
steps AS (
    -- each adds its amount when it becomes known, and takes it back when it no longer holds
    SELECT {key}, month_no, greatest(known_from_closing, month_no) AS closing_no, amount
    FROM evaluated
    UNION ALL
    SELECT {key}, month_no, known_until_closing, -amount FROM evaluated
    WHERE known_until_closing < least(month_no + {EVALUATIONS}, closing_count)
),
summed AS (
    SELECT {key}, month_no, CAST(closing_no AS INTEGER) AS closing_no,
        CAST(sum(amount) AS HUGEINT) AS change
    FROM steps GROUP BY ALL
)
SELECT {key}, month_no, closing_no, CAST(sum(change) OVER (
    PARTITION BY {key}, month_no ORDER BY closing_no) AS HUGEINT) AS total
FROM summed""")


def changes_of(
    table: str, scope: Sequence[str], entity: str, terms: dict[str, str], where: str = "TRUE"
) -> str:
    """Return SQL for how much sums over the entities of a scope change at a closing.

    ``terms`` are expressions of an entity's ``{total}``, by the name of their sum. Only the
    entities whose total changes are read, not all that are in the window.
    """
    key = ", ".join(scope)
    window = f"(PARTITION BY {key}, {entity}, month_no ORDER BY closing_no)"
    changes = ", ".join(
        f"sum({term.format(total='total')} - {term.format(total='total_before')}) AS {name}"
        for name, term in terms.items()
    )
    return f"""
SELECT {key}, month_no, closing_no, {changes}
FROM (SELECT *, coalesce(lag(total) OVER {window}, 0) AS total_before FROM {table} WHERE {where})
GROUP BY ALL""".strip()
