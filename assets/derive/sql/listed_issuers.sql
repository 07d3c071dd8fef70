-- Public awards to listed issuers in a fiscal year, as a share of the revenue they reported.
--
-- Which issuers are listed, and which organisation a supplier is, are those of the data_version for
-- all closings.
--
-- Inputs: identifiers, fundamentals; award_lines, parties, codes, countries, at_closing,
--   until_closing, month_number, ten_thousandths, raw
-- Outputs: listed_issuers, issuer_awards, revenue (tables); rows of raw

-- name: listed_issuers
-- Organisations with a ticker.
CREATE OR REPLACE TEMP TABLE listed_issuers AS
SELECT DISTINCT service_id
FROM identifiers
WHERE id_type = 'ticker' AND latest;

-- name: issuer_awards
-- Awards to listed suppliers, with an amount only if not shared.
CREATE OR REPLACE TEMP TABLE issuer_awards AS
SELECT
    line.country_no, process_id, award_day, known_from_closing, known_until_closing, service_id,
    CASE WHEN len(suppliers) = 1 THEN units END AS units,
    CASE WHEN len(suppliers) = 1 AND units IS NOT NULL THEN currency END AS currency
FROM (SELECT *, unnest(suppliers) AS party_no FROM award_lines) AS line
JOIN parties USING (party_no)
JOIN listed_issuers USING (service_id);

-- name: revenue
-- What was reported for each full year, consolidated if available, as known in an interval.
CREATE OR REPLACE TEMP TABLE revenue AS
WITH reported AS (
    SELECT DISTINCT
        service_id, codes.code_no AS currency, period_start, period_end, basis, available_at,
        superseded_at, vintage, publication,
        CASE WHEN NOT withdrawn THEN ten_thousandths(value_reported) END AS units
    FROM fundamentals
    JOIN codes ON code = currency_reported
    WHERE
        line_item = 'revenue'
        -- another unit than the reported currency is a translation for convenience
        AND unit = currency_reported
        AND available_at IS NOT NULL
        AND datediff('day', period_start, period_end) + 1 BETWEEN $shortest_year AND $longest_year
),

vintages AS (
    -- every vintage, from the closing that first sees it to the one that sees the next
    SELECT
        service_id, currency, country_no, closing_count, period_start, period_end, basis, units,
        at_closing(available_at, first_month, closing_days) AS known_from_closing,
        until_closing(superseded_at, first_month, closing_days) AS known_until_closing,
        month_number(period_end, first_month) AS month_no
    FROM reported
    JOIN listed_issuers USING (service_id)
    CROSS JOIN countries
    WHERE
        -- of a year that began before the country's first release, some awards are unknown
        period_start >= first_month
        AND units IS NOT NULL
        AND service_id IN (SELECT service_id FROM issuer_awards)
),

changes AS (
    SELECT service_id, currency, country_no, month_no, known_from_closing AS closing_no
    FROM vintages
    UNION
    SELECT service_id, currency, country_no, month_no, known_until_closing
    FROM vintages
),

intervals AS (
    -- the spans between closings at which a vintage begins or ends to hold
    SELECT
        service_id, currency, country_no, month_no, closing_no,
        lead(closing_no, 1, $never) OVER by_closing AS until_closing
    FROM changes
    WINDOW by_closing AS (
        PARTITION BY service_id, currency, country_no, month_no ORDER BY closing_no
    )
),

ordered AS (
    -- the preferred statement comes first: consolidated, and ending last; units last, so that a tie
    -- is broken by content and the result does not depend on row order
    SELECT
        *,
        (
            NOT starts_with(basis, 'consolidated'), basis, -epoch(period_end), period_start, units
        ) AS preference
    FROM vintages
)

SELECT
    service_id, currency, country_no, month_no, closing_no AS known_from_closing,
    min(until_closing) AS known_until_closing, min(closing_count) AS closing_count,
    arg_min(units, preference) AS units, arg_min(period_start, preference) AS period_start,
    arg_min(period_end, preference) AS period_end
FROM ordered
JOIN intervals USING (service_id, currency, country_no, month_no)
WHERE ordered.known_from_closing <= closing_no AND closing_no < ordered.known_until_closing
GROUP BY service_id, currency, country_no, month_no, closing_no;

-- name: add_award_intensity
-- Awards of the fiscal year, as known at the closing at which its revenue is looked at, and a row
-- of zeros after each run of closings that have a row: without it, a row whose awards all moved to
-- another year would hold for ever.
INSERT INTO raw BY NAME
WITH years AS (
    -- not before the closing of its month, nor after its last evaluation
    SELECT
        country_no, month_no, service_id, currency, closing_count, units, period_start, period_end,
        CAST(unnest(range(
            greatest(known_from_closing, month_no),
            least(known_until_closing, month_no + $evaluations, closing_count)
        )) AS INTEGER) AS closing_no
    FROM revenue
),

measured AS (
    SELECT
        years.country_no, years.month_no, years.service_id, years.currency, years.closing_no,
        any_value(years.closing_count) AS closing_count,
        coalesce(sum(award.units) FILTER (award.currency = years.currency), 0) AS term1,
        -- no conversion: an award in another currency is eligible, but not observed
        CASE
            WHEN count(*) FILTER (award.currency = years.currency) > 0 THEN any_value(years.units)
            ELSE 0
        END AS denominator,
        count(DISTINCT process_id) AS n_eligible,
        count(DISTINCT process_id) FILTER (award.currency = years.currency) AS n_observed
    FROM years
    JOIN issuer_awards AS award
        ON award.country_no = years.country_no
        AND award.service_id = years.service_id
        AND award.award_day BETWEEN years.period_start AND years.period_end
        AND award.known_from_closing <= years.closing_no
        AND years.closing_no < award.known_until_closing
    GROUP BY
        years.country_no, years.month_no, years.service_id, years.currency, years.closing_no
),

followed AS (
    SELECT
        country_no, month_no, service_id, currency, closing_no + 1 AS next_closing,
        lead(closing_no, 1, -1) OVER by_closing AS next_row,
        least(month_no + $evaluations, closing_count) AS ends
    FROM measured
    WINDOW by_closing AS (
        PARTITION BY country_no, month_no, service_id, currency ORDER BY closing_no
    )
),

rows_and_ends AS (
    SELECT
        country_no, month_no, service_id, currency, closing_no, term1, denominator, n_eligible,
        n_observed
    FROM measured
    UNION ALL
    SELECT country_no, month_no, service_id, currency, next_closing, 0, 0, 0, 0
    FROM followed
    WHERE next_row <> next_closing AND next_closing < ends
)

SELECT
    'listed-award-intensity' AS panel, 'award_intensity' AS measure, country_no, month_no,
    'issuer' AS dimension, service_id AS dimension_value, currency, closing_no, term1, denominator,
    n_eligible, n_observed
FROM rows_and_ends;
