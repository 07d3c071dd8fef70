-- What a build holds, and what changed on each day: counts and spans, no values.
--
-- Inputs: fundamentals, entities, tender_releases, macro_series, macro_annual, metrics, signals,
--   countries
-- Outputs: catalogue, changes (queries)

-- name: catalogue
-- One row for each thing that can be requested: a dataset of a country, a series, an indicator, a
-- line item, a metric, a panel of a country, a category and a status of tenders.
WITH named AS ({{ named_entities }}),

figures AS (
    SELECT
        figure.service_id, figure.line_item, figure.statement, figure.period_end, named.country
    FROM fundamentals AS figure
    LEFT JOIN named ON named.service_id = figure.service_id
    WHERE figure.latest
),

macro AS (
    SELECT country, country_iso3, period_end FROM macro_series WHERE latest
    UNION ALL
    SELECT country, country_iso3, period_end FROM macro_annual WHERE latest
),

counted AS (
    SELECT
        'dataset' AS section, 'AF-FUND' AS name, 'AF-FUND' AS dataset, country,
        NULL AS country_iso3, NULL AS type, NULL AS unit, NULL AS frequency,
        count(DISTINCT service_id) AS organisations, count(*) AS rows,
        min(period_end) AS held_from, max(period_end) AS held_to
    FROM figures
    GROUP BY country
    UNION ALL
    SELECT
        'dataset', 'AF-TENDER', 'AF-TENDER', country, NULL, NULL, NULL, NULL, NULL, count(*),
        min(released_on), max(released_on)
    FROM tender_releases
    WHERE latest
    GROUP BY country
    UNION ALL
    SELECT
        'dataset', 'AF-MACRO', 'AF-MACRO', country, country_iso3, NULL, NULL, NULL, NULL, count(*),
        min(period_end), max(period_end)
    FROM macro
    GROUP BY country, country_iso3
    UNION ALL
    SELECT
        'series', series, 'AF-MACRO', country, country_iso3, series_type, unit, frequency, NULL,
        count(*), min(period_end), max(period_end)
    FROM macro_series
    WHERE latest
    GROUP BY ALL
    UNION ALL
    -- of all countries together: most indicators have figures for nearly all of them
    SELECT
        'indicator', indicator, 'AF-MACRO', NULL, NULL, NULL, any_value(unit), 'annual', NULL,
        count(*), min(period_end), max(period_end)
    FROM macro_annual
    WHERE latest
    GROUP BY indicator
    UNION ALL
    SELECT
        'line_item', line_item, 'AF-FUND', NULL, NULL, any_value(statement), NULL, NULL,
        count(DISTINCT service_id), count(*), min(period_end), max(period_end)
    FROM figures
    GROUP BY line_item
    UNION ALL
    SELECT
        'metric', metric, 'AF-FUND', NULL, NULL, NULL, any_value(unit), NULL,
        count(DISTINCT service_id), count(*), min(period_end), max(period_end)
    FROM metrics
    GROUP BY metric
    UNION ALL
    SELECT
        'signal', signal_key, 'AF-TENDER', country, NULL, NULL, NULL, 'monthly', NULL, count(*),
        min(month), max(month)
    FROM signals
    WHERE superseded_at IS NULL
    GROUP BY signal_key, country
    UNION ALL
    SELECT
        'category', category, 'AF-TENDER', country, NULL, NULL, NULL, NULL, NULL, count(*),
        min(released_on), max(released_on)
    FROM tender_releases
    WHERE latest AND category IS NOT NULL
    GROUP BY category, country
    UNION ALL
    SELECT
        'status', tender_status, 'AF-TENDER', country, NULL, NULL, NULL, NULL, NULL, count(*),
        min(released_on), max(released_on)
    FROM tender_releases
    WHERE latest AND tender_status IS NOT NULL
    GROUP BY tender_status, country
)

SELECT
    counted.* REPLACE (coalesce(counted.country_iso3, countries.country_iso3) AS country_iso3)
FROM counted
LEFT JOIN countries ON countries.country = counted.country;

-- name: changes
-- One row for each day on which something about an issuer, a series, an indicator or the tenders of
-- a country arrived: how many vintages were new, restated or withdrawn.
WITH sightings AS (
    SELECT
        observed_at, 'AF-FUND' AS dataset, service_id AS id, issuer.country, vintage, withdrawn,
        available_at
    FROM fundamentals
    LEFT JOIN ({{ named_entities }}) AS issuer USING (service_id)
    UNION ALL
    SELECT observed_at, 'AF-TENDER', country AS id, country, vintage, withdrawn, available_at
    FROM tender_releases
    UNION ALL
    SELECT observed_at, 'AF-MACRO', series, country, vintage, withdrawn, available_at
    FROM macro_series
    UNION ALL
    SELECT observed_at, 'AF-MACRO', indicator, country, vintage, withdrawn, available_at
    FROM macro_annual
)

SELECT
    CAST(observed_at AS DATE) AS changed_on, dataset, id, country,
    count(*) FILTER (vintage = 1 AND NOT withdrawn) AS added,
    count(*) FILTER (vintage > 1 AND NOT withdrawn) AS restated,
    count(*) FILTER (withdrawn) AS withdrawn,
    min(available_at) AS available_from, max(available_at) AS available_to,
    -- removals are counted between versions, not by day
    CAST(NULL AS BIGINT) AS changed, CAST(NULL AS BIGINT) AS removed
FROM sightings
GROUP BY ALL;
