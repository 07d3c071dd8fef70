"""What listed issuers won of public awards in a year, against the revenue they reported."""

import duckdb

from assets.signals.calendar import NEVER, SPAN, at_closing, number_of_month, until_closing
from assets.signals.raw_measures import add, with_ends
from warehouse.methodology.signals import MONEY_BELOW, YEAR_DAYS

_UNITS = (
    "CAST(replace(CAST(CAST(value_reported AS DECIMAL(38, 4)) AS VARCHAR), '.', '') AS HUGEINT)"
)
_KEYS = "c, m, dimension_value, currency"


def listed(sql: duckdb.DuckDBPyConnection) -> None:
    """Add the panel; who is listed and who a supplier is, the data_version says."""
    _won(sql)
    _revenue(sql)
    rows = f"""
SELECT year.c, year.m, year.service_id AS dimension_value, year.currency, year.k,
    coalesce(sum(won.units) FILTER (won.currency = year.currency), 0) AS n1,
    CASE WHEN count(*) FILTER (won.currency = year.currency) > 0 THEN any_value(year.units) END
        AS den,
    count(DISTINCT pid) AS n_eligible,
    count(DISTINCT pid) FILTER (won.currency = year.currency) AS n_observed
FROM (
    SELECT *, CAST(unnest(range(greatest(kf, m), least(ku, m + {SPAN}, closings))) AS INTEGER) AS k
    FROM revenue
) AS year JOIN won ON won.c = year.c AND won.service_id = year.service_id
    AND won.day BETWEEN year.period_start AND year.period_end
    AND won.kf <= year.k AND year.k < won.ku
GROUP BY ALL"""
    named = {"dimension": "'issuer'", "dimension_value": "dimension_value", "currency": "currency"}
    add(sql, "listed-award-intensity", "award_intensity", with_ends(rows, _KEYS), **named)


def _won(sql: duckdb.DuckDBPyConnection) -> None:
    """Make ``won``: awards to suppliers that are listed; of shared ones no amount is told."""
    sql.execute("""
CREATE OR REPLACE TEMP TABLE listed AS
SELECT DISTINCT coalesce(pointing.same_as, ticker.service_id) AS service_id
FROM identifiers AS ticker LEFT JOIN same_as AS pointing USING (service_id)
WHERE id_type = 'ticker' AND latest""")
    sql.execute("""
CREATE OR REPLACE TEMP TABLE won AS
SELECT line.c, pid, day, kf, ku, service_id,
    CASE WHEN len(suppliers) = 1 THEN units END AS units,
    CASE WHEN len(suppliers) = 1 AND units IS NOT NULL THEN currency END AS currency
FROM (SELECT *, unnest(suppliers) AS party FROM lines) AS line
JOIN parties USING (party) JOIN listed USING (service_id)""")


def _revenue(sql: duckdb.DuckDBPyConnection) -> None:
    """Make ``revenue``: of each full year what was reported, consolidated where it is."""
    sql.execute(f"""
CREATE OR REPLACE TEMP TABLE revenue AS
WITH reported AS (
    SELECT DISTINCT coalesce(pointing.same_as, fact.service_id) AS service_id,
        words.id AS currency, period_start, period_end, basis, available_at,
        superseded_at, vintage, publication,
        CASE WHEN NOT withdrawn AND value_reported > 0 AND value_reported < {MONEY_BELOW}
            THEN nullif({_UNITS}, 0) END AS units
    FROM fundamentals AS fact LEFT JOIN same_as AS pointing USING (service_id)
    JOIN words ON word = currency_reported
    WHERE line_item = 'revenue' AND unit = currency_reported AND available_at IS NOT NULL
      AND datediff('day', period_start, period_end) + 1 BETWEEN {YEAR_DAYS[0]} AND {YEAR_DAYS[1]}
),
chosen AS (
    SELECT *, {at_closing("available_at")} AS kf,
        {until_closing("superseded_at")} AS ku,
        {number_of_month("period_end")} AS m
    FROM reported JOIN listed USING (service_id), countries
    WHERE period_start >= first_month AND units IS NOT NULL
      AND service_id IN (SELECT service_id FROM won)
),
changes AS (
    SELECT service_id, currency, c, m, kf AS k FROM chosen
    UNION SELECT service_id, currency, c, m, ku FROM chosen
),
points AS (
    SELECT *, lead(k, 1, {NEVER}) OVER (PARTITION BY service_id, currency, c, m ORDER BY k) AS until
    FROM changes
)
SELECT service_id, currency, c, m, k AS kf, min(until) AS ku, min(closings) AS closings,
    {_first("units")}, {_first("period_start")}, {_first("period_end")}
FROM chosen JOIN points USING (service_id, currency, c, m)
WHERE chosen.kf <= k AND k < chosen.ku
GROUP BY service_id, currency, c, m, k""")


def _first(name: str) -> str:
    order = "NOT starts_with(basis, 'consolidated'), basis, -epoch(period_end), period_start"
    return f"arg_min({name}, ({order}, units)) AS {name}"
