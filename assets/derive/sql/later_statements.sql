-- The figures of organisations that several documents state with different values.
--
-- What one document states was judged when it was read, with all of its filings at hand.
--
-- Inputs: the remaining rows of fundamentals (rows), and their statements as as_of.sql selects them
--   (statements)
-- Outputs: judged_rows (a table), judged_statements (a query)

-- name: judged_rows
-- All rows of such organisations: the other figures of a filing tell its scale and its signs.
CREATE OR REPLACE TEMP TABLE judged_rows AS
WITH figures AS (
    SELECT service_id, figure, figure_check, content, document
    FROM {{ rows }}
    WHERE NOT withdrawn
),

organisations AS (
    SELECT any_value(service_id) AS service_id
    FROM figures
    GROUP BY figure, figure_check
    HAVING count(DISTINCT content) > 1 AND count(DISTINCT document) > 1
)

SELECT *
FROM {{ rows }}
SEMI JOIN organisations USING (service_id);

-- name: judged_statements
-- What counts of them. Rows read before elements were recorded cannot be judged.
SELECT *
FROM ({{ statements }})
WHERE element IS NOT NULL AND value_reported IS NOT NULL AND NOT withdrawn
ORDER BY service_id, sighting, figure_check, load_seq, observed_at, content;
