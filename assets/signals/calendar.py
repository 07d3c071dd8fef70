"""When the months of a country close, and from which closing on something was known.

Months are numbered per country, from 0 for the month of its first release (``month_no``). A
closing has the number of the month that it closes (``closing_no``). A release counts from the
first closing that is not before the day it became available: no closing sees anything later.
"""

import duckdb

from warehouse.methodology.signals import CLOSES_AFTER, CLOSES_AFTER_DEFAULT, REEVALUATED
from warehouse.tables import LICENSE_CLASSES

# Later than any closing.
NEVER = 1_000_000
# A month is evaluated at its own closing and at REEVALUATED later ones: this many closings.
EVALUATIONS = REEVALUATED + 1


def number_countries(sql: duckdb.DuckDBPyConnection) -> None:
    """Create ``countries``, ``closings``, ``closing_sources`` and ``continued``.

    No clock is used: a month is closed once something was read on its closing day or later. The
    days to a closing are set per country: if they were taken from its portals, a slower portal
    added later would move closings that are long past.
    """
    cases = " ".join(f"WHEN '{country}' THEN {days}" for country, days in CLOSES_AFTER.items())
    default = str(CLOSES_AFTER_DEFAULT)
    # CASE without any WHEN is no valid SQL.
    closing_days = f"CASE country {cases} ELSE {default} END" if cases else default
    sql.execute(f"""
CREATE TEMP TABLE countries AS
SELECT CAST(row_number() OVER (ORDER BY country) AS INTEGER) AS country_no, country, first_month,
    closing_days,
    -- months from the first one that had closed on the last day something was read
    CAST(greatest(0, datediff('month', first_month, last_read_on - closing_days + 1)) AS INTEGER)
        AS closing_count
FROM (
    SELECT country, CAST(date_trunc('month', min(available_at)) AS DATE) AS first_month,
        {closing_days} AS closing_days, max(CAST(observed_at AS DATE)) AS last_read_on
    FROM tender_releases WHERE available_at IS NOT NULL GROUP BY country
)""")
    sql.execute("""
CREATE TEMP TABLE closings AS
SELECT country_no, country, closing_no, CAST(first_month + to_months(closing_no) AS DATE) AS month,
    -- the last day of the month, and the days to its closing
    CAST(first_month + to_months(closing_no + 1) AS DATE) - 1 + closing_days AS closed_at
FROM (SELECT *, CAST(unnest(range(closing_count)) AS INTEGER) AS closing_no FROM countries)""")
    _create_closing_sources(sql)
    _create_continued(sql)


def _create_closing_sources(sql: duckdb.DuckDBPyConnection) -> None:
    """Create ``closing_sources``: the provenance of the releases known at each closing.

    It has the most restrictive licence, the lowest confidence, the last read, and 'file' as the
    method if methods differ.
    """
    licences = ", ".join(f"'{name}'" for name in LICENSE_CLASSES)
    sql.execute(f"""
CREATE TEMP TABLE closing_sources AS
SELECT closings.country_no, closings.closing_no, max(licence_rank) AS licence_rank,
    max(observed_at) AS observed_at,
    CASE WHEN min(first_method) = max(last_method) THEN min(first_method) ELSE 'file' END
        AS method,
    min(confidence) AS extraction_confidence, string_agg(source, ', ' ORDER BY source) AS sources
FROM closings JOIN (
    -- per source, what was known up to each closing at which it added something ...
    SELECT country_no, source, closing_no, max(licence_rank) OVER so_far AS licence_rank,
        min(first_method) OVER so_far AS first_method, max(last_method) OVER so_far AS last_method,
        max(observed_at) OVER so_far AS observed_at, min(confidence) OVER so_far AS confidence,
        lead(closing_no, 1, {NEVER}) OVER so_far AS until_closing
    FROM (
        SELECT country_no, source, {at_closing("available_at")} AS closing_no,
            max(list_position([{licences}], license_class)) AS licence_rank,
            min(method) AS first_method, max(method) AS last_method,
            max(observed_at) AS observed_at, min(extraction_confidence) AS confidence
        FROM tender_releases JOIN countries USING (country)
        -- a release without a date of publication was known on no day
        WHERE available_at IS NOT NULL AND NOT withdrawn GROUP BY ALL
    ) WINDOW so_far AS (PARTITION BY country_no, source ORDER BY closing_no)
) AS source_state
-- ... which holds until the next such closing
  ON source_state.country_no = closings.country_no
 AND source_state.closing_no <= closings.closing_no
 AND closings.closing_no < source_state.until_closing
GROUP BY ALL""")


def _create_continued(sql: duckdb.DuckDBPyConnection) -> None:
    """Create ``continued``: per month, the first closing that knows a release dated after it.

    A month has no row here if no such release is known: its country may publish no longer.
    """
    # A release without a date of its own may be old, and a date after the day it was read is wrong.
    dated_on = "least(released_on, available_at)"
    sql.execute(f"""
CREATE TEMP TABLE continued AS
SELECT country_no, closings.closing_no AS month_no,
    CAST(min(dated.closing_no) AS INTEGER) AS first_closing
FROM closings JOIN (
    SELECT country_no, {month_number(dated_on)} AS dated_month_no,
        min({at_closing("available_at")}) AS closing_no
    FROM tender_releases JOIN countries USING (country)
    WHERE available_at IS NOT NULL AND released_on IS NOT NULL AND NOT withdrawn GROUP BY ALL
) AS dated USING (country_no)
WHERE dated_month_no > closings.closing_no GROUP BY ALL""")


def at_closing(day: str) -> str:
    """Return SQL for the number of the first closing that is not before a day."""
    # Month m closes closing_days after its last day, so a day belongs to the closing of the month
    # that it is in after going back closing_days. Nothing is known before the first closing.
    return f"greatest(0, datediff('month', first_month, {day} - closing_days))"


def until_closing(day: str) -> str:
    """Return SQL for the first closing at which something superseded on a day no longer holds."""
    return f"CASE WHEN {day} IS NULL THEN {NEVER} ELSE {at_closing(day)} END"


def month_number(day: str) -> str:
    """Return SQL for the number of the month a day is in; negative before the first."""
    return f"datediff('month', first_month, {day})"


def closing_intervals(keys: str, table: str) -> str:
    """Return CTEs ``changes`` and ``intervals``: the spans between closings with a change.

    Rows of ``table`` hold from ``known_from_closing`` until before ``known_until_closing``. For
    each key, ``intervals`` lists every ``closing_no`` at which any of them starts or stops holding,
    and the next such closing as ``until_closing``: within an interval nothing changes.
    """
    return f"""
changes AS (
    SELECT {keys}, known_from_closing AS closing_no FROM {table}
    UNION SELECT {keys}, known_until_closing FROM {table}
),
intervals AS (
    SELECT {keys}, closing_no, lead(closing_no, 1, {NEVER}) OVER (
        PARTITION BY {keys} ORDER BY closing_no) AS until_closing
    FROM changes
)""".strip()
