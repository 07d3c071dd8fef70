-- The rows of tables of a build that are more than those of a table, and less than a query of
-- served_rows.
--
-- Inputs: fundamentals, newest_statements, filings, first_listings, exchange_sessions,
--   derived_figures, elements, macro_annual, macro_series, entities, identifiers, quality,
--   signals, page_data; metrics and metrics_absent, or the same of another set
-- Outputs: with_sessions, fundamentals, newest_statements, filings, derived_figures, elements,
--   macro_annual, series, entities, universe, metrics, screens, metrics_absent, signals, quality,
--   page_data (queries)

-- name: with_sessions
-- Rows, each with the first session that opens after it was public, on the exchange where the
-- issuer is listed first. A day is over in UTC, as for every as_of. Some moments are known to the
-- minute: what was accepted in the minute of the opening came too late for it.
SELECT known.*, tradable_from
FROM {{ rows }} AS known
LEFT JOIN (
    SELECT service_id, available_at, accepted_at, session_on AS tradable_from
    FROM (
        SELECT DISTINCT
            service_id, available_at, accepted_at, mic,
            coalesce(
                date_trunc('minute', TRY_CAST(accepted_at AS TIMESTAMPTZ)) + INTERVAL 1 MINUTE,
                CAST(available_at + 1 AS TIMESTAMPTZ)
            ) AS public_at
        FROM {{ rows }}
        JOIN first_listings USING (service_id)
        WHERE available_at IS NOT NULL
    ) AS public
    ASOF JOIN exchange_sessions AS sessions
        ON sessions.mic = public.mic AND sessions.opens_at >= public.public_at
    -- before the calendar begins there is no next session
    WHERE session_on <= CAST(public_at AS DATE) + 30
) AS following
    ON following.service_id = known.service_id
    AND following.available_at = known.available_at
    AND following.accepted_at IS NOT DISTINCT FROM known.accepted_at;

-- name: fundamentals
SELECT *, row_id AS fact_id FROM ({{ with_sessions }});

-- name: newest_statements
SELECT *, row_id AS fact_id FROM ({{ with_sessions }});

-- name: filings
SELECT * FROM ({{ with_sessions }});

-- name: derived_figures
SELECT * REPLACE (CAST(inputs AS JSON) AS inputs), row_id AS fact_id FROM derived_figures;

-- name: elements
SELECT *, row_id AS fact_id FROM elements;

-- name: macro_annual
SELECT *, NULL::VARCHAR AS series_type, 'annual' AS frequency FROM macro_annual;

-- name: series
SELECT DISTINCT series, country_iso3, frequency, country, series_type FROM macro_series;

-- name: entities
-- With texts in which a dataset or an exchange is found between blanks.
SELECT
    *,
    concat(' ', array_to_string(datasets, ' '), ' ') AS held_in,
    concat(' ', array_to_string(list_transform(listings, LAMBDA each: each.mic), ' '), ' ')
        AS exchanges
FROM ({{ current_entities }});

-- name: universe
SELECT * REPLACE (CAST(former_names AS JSON) AS former_names) FROM ({{ universe }});

-- name: metrics
SELECT
    metrics.* REPLACE (CAST(inputs AS JSON) AS inputs, CAST(value AS JSON) AS value),
    CAST(value AS DOUBLE) AS size, legal_name, country
FROM metrics{{ of_set }} AS metrics
LEFT JOIN ({{ named_entities }}) AS entity USING (service_id);

-- name: screens
SELECT
    metric, CAST(value AS DOUBLE) AS size, service_id, country, answers_from, answers_until
FROM metrics{{ of_set }}
LEFT JOIN ({{ named_entities }}) AS entity USING (service_id);

-- name: metrics_absent
SELECT absent.*, country
FROM metrics{{ of_set }}_absent AS absent
LEFT JOIN ({{ named_entities }}) AS entity USING (service_id);

-- name: signals
SELECT signals.*, legal_name
FROM signals
LEFT JOIN ({{ named_entities }}) AS entity USING (service_id);

-- name: quality
-- A value that was not measured is served as the text UNMEASURED, not as null.
SELECT
    * RENAME (value AS measured),
    CAST(CASE
        WHEN value IS NULL OR status = 'UNMEASURED' THEN '"UNMEASURED"'
        ELSE rtrim(rtrim(CAST(value AS VARCHAR), '0'), '.')
    END AS JSON) AS value
FROM quality
WHERE data_version = this_version();

-- name: page_data
SELECT name, CAST(body AS JSON) AS body FROM page_data;
