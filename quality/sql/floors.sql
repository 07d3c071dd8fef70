-- The measurements of each dataset: a row for each scope, with how many were checked and passed, or
-- with a value.
--
-- A measurement without rows, or of nothing, is UNMEASURED. Conditions of shares are those of the
-- rule book.
--
-- Inputs: fundamentals, filings, newest_statements, tender_releases, tender_parties, macro_annual,
--   macro_series, party_matches, signals, same_as, vetoed_joins; releases_with_contact,
--   failing_parties (tables of the organisation check)
-- Outputs: scope, n_checked, n_passed, value (of ages and multiples only)

-- name: share
-- The rows of a table that meet a condition.
SELECT
    {{ scope }} AS scope,
    count(*) AS n_checked,
    count(*) FILTER (WHERE {{ condition }}) AS n_passed
FROM {{ table }}
WHERE {{ among }}
GROUP BY scope;

-- name: unique_keys
-- As many keys as rows, if no key occurs twice.
SELECT
    '{{ table }}' AS scope,
    sum(occurrences) AS n_checked,
    count(*) AS n_passed
FROM (SELECT count(*) AS occurrences FROM {{ table }} GROUP BY {{ key }});

-- name: one_value_per_period
-- The periods of each series that have one value.
SELECT
    '{{ table }}' AS scope,
    count(*) AS n_checked,
    count(*) FILTER (WHERE figures = 1) AS n_passed
FROM (SELECT count(*) AS figures FROM {{ table }} WHERE latest GROUP BY {{ series }});

-- name: days_since_new
-- The age of the newest publication of each source. A publication is as old as its own date: the
-- day from which the public could read it, else the day by which the publisher names it. If it has
-- neither, the day on which we first saw it counts. So reading the same again makes nothing newer,
-- and a silent edit of an old publication does not either.
SELECT
    source AS scope,
    sum(row_count) AS n_checked,
    NULL AS n_passed,
    greatest(0, date_diff('day', max(published_on), CAST($measured_at AS DATE))) AS value
FROM (
    SELECT
        source,
        publication,
        count(*) AS row_count,
        max(observed_at) AS last_read,
        min(coalesce(
            available_at, try_cast(left(publication, 10) AS DATE), CAST(observed_at AS DATE)
        )) AS published_on
    FROM ({{ rows }})
    GROUP BY ALL
)
GROUP BY source;

-- name: joins_uncontradicted
-- The joins by identifiers of securities, and those that were vetoed. The first vetoed pairs are
-- listed each by itself; a list that is wrong throughout must not flood the report.
WITH vetoed AS (
    SELECT DISTINCT
        coalesce(first.same_as, veto.service_id) AS service_id,
        coalesce(second.same_as, other_id) AS other_id,
        veto.match_method, reason
    FROM vetoed_joins AS veto
    LEFT JOIN same_as AS first ON first.service_id = veto.service_id
    LEFT JOIN same_as AS second ON second.service_id = other_id
),

joins AS (
    SELECT match_method, TRUE AS is_made
    FROM same_as
    UNION ALL
    SELECT match_method, FALSE AS is_made
    FROM vetoed
)

SELECT match_method AS scope, count(*) AS n_checked, count(*) FILTER (WHERE is_made) AS n_passed
FROM joins
WHERE match_method IN ('isin', 'figi', 'listing')
GROUP BY match_method
UNION ALL
SELECT
    concat(service_id, ' and ', other_id, ' by ', match_method, ' against ', reason) AS scope,
    1 AS n_checked,
    0 AS n_passed
FROM (FROM vetoed ORDER BY ALL LIMIT 200);

-- name: month_in_history
-- By how many times each month of a panel exceeds the largest of the months before it. A month that
-- exceeds it by too much is listed by itself, all others of a country are one row. Rows of buyers
-- and categories count, but only the month and the measure are named.
WITH followed AS (
    SELECT
        country, signal_key, measure, month, abs(CAST(value AS DOUBLE)) AS size,
        max(abs(CAST(value AS DOUBLE))) OVER months_before AS largest_before,
        count(*) OVER months_before AS months
    FROM signals
    -- as known now; where nothing occurred there is nothing to compare with
    WHERE superseded_at IS NULL AND value <> 0
    WINDOW months_before AS (
        PARTITION BY
            country, signal_key, measure, dimension, dimension_value, service_id, currency
        ORDER BY month
        RANGE BETWEEN INTERVAL {{ months_before }} MONTH PRECEDING
        AND INTERVAL 1 MONTH PRECEDING
    )
),

by_month AS (
    SELECT
        country, signal_key, measure, month, count(*) AS n_checked,
        count(*) FILTER (WHERE size <= {{ most_times }} * largest_before) AS n_passed,
        max(size / largest_before) AS times
    FROM followed
    WHERE months >= {{ fewest_months }}
    GROUP BY ALL
)

SELECT
    CASE
        WHEN n_passed = n_checked THEN country
        ELSE concat_ws(' ', country, signal_key, measure, strftime(month, '%Y-%m'))
    END AS scope,
    sum(n_checked) AS n_checked,
    sum(n_passed) AS n_passed,
    -- rounded up: what is listed is above the floor
    ceil(least(max(times), 1e15) * 100) / 100 AS value
FROM by_month
GROUP BY scope;

-- name: accounting_identity
-- Assets must equal liabilities plus equity, with the items between the two in US statements, in
-- the newest publication that has the balance: a later one may restate a single side. Those
-- items may also be a part of liabilities or equity already. A difference of up to a
-- thousandth is due to rounding, for example of amounts in millions. A side that contradicts its
-- own filing fails, whatever the sum.
WITH balances AS (
    SELECT
        bool_or(conflicts_with IS NOT NULL) AS conflicts,
        max(value_reported) FILTER (WHERE line_item = 'total_assets') AS assets,
        max(value_reported) FILTER (WHERE line_item = 'total_liabilities') AS liabilities,
        max(value_reported) FILTER (WHERE line_item = 'total_equity') AS equity,
        coalesce(max(value_reported) FILTER (WHERE line_item = 'temporary_equity'), 0) AS temporary
    FROM newest_statements
    WHERE
        latest
        AND line_item IN ('total_assets', 'total_liabilities', 'total_equity', 'temporary_equity')
    GROUP BY service_id, unit, basis, period_end
    HAVING assets IS NOT NULL AND liabilities IS NOT NULL AND equity IS NOT NULL
)

SELECT
    'fundamentals' AS scope,
    count(*) AS n_checked,
    count(*) FILTER (
        WHERE NOT conflicts AND least(
            abs(CAST(assets - liabilities - equity AS DOUBLE)),
            abs(CAST(assets - liabilities - equity - temporary AS DOUBLE))
        ) <= abs(assets) / 1000
    ) AS n_passed
FROM balances;

-- name: core_items_reported
-- Issuers whose newest full year has revenue, profit and total assets. Banks and insurers, which
-- report no revenue, are known by lines that only they have.
WITH issuers AS (
    SELECT
        service_id,
        bool_or(line_item IN ('deposits', 'premiums', 'claims'))
        OR (bool_or(line_item = 'net_interest_income') AND bool_or(line_item = 'loans'))
            AS is_financial,
        max(period_end) FILTER (WHERE period_type = 'FY') AS year_end
    FROM fundamentals
    WHERE latest
    GROUP BY ALL
),

newest AS (
    SELECT
        service_id,
        bool_or(line_item = 'revenue' AND period_type = 'FY') AS revenue,
        bool_or(line_item IN ('profit', 'profit_attributable') AND period_type = 'FY') AS profit,
        bool_or(line_item = 'total_assets') AS assets
    FROM fundamentals
    INNER JOIN issuers USING (service_id)
    WHERE latest AND NOT is_financial AND period_end = year_end
    GROUP BY ALL
)

SELECT
    'non-financial issuers' AS scope,
    count(*) AS n_checked,
    count(*) FILTER (WHERE revenue AND profit AND assets) AS n_passed
FROM newest;
