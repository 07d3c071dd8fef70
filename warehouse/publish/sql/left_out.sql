-- Rows of the record that a snapshot leaves out, as if they had never been loaded.
--
-- left_out_rows lists what identifies each of them, replaced_rows those that stay without the name
-- of a withheld party. stored is the relation of the stored rows of a table, table_name the name of
-- the table, same_row the condition that a listed row (gone) is a stored one.
--
-- Inputs: the stored rows of a table (stored)
-- Outputs: left_out_rows, replaced_rows (tables); remaining, failing, withdrawals_of_nothing,
--   summary, figures_left_out (queries)

-- name: left_out_rows
-- As a snapshot begins: nothing is left out.
CREATE OR REPLACE TABLE left_out_rows (
    table_name VARCHAR, rule VARCHAR, source VARCHAR, source_ref VARCHAR, row_id VARCHAR,
    figure BIGINT, sighting BIGINT, figure_check INTEGER, load_seq BIGINT,
    observed_at TIMESTAMPTZ, content BIGINT
);

-- name: replaced_rows
-- Nor is anything replaced.
CREATE OR REPLACE TABLE replaced_rows AS
FROM left_out_rows;

-- name: remaining
-- The stored rows that are not left out.
SELECT stored.*
FROM {{ stored }} AS stored
ANTI JOIN (FROM left_out_rows WHERE table_name = '{{ table_name }}') AS gone ON {{ same_row }};

-- name: failing
-- Rows that meet the condition of a rule, with the first such rule.
SELECT *
FROM (
    SELECT *, CASE {{ cases }} END AS rule
    FROM {{ stored }} AS stored
)
WHERE rule IS NOT NULL;

-- name: withdrawals_of_nothing
-- Withdrawals of figures of which nothing that was shown before them remains: they are left out
-- under the rule that left the figures out. stored are remaining rows here.
SELECT stored.*, gone.rule
FROM {{ stored }} AS stored
JOIN (
    SELECT figure, figure_check, min(rule) AS rule
    FROM left_out_rows
    WHERE table_name = '{{ table_name }}'
    GROUP BY figure, figure_check
) AS gone USING (figure, figure_check)
ANTI JOIN (FROM {{ stored }} WHERE NOT withdrawn) AS shown
    ON shown.figure = stored.figure
    AND shown.figure_check = stored.figure_check
    AND shown.observed_at < stored.observed_at
WHERE stored.withdrawn;

-- name: summary
-- How many rows of each table, rule and source, and the first of them. totals has the number of all
-- rows of each table.
SELECT
    table_name, rule, source, count(*) AS rows_left_out, any_value(rows_stored) AS rows_stored,
    min(concat(source_ref, ' (row ', row_id, ')')) AS example
FROM (
    FROM left_out_rows
    UNION ALL
    FROM replaced_rows
)
JOIN ({{ totals }}) USING (table_name)
GROUP BY table_name, rule, source
ORDER BY table_name, rule, source;

-- name: figures_left_out
-- How many figures of a copied table have no latest row any more, by source.
SELECT source, count(DISTINCT { 'figure': figure, 'figure_check': figure_check }) AS figures
FROM (FROM left_out_rows WHERE table_name = '{{ table_name }}') AS gone
ANTI JOIN (FROM {{ table_name }} WHERE latest) AS shown USING (figure, figure_check)
GROUP BY source;
