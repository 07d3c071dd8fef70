-- Rules: each query returns what fails, and must find nothing.
--
-- rows is the relation that is audited, row_reference the text that identifies one of its rows. To
-- run one by hand, put the name of a table and of a column there.
--
-- Inputs: the audited rows; for metrics also the reasons for those that are absent
-- Outputs: row_reference, a row for each failure; of failures, a row for each rule that fails

-- name: failures
SELECT
    rule,
    count(*) AS row_count,
    min(row_reference, {{ most_examples }}) AS examples
FROM ({{ failing }})
WHERE rule IS NOT NULL
GROUP BY rule;

-- name: failing_rules_of_rows
SELECT
    unnest([{{ rules }}]) AS rule,
    {{ row_reference }} AS row_reference
FROM {{ rows }}
WHERE ({{ conditions }}) IS FALSE;

-- name: failing_rule
SELECT
    {{ rule }} AS rule,
    row_reference
FROM ({{ failing }});

-- name: vintages_with_gaps
-- Figures whose vintages are not numbered from 1 without gaps.
SELECT min({{ row_reference }}) AS row_reference
FROM {{ rows }}
GROUP BY {{ key }}
HAVING min(vintage) <> 1 OR max(vintage) <> count(*);

-- name: overlapping_answers
-- For an issuer and a metric, each as_of day has one answer: a value, or why there is none. So no
-- interval may begin before the one before it has ended.
WITH answers AS (
    SELECT
        service_id,
        metric,
        period_end,
        answers_from AS begins,
        coalesce(answers_until, DATE '9999-12-31') AS ends
    FROM {{ rows }}
    UNION ALL
    SELECT
        service_id,
        metric,
        period_end,
        holds_from,
        coalesce(holds_until, DATE '9999-12-31')
    FROM {{ absent }}
),

followed AS (
    SELECT
        service_id,
        metric,
        period_end,
        ends,
        lead(begins) OVER (PARTITION BY service_id, metric ORDER BY begins, ends) AS next_begins
    FROM answers
    -- empty intervals answer for no day, so they overlap with nothing
    WHERE begins < ends
)

SELECT concat(service_id, ' ', metric, ' ', period_end) AS row_reference
FROM followed
WHERE ends > next_begins;

-- name: rows_found
-- Rows that a check in Python found: it lists their ids in a table.
SELECT {{ row_reference }} AS row_reference
FROM {{ rows }}
WHERE row_id IN (SELECT found.row_id FROM {{ found }} AS found);
