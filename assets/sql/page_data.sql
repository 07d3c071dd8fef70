-- What pages show of a whole build, summed up once. Pages are read without a key: of licensed rows
-- there are counts only, and one restated line.
--
-- Inputs: the tables of a snapshot
-- Outputs: none; every statement is a query

-- name: counts
WITH countries AS (
    SELECT country FROM tender_releases
    WHERE latest
    UNION ALL
    SELECT country FROM macro_series
    WHERE latest
    UNION ALL
    SELECT country FROM macro_annual
    WHERE latest
    UNION ALL
    SELECT country FROM fundamentals INNER JOIN ({{ named_entities }}) USING (service_id)
)

SELECT
    (SELECT count(DISTINCT country) FROM countries) AS countries,
    (SELECT count(DISTINCT service_id) FROM fundamentals) AS companies,
    (SELECT count(*) FROM tender_releases WHERE latest) AS releases,
    (SELECT count(DISTINCT series) FROM macro_series) AS series,
    (SELECT count(*) FROM fundamentals) + (SELECT count(*) FROM macro_series) AS vintages,
    (SELECT count(*) FROM fundamentals WHERE vintage > 1)
    + (SELECT count(*) FROM macro_series WHERE vintage > 1) AS restatements,
    (SELECT count(*) FROM silent_revisions WHERE {{ is_open }}) AS silent_revisions;

-- name: restated_line
-- The line of an issuer of which most full years were restated so that it can be seen in a chart,
-- with as many vintages as a sample key gets in one answer. Lines that everybody knows go first.
WITH years AS (
    SELECT
        service_id,
        line_item,
        unit,
        basis,
        period_end,
        arg_min(value_reported, vintage) AS first_value,
        abs(arg_max(value_reported, vintage) - first_value) / nullif(abs(first_value), 0) AS change
    FROM fundamentals
    WHERE period_type = 'FY' AND NOT withdrawn AND available_at IS NOT NULL
    GROUP BY service_id, line_item, unit, basis, period_end
),

chosen AS (
    SELECT service_id, line_item, unit, basis FROM years
    GROUP BY service_id, line_item, unit, basis
    ORDER BY
        -- More than half is rather another scale or sign than another view of the year.
        count(*) FILTER (WHERE change BETWEEN 0.02 AND 0.5) DESC,
        line_item IN ('revenue', 'profit', 'cfo') DESC,
        sum(least(change, 0.5)) DESC NULLS LAST,
        service_id, line_item, unit, basis
    LIMIT 1
)

SELECT
    service_id,
    legal_name,
    line_item,
    unit,
    coalesce(fiscal_label, CAST(period_end AS VARCHAR)) AS label,
    CAST(available_at AS VARCHAR) AS available_at,
    value_reported AS value
FROM fundamentals INNER JOIN chosen USING (service_id, line_item, unit, basis)
LEFT JOIN ({{ named_entities }}) USING (service_id)
WHERE period_type = 'FY' AND NOT withdrawn AND available_at IS NOT NULL
ORDER BY period_end DESC, vintage DESC
LIMIT 25;

-- name: last_changes
-- What arrived on the last day on which something did.
SELECT
    dataset,
    changed_on,
    count(*) AS things,
    CAST(sum(added) AS BIGINT) AS added,
    CAST(sum(restated) AS BIGINT) AS restated,
    CAST(sum(withdrawn) AS BIGINT) AS withdrawn
FROM ({{ changes }}) AS every_change
WHERE changed_on = (SELECT max(changed_on) FROM ({{ changes }}) AS all_changes)
GROUP BY dataset, changed_on
ORDER BY dataset;

-- name: coverage
SELECT
    country,
    year({{ day }}) AS year,
    CAST(count(*) AS DOUBLE) AS n,
    CAST(NULL AS DOUBLE) AS total
FROM {{ rows }}
WHERE latest AND {{ day }} IS NOT NULL
GROUP BY ALL
ORDER BY ALL;

-- name: freshness
SELECT
    source AS name,
    count(*) AS n,
    max(coalesce(available_at, try_cast(left(publication, 10) AS DATE))) AS available_at,
    max(observed_at) AS observed_at
FROM {{ rows }}
WHERE NOT withdrawn
GROUP BY ALL
ORDER BY ALL;

-- name: freshness_of_revisions
SELECT
    source AS name,
    count(*) AS n,
    CAST(NULL AS DATE) AS available_at,
    max(after_first_seen_at) AS observed_at
FROM silent_revisions
WHERE {{ is_open }}
GROUP BY ALL
ORDER BY ALL;

-- name: freshness_of_quality
SELECT
    sku AS name,
    count(*) AS n,
    CAST(NULL AS DATE) AS available_at,
    max(measured_at) AS observed_at
FROM quality
GROUP BY ALL
ORDER BY ALL;

-- name: coverage_of_panels
SELECT
    signal_key,
    country,
    year(month) AS year,
    CAST(sum(n_observed) AS DOUBLE) AS n,
    CAST(sum(n_eligible) AS DOUBLE) AS total
FROM signals
WHERE superseded_at IS NULL AND {{ is_open }}
GROUP BY ALL
ORDER BY ALL;

-- name: freshness_of_panels
SELECT
    signal_key,
    country AS name,
    count(*) AS n,
    max(available_at) AS available_at,
    max(observed_at) AS observed_at
FROM signals
WHERE superseded_at IS NULL AND {{ is_open }}
GROUP BY ALL
ORDER BY ALL;

-- name: panel_series
-- Charts show only the buyers or issuers with the most processes; the file of a panel has all.
WITH current_rows AS (
    SELECT * FROM signals
    WHERE superseded_at IS NULL AND {{ is_open }}
),

largest AS (
    SELECT signal_key, country, dimension, dimension_value, sum(n_eligible) AS weight
    FROM current_rows
    GROUP BY signal_key, country, dimension, dimension_value
    QUALIFY
        row_number() OVER (
            PARTITION BY signal_key, country, dimension ORDER BY weight DESC, dimension_value
        ) <= 12
)

SELECT
    signal_key,
    country,
    measure,
    unit,
    currency,
    dimension,
    dimension_value,
    legal_name,
    list(strftime(month, '%Y-%m-%d') ORDER BY month) AS month,
    -- DOUBLE, since these are drawn and not calculated with; the file has the exact digits
    list(CAST(value AS DOUBLE) ORDER BY month) AS value,
    list(CAST(coverage AS DOUBLE) ORDER BY month) AS coverage,
    list(n_eligible ORDER BY month) AS eligible,
    list(n_observed ORDER BY month) AS observed
FROM current_rows INNER JOIN largest USING (signal_key, country, dimension, dimension_value)
LEFT JOIN ({{ named_entities }}) AS named USING (service_id)
GROUP BY
    signal_key, country, measure, unit, currency, dimension, dimension_value, legal_name, weight
ORDER BY signal_key, country, measure, dimension, weight DESC, dimension_value, currency;

-- name: example_issuer
-- Examples that exist in the build: the issuer has a figure with many vintages.
SELECT service_id AS example FROM fundamentals
WHERE available_at <= DATE '{{ as_of }}'
GROUP BY ALL
ORDER BY max(vintage) DESC, count(*) DESC, service_id
LIMIT 1;

-- name: example_country
SELECT country AS example FROM tender_releases
WHERE latest
GROUP BY ALL
ORDER BY count(*) DESC, country
LIMIT 1;

-- name: example_series
SELECT series AS example FROM macro_series
WHERE available_at <= DATE '{{ as_of }}'
GROUP BY ALL
ORDER BY count(*) DESC, series
LIMIT 1;

-- name: issuers
WITH figures AS (
    -- all vintages: a restatement is counted even if the figure was withdrawn later
    SELECT
        service_id,
        count(*) FILTER (WHERE latest) AS figures,
        count(*) FILTER (WHERE vintage > 1) AS restated
    FROM fundamentals
    GROUP BY ALL
)

SELECT service_id, legal_name AS name, country, figures, restated
FROM figures LEFT JOIN ({{ named_entities }}) USING (service_id)
ORDER BY name, service_id;

-- name: revised_sources
SELECT
    source,
    dataset,
    count(*) AS revisions,
    count(*) FILTER (WHERE kind = 'edited') AS edited,
    count(*) FILTER (WHERE kind = 'overwritten') AS overwritten,
    count(*) FILTER (WHERE kind = 'removed') AS removed,
    count(*) FILTER (WHERE kind = 'restored') AS restored,
    max(after_first_seen_at) AS last_seen_at
FROM silent_revisions
WHERE {{ is_open }}
GROUP BY ALL
ORDER BY revisions DESC, source, dataset;

-- name: newest_revisions
-- The newest revisions of each source, the largest of a day first; the file has all.
SELECT
    revisions.*,
    legal_name AS company,
    try_cast(after AS DOUBLE) / nullif(try_cast(before AS DOUBLE), 0) - 1 AS change
FROM silent_revisions AS revisions LEFT JOIN ({{ named_entities }}) USING (service_id)
WHERE {{ is_open }}
QUALIFY
    row_number() OVER (
        PARTITION BY source, dataset
        ORDER BY after_first_seen_at::date DESC, abs(change) DESC NULLS LAST, revision_id
    ) <= 25
ORDER BY after_first_seen_at::date DESC, abs(change) DESC NULLS LAST, revision_id;

-- name: revised_indicators
-- The values that an annual indicator had before, oldest first, then the one that it has: the
-- page of the indicator shows them next to each other. A difference due to rounding is no revision.
WITH changed AS (
    SELECT *
    FROM silent_revisions
    WHERE
        {{ is_open }}
        AND indicator IS NOT NULL
        AND country IS NOT NULL
        AND member = 'value'
        AND abs(try_cast(after AS DOUBLE) / nullif(try_cast(before AS DOUBLE), 0) - 1) >= 0.0005
),

vintages AS (
    SELECT
        indicator,
        country,
        period_end,
        before AS value,
        before_since AS available_at,
        source_ref_before AS source_ref
    FROM changed
    UNION
    SELECT
        indicator,
        country,
        period_end,
        after AS value,
        after_first_seen_at::date AS available_at,
        source_ref
    FROM changed
)

SELECT
    *,
    row_number() OVER (
        PARTITION BY indicator, country, period_end ORDER BY available_at
    ) AS vintage
FROM vintages
QUALIFY
    row_number() OVER (
        PARTITION BY indicator, country, period_end, available_at ORDER BY source_ref
    ) = 1
ORDER BY indicator, country, period_end DESC, available_at;

-- name: striking_revisions
-- The largest changes of a number, one of each thing. What doubled is rather another scale.
SELECT
    revisions.*,
    legal_name AS company,
    try_cast(after AS DOUBLE) / nullif(try_cast(before AS DOUBLE), 0) - 1 AS change
FROM silent_revisions AS revisions LEFT JOIN ({{ named_entities }}) USING (service_id)
WHERE {{ is_open }} AND abs(change) BETWEEN 0.0001 AND 1
QUALIFY
    row_number() OVER (
        PARTITION BY coalesce(service_id, ocid, series, indicator)
        ORDER BY abs(change) DESC, revision_id
    ) = 1
ORDER BY abs(change) DESC, revision_id
LIMIT 3;

-- name: measurements
SELECT * FROM quality
ORDER BY sku, dimension, metric, scope, measured_at;

-- name: left_out
-- Without the examples: the page must not lead to a person who is left out.
SELECT table_name AS "table", rule, source, rows_left_out AS rows
FROM left_out
ORDER BY table_name, rule, source;

-- name: withheld_parties
-- How many parties of releases are withheld, by role: from which day that was known, until which,
-- and the day of the releases, as days since 1970.
SELECT
    country, role,
    date_diff('day', DATE '1970-01-01', available_at) AS since,
    date_diff('day', DATE '1970-01-01', coalesce(superseded_at, DATE '9999-12-31')) AS until,
    date_diff('day', DATE '1970-01-01', released_on) AS released,
    count(*) AS parties
FROM tender_parties
WHERE name IS NULL AND available_at IS NOT NULL AND NOT withdrawn
GROUP BY ALL
ORDER BY ALL;
