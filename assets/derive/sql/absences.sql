-- Why a value is absent, for every day on which it is.
--
-- Each issuer is counted exactly once per metric on every day from its first figure on: with a
-- value, or in one of these intervals. valued says which outcomes meet the condition of their
-- formula; Python makes it, together with the values.
--
-- Inputs: outcomes, issuers, candidates, needs, valued
-- Outputs: absences (query)

-- name: absences
-- The rows of metrics_absent; $slugs are the names of the metrics by their numbers.
WITH for_the_year AS (
    -- a reason that holds for a year whatever the day; its row is kept even if the interval is
    -- empty
    SELECT
        service_id, metric_no, period_end, coalesce(reason, 'denominator_not_positive') AS reason,
        published_at AS holds_from,
        CASE WHEN next_at IS NOT NULL THEN greatest(published_at, next_at) END AS holds_until,
        TRUE AS keep_if_empty
    FROM outcomes
    LEFT JOIN valued USING (year_end_no, metric_no)
    WHERE reason IS NOT NULL OR NOT condition_met
),

until_complete AS (
    -- from the first figure of the year until a publication stated all inputs
    SELECT
        service_id, metric_no, period_end, 'completed_after_as_of', published_at,
        least(complete_at, next_at), FALSE
    FROM outcomes
    JOIN valued USING (year_end_no, metric_no)
    WHERE condition_met
),

until_revised AS (
    -- from then on until the last revision: an earlier value is not served, nor the later one
    SELECT
        service_id, metric_no, period_end, 'revised_after_as_of',
        greatest(complete_at, published_at), least(current_at, next_at), FALSE
    FROM outcomes
    JOIN valued USING (year_end_no, metric_no)
    WHERE condition_met
),

first_years AS (
    SELECT service_id, min(published_at) AS first_year_at
    FROM candidates
    GROUP BY service_id
),

issuer_metrics AS (
    SELECT service_id, first_figure, first_short_period, metric_no, first_year_at
    FROM issuers
    CROSS JOIN needs
    LEFT JOIN first_years USING (service_id)
),

before_first_year AS (
    -- before any full year is published: the issuer is covered and has no value
    SELECT
        service_id, metric_no, first_figure.period_end, 'input_not_reported',
        first_figure.published_at, least(first_short_period.published_at, first_year_at), FALSE
    FROM issuer_metrics
    UNION ALL
    SELECT
        service_id, metric_no, first_short_period.period_end, 'short_period',
        first_short_period.published_at, first_year_at, FALSE
    FROM issuer_metrics
    WHERE first_short_period IS NOT NULL
),

intervals AS (
    SELECT * FROM for_the_year
    UNION ALL
    SELECT * FROM until_complete
    UNION ALL
    SELECT * FROM until_revised
    UNION ALL
    SELECT * FROM before_first_year
)

SELECT
    service_id, $slugs[metric_no + 1] AS metric, period_end, reason, holds_from, holds_until
FROM intervals
WHERE keep_if_empty OR holds_until IS NULL OR holds_from < holds_until
ORDER BY service_id, metric, period_end, holds_from;
