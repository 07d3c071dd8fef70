-- The rows of registers that organisations are joined and parties are resolved by.
--
-- Inputs: identifiers and entities of a snapshot, one of which is the table
-- Outputs: latest, withdrawn (queries)

-- name: latest
-- The latest rows, and until when they were known: without an end.
SELECT
    {{ columns }},
    TRUE AS is_current,
    available_at AS known_from,
    CAST(NULL AS DATE) AS known_until
FROM main.{{ table }}
WHERE latest;

-- name: withdrawn
-- What sources showed and later withdrew, as they showed it last. GLEIF withdraws a record only if
-- it is a person's: that is evidence of nothing.
WITH ended AS (
    SELECT figure, figure_check
    FROM main.{{ table }}
    WHERE withdrawn
),

histories AS (
    SELECT *
    FROM main.{{ table }}
    SEMI JOIN ended USING (figure, figure_check)
    WHERE source NOT LIKE 'gleif%'
    QUALIFY NOT bool_or(latest) OVER (PARTITION BY figure, figure_check)
)

SELECT
    {{ columns }},
    FALSE,
    available_at,
    superseded_at
FROM histories
WHERE NOT withdrawn
QUALIFY row_number() OVER (PARTITION BY figure, figure_check ORDER BY vintage DESC) = 1;
