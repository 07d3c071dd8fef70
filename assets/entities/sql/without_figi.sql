-- ISINs of listed organisations, and listings of those without an ISIN; none of which has a FIGI.
--
-- Inputs: identifiers, the relation of the stored table
-- Outputs: without_figi (a query)

-- name: without_figi
WITH stored AS (
    SELECT
        service_id,
        id_type,
        id_value,
        issuer
    FROM {{ identifiers }}
    WHERE NOT withdrawn
),

with_figi AS (
    SELECT DISTINCT service_id
    FROM stored
    WHERE id_type = 'figi'
),

listed AS (
    SELECT DISTINCT service_id
    FROM stored
    WHERE
        id_type = 'ticker'
        AND service_id NOT IN (SELECT service_id FROM with_figi)
),

with_isin AS (
    SELECT DISTINCT service_id
    FROM stored
    WHERE id_type = 'isin'
)

SELECT DISTINCT
    id_type,
    id_value
FROM stored
SEMI JOIN listed USING (service_id)
WHERE
    id_type = 'isin'
    OR (
        id_type = 'ticker'
        AND length(issuer) = 4
        AND service_id NOT IN (SELECT service_id FROM with_isin)
    )
ORDER BY id_type, id_value;
