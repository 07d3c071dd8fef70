"""Public awards to listed issuers in a fiscal year, as a share of the revenue they reported."""

import duckdb

from assets.signals.calendar import at_closing, closing_intervals, month_number, until_closing
from assets.signals.raw_measures import add_measure, at_each_closing, with_ends
from warehouse.methodology.signals import MONEY_BELOW, YEAR_DAYS

# Whole ten-thousandths: the digits of a DECIMAL(38, 4).
_UNITS = (
    "CAST(replace(CAST(CAST(value_reported AS DECIMAL(38, 4)) AS VARCHAR), '.', '') AS HUGEINT)"
)
_KEYS = "country_no, month_no, dimension_value, currency"
# What this panel reads of registers and figures, for each partition of tenders: the tickers of its
# suppliers, and the revenue of those that have one. Nothing else changes a signal.
_TICKERS = """
SELECT DISTINCT partition, service_id, id_type, latest
FROM party_matches JOIN tender_partitions USING (source) JOIN identifiers USING (service_id)
WHERE id_type = 'ticker' AND latest
""".strip()
EXTRACTS = {
    "identifiers": _TICKERS,
    "fundamentals": f"""
SELECT DISTINCT partition, service_id, line_item, unit, currency_reported, period_start, period_end,
    basis, available_at, superseded_at, vintage, publication, withdrawn, value_reported
FROM fundamentals JOIN ({_TICKERS}) USING (service_id)
WHERE line_item = 'revenue'
""".strip(),
}


def add_award_intensity(sql: duckdb.DuckDBPyConnection) -> None:
    """Add the panel.

    Which issuers are listed, and which organisation a supplier is, are those of the data_version
    for all closings.
    """
    _create_issuer_awards(sql)
    _create_revenue(sql)
    rows = f"""
SELECT year.country_no, year.month_no, year.service_id AS dimension_value, year.currency,
    year.closing_no,
    coalesce(sum(award.units) FILTER (award.currency = year.currency), 0) AS term1,
    -- no conversion: an award in another currency is eligible, but not observed
    CASE WHEN count(*) FILTER (award.currency = year.currency) > 0 THEN any_value(year.units) END
        AS denominator,
    count(DISTINCT process_id) AS n_eligible,
    count(DISTINCT process_id) FILTER (award.currency = year.currency) AS n_observed
FROM (SELECT *, {at_each_closing()} FROM revenue) AS year
-- awards of the fiscal year, as known at the closing at which its revenue is looked at
JOIN issuer_awards AS award ON award.country_no = year.country_no
    AND award.service_id = year.service_id
    AND award.award_day BETWEEN year.period_start AND year.period_end
    AND award.known_from_closing <= year.closing_no
    AND year.closing_no < award.known_until_closing
GROUP BY ALL"""
    columns = {
        "dimension": "'issuer'",
        "dimension_value": "dimension_value",
        "currency": "currency",
    }
    rows = with_ends(rows, _KEYS)
    add_measure(sql, "listed-award-intensity", "award_intensity", rows, **columns)


def _create_issuer_awards(sql: duckdb.DuckDBPyConnection) -> None:
    """Create ``issuer_awards``: awards to listed suppliers, with an amount only if not shared."""
    sql.execute("""
CREATE OR REPLACE TEMP TABLE listed_issuers AS
SELECT DISTINCT service_id FROM identifiers WHERE id_type = 'ticker' AND latest""")
    sql.execute("""
CREATE OR REPLACE TEMP TABLE issuer_awards AS
SELECT line.country_no, process_id, award_day, known_from_closing, known_until_closing, service_id,
    CASE WHEN len(suppliers) = 1 THEN units END AS units,
    CASE WHEN len(suppliers) = 1 AND units IS NOT NULL THEN currency END AS currency
FROM (SELECT *, unnest(suppliers) AS party_no FROM award_lines) AS line
JOIN parties USING (party_no) JOIN listed_issuers USING (service_id)""")


def _create_revenue(sql: duckdb.DuckDBPyConnection) -> None:
    """Create ``revenue``: what was reported for each full year, consolidated if available."""
    sql.execute(f"""
CREATE OR REPLACE TEMP TABLE revenue AS
WITH reported AS (
    SELECT DISTINCT service_id,
        codes.code_no AS currency, period_start, period_end, basis, available_at,
        superseded_at, vintage, publication,
        CASE WHEN NOT withdrawn AND value_reported > 0 AND value_reported < {MONEY_BELOW}
            THEN nullif({_UNITS}, 0) END AS units
    FROM fundamentals JOIN codes ON code = currency_reported
    -- another unit than the reported currency is a translation for convenience
    WHERE line_item = 'revenue' AND unit = currency_reported AND available_at IS NOT NULL
      AND datediff('day', period_start, period_end) + 1 BETWEEN {YEAR_DAYS[0]} AND {YEAR_DAYS[1]}
),
vintages AS (
    -- every vintage, from the closing that first sees it to the one that sees the next; a year
    -- that began before the first release of the country has awards nobody knows
    SELECT *, {at_closing("available_at")} AS known_from_closing,
        {until_closing("superseded_at")} AS known_until_closing,
        {month_number("period_end")} AS month_no
    FROM reported JOIN listed_issuers USING (service_id), countries
    WHERE period_start >= first_month AND units IS NOT NULL
      AND service_id IN (SELECT service_id FROM issuer_awards)
),
{closing_intervals("service_id, currency, country_no, month_no", "vintages")}
SELECT service_id, currency, country_no, month_no, closing_no AS known_from_closing,
    min(until_closing) AS known_until_closing, min(closing_count) AS closing_count,
    {_preferred("units")}, {_preferred("period_start")}, {_preferred("period_end")}
FROM vintages JOIN intervals USING (service_id, currency, country_no, month_no)
WHERE vintages.known_from_closing <= closing_no AND closing_no < vintages.known_until_closing
GROUP BY service_id, currency, country_no, month_no, closing_no""")


def _preferred(column: str) -> str:
    """Return SQL for a column of the preferred statement: consolidated, and ending last."""
    # units last: a tie is broken by content, so that the result does not depend on row order.
    order = "NOT starts_with(basis, 'consolidated'), basis, -epoch(period_end), period_start"
    return f"arg_min({column}, ({order}, units)) AS {column}"
