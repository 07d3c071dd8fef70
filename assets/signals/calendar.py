"""When the months of a country close, and at which closings something was known.

Months are numbered from that of the first release of the country, and a closing has the number
of the month that it closes: a release is known at the first closing that is not before its day.
"""

import duckdb

from warehouse.methodology.signals import CLOSES_AFTER, CLOSES_AFTER_DEFAULT, REEVALUATED
from warehouse.tables import LICENSE_CLASSES

# Later than any closing.
NEVER = 1_000_000
# A month is evaluated at its own closing and at so many later ones: these numbers of closings.
SPAN = REEVALUATED + 1


def countries(sql: duckdb.DuckDBPyConnection) -> None:
    """Number the countries: their first month, days to a closing, and closings so far.

    There is no clock: a month is closed when something was read on its closing day or later.
    The days are the country's own: were they taken from its portals, a slower one would move
    closings that are long past.
    """
    cases = " ".join(f"WHEN '{country}' THEN {lag}" for country, lag in CLOSES_AFTER.items())
    days = str(CLOSES_AFTER_DEFAULT)
    lag = f"CASE country {cases} ELSE {days} END" if cases else days
    sql.execute(f"""
CREATE TEMP TABLE countries AS
SELECT CAST(row_number() OVER (ORDER BY country) AS INTEGER) AS c, country, first_month, lag,
    CAST(greatest(0, datediff('month', first_month, seen - lag + 1)) AS INTEGER) AS closings
FROM (
    SELECT country, CAST(date_trunc('month', min(available_at)) AS DATE) AS first_month,
        {lag} AS lag, max(CAST(observed_at AS DATE)) AS seen
    FROM tender_releases WHERE available_at IS NOT NULL GROUP BY country
)""")
    sql.execute("""
CREATE TEMP TABLE closings AS
SELECT c, country, k, CAST(first_month + to_months(k) AS DATE) AS month,
    CAST(first_month + to_months(k + 1) AS DATE) - 1 + lag AS closed_at
FROM (SELECT *, CAST(unnest(range(closings)) AS INTEGER) AS k FROM countries)""")
    _under(sql)


def _under(sql: duckdb.DuckDBPyConnection) -> None:
    """Note, for each closing, whose releases were known, how they were read and when last.

    Of licences the most restrictive is noted, of scores the lowest, and where methods differ
    the file is.
    """
    ranks = ", ".join(f"'{name}'" for name in LICENSE_CLASSES)
    sql.execute(f"""
CREATE TEMP TABLE under AS
SELECT closings.c, closings.k, max(rank) AS rank, max(observed_at) AS observed_at,
    CASE WHEN min(one) = max(other) THEN min(one) ELSE 'file' END AS method,
    min(score) AS extraction_confidence, string_agg(source, ', ' ORDER BY source) AS sources
FROM closings JOIN (
    SELECT c, source, k, max(rank) OVER running AS rank, min(one) OVER running AS one,
        max(other) OVER running AS other, max(observed_at) OVER running AS observed_at,
        min(score) OVER running AS score, lead(k, 1, {NEVER}) OVER running AS until
    FROM (
        SELECT c, source, {at_closing("available_at")} AS k,
            max(list_position([{ranks}], license_class)) AS rank, min(method) AS one,
            max(method) AS other, max(observed_at) AS observed_at,
            min(extraction_confidence) AS score
        FROM tender_releases JOIN countries USING (country)
        WHERE available_at IS NOT NULL AND NOT withdrawn GROUP BY ALL
    ) WINDOW running AS (PARTITION BY c, source ORDER BY k)
) AS used ON used.c = closings.c AND used.k <= closings.k AND closings.k < used.until
GROUP BY ALL""")


def at_closing(day: str) -> str:
    """Write the number of the first closing that is not before a day."""
    return f"greatest(0, datediff('month', first_month, {day} - lag))"


def until_closing(day: str) -> str:
    """Write the same of the day on which something ceased to hold; never, where it did not."""
    return f"CASE WHEN {day} IS NULL THEN {NEVER} ELSE {at_closing(day)} END"


def number_of_month(day: str) -> str:
    """Write the number of the month in which a day lies; below zero before the first."""
    return f"datediff('month', first_month, {day})"
