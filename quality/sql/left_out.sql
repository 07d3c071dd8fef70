-- Rows that a build leaves out although they are stored.
--
-- Inputs: award_statements, tender_releases; the stored rows of a table (stored)
-- Outputs: awards, stored_by_source (queries)

-- name: awards
-- Amounts of awards are in the JSON of releases, which are served as they are. An amount in a
-- currency that is no code is no fact.
SELECT
    'award_facts' AS table_name, 'currencies are three-letter codes' AS rule, source,
    count(*) AS rows_left_out,
    (SELECT count(every.unit) FROM award_statements AS every) AS rows_stored,
    min(concat(source_ref, ' (row ', row_id, ')')) AS example
FROM award_statements
JOIN tender_releases USING (row_id)
WHERE unit IS NOT NULL AND value IS NULL
GROUP BY source
ORDER BY source;

-- name: stored_by_source
-- How many rows of each source are stored.
SELECT source, count(*) AS row_count
FROM {{ stored }}
GROUP BY source;
