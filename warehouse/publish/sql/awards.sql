-- Awards as releases state them.
--
-- Their JSON is read in Python, once for all that is derived from it: DuckDB reads an amount in
-- JSON as DOUBLE, which loses digits. What it reads is the table stated_awards, one row for each
-- award of each release.
--
-- Inputs: tender_releases, tender_parties, stated_awards
-- Outputs: releases_with_awards, award_statements (queries)

-- name: releases_with_awards
-- A cheap test of the text: releases without awards need not be parsed.
SELECT row_id, release, coalesce(implausible, []) AS implausible
FROM tender_releases
WHERE contains(release, '"awards"');

-- name: award_statements
-- Awards as releases state them. Only processes in which a supplier ever had a name have award
-- facts; of those every release counts, since a later release may change an award.
WITH supplied AS (
    SELECT DISTINCT source, ocid
    FROM tender_parties
    WHERE role = 'supplier' AND name IS NOT NULL
),

released AS (
    SELECT row_id
    FROM tender_releases
    SEMI JOIN supplied USING (source, ocid)
    WHERE NOT withdrawn
)

SELECT
    row_id, award_id, awarded_on, lower(status) AS status,
    -- an amount without a currency says nothing, nor does a currency without an amount; one in a
    -- currency that is no code keeps its unit, so that it can be counted
    CASE WHEN regexp_full_match(currency, {{ currency_code }}) THEN amount END AS value,
    CASE WHEN amount IS NOT NULL THEN currency END AS unit,
    -- withheld suppliers have no name
    list_filter(supplier_names, LAMBDA supplier: supplier IS NOT NULL) AS names
FROM stated_awards
SEMI JOIN released USING (row_id)
-- if an id repeats, the first award counts
WHERE is_first;
