"""Why a value is absent, for every day on which it is: as intervals, in SQL.

Each issuer is counted once for each metric on every day from its first figure on: with a value,
or here with a reason.
"""

from warehouse.methodology.metrics import FORMULAS

_SLUGS = "[" + ", ".join(f"'{formula.slug}'" for formula in FORMULAS) + "]"

# A reason that holds for a year whatever the day.
_FOR_THE_YEAR = """
SELECT service_id, metric, period_end, coalesce(reason, 'denominator_not_positive') AS reason,
    published_at AS holds_from,
    CASE WHEN next_at IS NOT NULL THEN greatest(published_at, next_at) END AS holds_until,
    TRUE AS kept
FROM outcomes LEFT JOIN valued USING (ending, metric)
WHERE reason IS NOT NULL OR NOT positive
"""

_COMPLETED = """
SELECT service_id, metric, period_end, 'completed_after_as_of',
    published_at, least(complete_at, next_at), FALSE
FROM outcomes JOIN valued USING (ending, metric) WHERE positive
"""

_REVISED = """
SELECT service_id, metric, period_end, 'revised_after_as_of',
    greatest(complete_at, published_at), least(current_at, next_at), FALSE
FROM outcomes JOIN valued USING (ending, metric) WHERE positive
"""

# Before any input of any full year is published: the issuer is covered and has no value.
_BEFORE = """
SELECT * FROM (
    WITH firsts AS (
        SELECT service_id, metric, min(published_at) AS first_at
        FROM candidates GROUP BY service_id, metric
    ), each AS (
        SELECT issuers.*, metric, first_at
        FROM issuers CROSS JOIN (SELECT DISTINCT metric FROM formulas)
        LEFT JOIN firsts USING (service_id, metric)
    )
    SELECT service_id, metric, seen.of, 'input_not_reported',
        seen.day, least(short.day, year.day, first_at), FALSE FROM each
    UNION ALL
    SELECT service_id, metric, short.of, 'short_period',
        short.day, least(year.day, first_at), FALSE FROM each WHERE short IS NOT NULL
    UNION ALL
    SELECT service_id, metric, year.of, 'input_not_reported',
        year.day, first_at, FALSE FROM each WHERE year IS NOT NULL
)
"""

# What is read after the choice is made.
NEEDED = {"inputs", "outcomes", "issuers", "candidates", "formulas"}
ABSENT = f"""
SELECT service_id, {_SLUGS}[metric + 1] AS metric, period_end, reason, holds_from, holds_until
FROM ({_FOR_THE_YEAR} UNION ALL {_COMPLETED} UNION ALL {_REVISED} UNION ALL {_BEFORE})
WHERE kept OR holds_until IS NULL OR holds_from < holds_until
ORDER BY service_id, metric, period_end, holds_from
"""
