"""Why a vintage of a reported figure differs from the one before, as SQL over all vintages.

A parser sees one document; only here are both filings at hand. What was published later never
changes the kind of an earlier vintage: each is compared with its predecessor alone.
"""

# The kinds are decided in this order. Another sign or another power of ten is a filer's error,
# whatever else changed; in the purchasing power of another day every value differs; another
# element may mean something else, unless it had stated the former value too. A figure that was read
# before elements were recorded, or that was withdrawn in between, tells nothing.
_KIND = """
CASE
    WHEN withdrawn OR previous_value IS NULL THEN NULL
    WHEN element IS NULL OR previous_element IS NULL THEN NULL
    WHEN value_reported = -previous_value THEN 'correction'
    WHEN times_larger BETWEEN 1000 * 0.9995 AND 1000 * 1.0005
        OR times_larger BETWEEN 1e6 * 0.9995 AND 1e6 * 1.0005
        OR times_larger BETWEEN 1e9 * 0.9995 AND 1e9 * 1.0005 THEN 'correction'
    WHEN measuring_unit_date IS DISTINCT FROM previous_unit_date
        AND measuring_unit_date IS NOT NULL THEN 'measuring_unit'
    WHEN element <> previous_element AND NOT had_stated_it THEN 'element'
    ELSE 'restatement'
END
""".strip()


def with_restatement_kinds(vintages: str, statements: str) -> str:
    """Return the query of all vintages of figures with their ``restatement_kind``.

    ``statements`` is the relation of every figure as every publication states it.
    """
    return f"""
SELECT * EXCLUDE (
        previous_value, previous_element, previous_unit_date, times_larger, had_stated_it
    ),
    {_KIND} AS restatement_kind
FROM (
    SELECT *,
        -- of the larger and the smaller value; a ratio of decimals could overflow
        greatest(
            abs(CAST(value_reported AS DOUBLE)) / nullif(abs(CAST(previous_value AS DOUBLE)), 0),
            abs(CAST(previous_value AS DOUBLE)) / nullif(abs(CAST(value_reported AS DOUBLE)), 0)
        ) AS times_larger,
        EXISTS (
            SELECT 1 FROM {statements} AS earlier
            WHERE earlier.figure = vintages.figure
              AND earlier.figure_check = vintages.figure_check
              AND earlier.element = vintages.element
              AND earlier.value_reported = vintages.previous_value
              AND earlier.available_at < vintages.available_at
        ) AS had_stated_it
    FROM (
        SELECT *,
            lag(value_reported) OVER figures AS previous_value,
            lag(element) OVER figures AS previous_element,
            lag(measuring_unit_date) OVER figures AS previous_unit_date
        FROM ({vintages})
        WINDOW figures AS (PARTITION BY figure, figure_check ORDER BY vintage)
    ) AS vintages
)
""".strip()
