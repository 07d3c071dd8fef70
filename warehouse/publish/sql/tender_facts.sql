-- The tender facts: the estimated value of each process, vintage by vintage.
--
-- A process is published in several releases. Its fact is the value in the newest release known on
-- a day that states one, so that a process counts once on any day. DATE '9999-12-31' is a day after
-- every other: what is known now, also from releases without a day.
--
-- Inputs: tender_releases, tender_parties, party_matches; countries (of the facts as they are
--   served)
-- Outputs: tender_vintages (table); tender_facts (query)

-- name: tender_vintages
-- The value of each process, in every vintage.
WITH ordered AS (
    -- the releases that state a value; one that states none, or one that cannot be, leaves it as it
    -- was
    SELECT
        row_id, source, ocid, available_at, superseded_at, latest,
        { 'row_id': row_id, 'value': tender_value, 'unit': tender_currency } AS stated,
        row_number() OVER (
            PARTITION BY source, ocid
            ORDER BY
                coalesce(released_on, available_at), available_at, publication, vintage, row_id
        ) AS release_order
    FROM tender_releases
    WHERE
        tender_value IS NOT NULL
        AND NOT withdrawn
        AND NOT coalesce(list_contains(implausible, 'tender.value.amount'), FALSE)
),

days AS (
    -- the days on which the set of known releases of a process changes, numbered, and today
    SELECT
        source, ocid, day,
        row_number() OVER by_day AS day_number,
        lead(day) OVER by_day AS next_day
    FROM (
        SELECT DISTINCT
            source, ocid, unnest([available_at, superseded_at, DATE '9999-12-31']) AS day
        FROM ordered
    )
    WHERE day IS NOT NULL
    WINDOW by_day AS (PARTITION BY source, ocid ORDER BY day)
),

merged AS (
    -- the value as it was known on each of those days
    SELECT
        source, ocid, day, day_number, next_day, arg_max(stated, release_order) AS stated
    FROM days
    JOIN ordered USING (source, ocid)
    WHERE
        CASE
            WHEN day = DATE '9999-12-31' THEN ordered.latest
            ELSE
                -- half-open: on the day of a change the new release counts, and on no day do both
                ordered.available_at <= day
                AND (ordered.superseded_at IS NULL OR ordered.superseded_at > day)
        END
    GROUP BY ALL
),

standing AS (
    SELECT
        source, ocid, day, day_number, next_day, stated.row_id, stated.value, stated.unit,
        (stated.value, stated.unit) AS content
    FROM merged
),

followed AS (
    SELECT
        *, lag(day_number) OVER process AS number_before,
        lag(content) OVER process AS content_before
    FROM standing
    WINDOW process AS (PARTITION BY source, ocid ORDER BY day_number)
),

compared AS (
    -- a vintage begins after a day without a value, or if the value or its currency changes
    SELECT
        *,
        (number_before + 1 IS DISTINCT FROM day_number)
        OR (content_before IS DISTINCT FROM content) AS begins_vintage
    FROM followed
),

numbered AS (
    SELECT
        *,
        CAST(sum(CAST(begins_vintage AS INTEGER)) OVER (
            PARTITION BY source, ocid ORDER BY day_number
        ) AS BIGINT) AS vintage
    FROM compared
),

vintages AS (
    SELECT
        source, ocid, vintage, arg_min(row_id, day_number) AS row_id, any_value(value) AS value,
        any_value(unit) AS unit, nullif(min(day), DATE '9999-12-31') AS available_at,
        nullif(arg_max(next_day, day_number), DATE '9999-12-31') AS superseded_at,
        max(day) = DATE '9999-12-31' AS latest
    FROM numbered
    GROUP BY ALL
)

-- buyer and provenance are those of the release that first states the value
SELECT
    vintages.*, FALSE AS withdrawn, row_id AS fact_id, released.* EXCLUDE (row_id),
    released_on AS period_end
FROM vintages
JOIN (
    SELECT
        row_id, buyer_id AS entity_id, json_extract_string(release, '$.buyer.name') AS entity_name,
        buyer_id, json_extract_string(release, '$.buyer.name') AS buyer,
        json_extract_string(release, '$.tender.title') AS title, category,
        country, released_on, source_ref, license_class, observed_at, method,
        extraction_confidence, provenance_id
    FROM ({{ releases }})
) AS released USING (row_id);

-- name: tender_facts
-- The same as it is served.
SELECT
    facts.*, countries.country_iso3, 'AF-TENDER' AS dataset, 'tender_value' AS measure,
    'INSTANT' AS period_type, CAST(NULL AS VARCHAR) AS base_period
FROM tender_vintages AS facts
LEFT JOIN countries ON countries.country = facts.country;
