-- Panels that count the processes of a month: rates, spreads of small whole numbers, ratios.
--
-- Processes with the same value over the same closings are counted together first; the work per
-- closing then grows with the months and not with the processes. A month is that of the tender, or
-- of the first award (dated_by). A value is null for a process that does not state what it needs:
-- it is eligible then, but not observed.
--
-- Inputs: states, awarded, raw
-- Outputs: change_closings, histogram, spread, ranked_ratios, quantiles (tables); rows of raw

-- name: change_closings
-- The closings at which anything of a month begins or ends, and the next one of each.
CREATE OR REPLACE TEMP TABLE change_closings AS
WITH months AS (
    SELECT
        'tender' AS dated_by, country_no, month_no, known_from_closing, known_until_closing,
        closing_count
    FROM states
    WHERE month_no >= 0
    UNION ALL
    SELECT
        'award', country_no, month_no, known_from_closing, known_until_closing, closing_count
    FROM awarded
    WHERE month_no >= 0
),

changes AS (
    SELECT DISTINCT
        dated_by, country_no, month_no,
        unnest([greatest(known_from_closing, month_no), known_until_closing]) AS closing_no,
        -- not after its last evaluation: a month is final then
        least(month_no + $evaluations, closing_count) AS ends
    FROM months
)

SELECT
    dated_by, country_no, month_no, closing_no,
    lead(closing_no) OVER by_closing AS next_change
FROM changes
WHERE closing_no >= month_no AND closing_no < ends
WINDOW by_closing AS (PARTITION BY dated_by, country_no, month_no ORDER BY closing_no);

-- name: histogram
-- How many processes of a month have each value, by question and by category (0 for all), at each
-- closing at which the month changes.
CREATE OR REPLACE TEMP TABLE histogram AS
WITH tendered AS (
    SELECT
        country_no, month_no, category, known_from_closing, known_until_closing,
        -- a process that states no tenderers is not a process with none: null stays null
        tenderers,
        datediff('day', tender_start, tender_end) AS window_days,
        -- the position among final statuses: 0 is not final, 1 is complete
        CASE WHEN status > 0 THEN CAST(status > 1 AS INTEGER) END AS is_cancelled,
        CASE WHEN valued_twice THEN CAST(revalued AS INTEGER) END AS is_revalued,
        method
    FROM states
    WHERE month_no >= 0
),

first_awards AS (
    SELECT
        country_no, month_no, category, known_from_closing, known_until_closing,
        datediff('day', tender_end, first_awarded_on) AS days_to_award
    FROM awarded
    WHERE month_no >= 0
),

answers AS (
    SELECT
        'tender' AS dated_by, country_no, month_no, category, known_from_closing,
        known_until_closing,
        unnest([
            'tenderers',
            'window',
            'cancelled',
            'revalued',
            'method'
        ]) AS question,
        unnest([
            CAST(tenderers AS BIGINT),
            -- a window that ends before it starts is a typing error, and not a short window
            CASE WHEN window_days >= 0 THEN window_days END,
            is_cancelled,
            is_revalued,
            method
        ]) AS value
    FROM tendered
    UNION ALL
    SELECT
        'award', country_no, month_no, category, known_from_closing, known_until_closing,
        unnest(['to_award', 'to_later_award']) AS question,
        unnest([
            days_to_award,
            -- awards before the end of submission are counted apart, in share_before_closing
            CASE WHEN days_to_award >= 0 THEN days_to_award END
        ]) AS value
    FROM first_awards
),

counted AS (
    SELECT
        dated_by, question, country_no, month_no, category, value, known_from_closing,
        known_until_closing, count(*) AS processes
    FROM answers
    GROUP BY ALL
),

at_closings AS (
    SELECT
        question, country_no, month_no, category, value, closing_no, sum(processes) AS processes
    FROM counted
    JOIN change_closings USING (dated_by, country_no, month_no)
    WHERE closing_no >= known_from_closing AND closing_no < known_until_closing
    GROUP BY ALL
),

in_dimensions AS (
    -- those of the whole country, and again those of each category
    SELECT
        question, country_no, month_no, value, closing_no, processes,
        unnest(CASE WHEN category IS NULL THEN [0] ELSE [0, category] END) AS in_category
    FROM at_closings
)

SELECT
    question, country_no, month_no, in_category, value, closing_no, sum(processes) AS processes
FROM in_dimensions
GROUP BY ALL;

-- name: add_rates
-- The share of processes that meet a condition.
INSERT INTO raw BY NAME
WITH judged AS (
    SELECT
        question, country_no, month_no, in_category, closing_no, value, processes,
        CASE question
            WHEN 'tenderers' THEN value = 1
            WHEN 'window' THEN value < $short_window
            WHEN 'to_award' THEN value < 0
            ELSE value = 1
        END AS is_met
    FROM histogram
)

SELECT
    panel, measure, country_no, month_no,
    CASE in_category WHEN 0 THEN 'all' ELSE 'category' END AS dimension,
    CASE in_category WHEN 0 THEN 'all' ELSE CAST(in_category AS VARCHAR) END AS dimension_value,
    closing_no,
    coalesce(sum(processes) FILTER (is_met), 0) AS term1,
    coalesce(sum(processes) FILTER (value IS NOT NULL), 0) AS denominator,
    sum(processes) AS n_eligible,
    coalesce(sum(processes) FILTER (value IS NOT NULL), 0) AS n_observed
FROM judged
JOIN (
    VALUES
    ('tenderers', 'single-bid-rate', 'single_bid_rate'),
    ('window', 'submission-window', 'share_under_15_days'),
    ('cancelled', 'cancellation-rate', 'cancellation_rate'),
    ('revalued', 'value-revision', 'value_revision_rate'),
    ('to_award', 'time-to-award', 'share_before_closing')
) AS rates (question, panel, measure) USING (question)
GROUP BY ALL;

-- name: spread
-- The mean and the quantiles of a whole number that processes state, each as a numerator; mean has
-- the number of processes as its denominator, the median 2, the others 1. running counts the
-- processes up to a value: the smallest value that reaches a share of the total is the quantile.
-- The median is the mean of the lower and the upper one.
CREATE OR REPLACE TEMP TABLE spread AS
WITH ranked AS (
    -- processes without a value are a partition of their own: they are in no quantile
    SELECT
        question, country_no, month_no, in_category, closing_no, value, processes,
        sum(processes) OVER up_to AS running,
        sum(processes) OVER of_closing AS total
    FROM histogram
    WHERE question IN ('tenderers', 'window', 'to_later_award')
    WINDOW
        up_to AS (
            PARTITION BY question, country_no, month_no, in_category, closing_no, value IS NULL
            ORDER BY value
        ),
        of_closing AS (
            PARTITION BY question, country_no, month_no, in_category, closing_no, value IS NULL
        )
)

SELECT
    question, country_no, month_no, in_category, closing_no,
    sum(value * processes) AS mean,
    min(value) FILTER (2 * running >= total) + min(value) FILTER (2 * running > total) AS median,
    min(value) FILTER (10 * running >= total) AS p10,
    min(value) FILTER (10 * running >= 9 * total) AS p90,
    sum(processes) AS n_eligible,
    coalesce(sum(processes) FILTER (value IS NOT NULL), 0) AS n_observed
FROM ranked
GROUP BY question, country_no, month_no, in_category, closing_no;

-- name: add_spreads
-- The statistics that each panel has.
INSERT INTO raw BY NAME
SELECT
    panel, measure, country_no, month_no,
    CASE in_category WHEN 0 THEN 'all' ELSE 'category' END AS dimension,
    CASE in_category WHEN 0 THEN 'all' ELSE CAST(in_category AS VARCHAR) END AS dimension_value,
    closing_no, CASE statistic WHEN 'mean' THEN 'ratio' ELSE 'quantile' END AS kind,
    coalesce(
        CASE statistic
            WHEN 'mean' THEN mean
            WHEN 'median' THEN median
            WHEN 'p10' THEN p10
            ELSE p90
        END,
        0
    ) AS term1,
    CASE
        WHEN n_observed = 0 THEN 0
        WHEN statistic = 'mean' THEN n_observed
        WHEN statistic = 'median' THEN 2
        ELSE 1
    END AS denominator,
    n_eligible, n_observed
FROM spread
JOIN (
    VALUES
    ('tenderers', 'mean', 'bidder-participation', 'mean_tenderers'),
    ('tenderers', 'median', 'bidder-participation', 'median_tenderers'),
    ('tenderers', 'p10', 'bidder-participation', 'p10_tenderers'),
    ('tenderers', 'p90', 'bidder-participation', 'p90_tenderers'),
    ('window', 'median', 'submission-window', 'median_days'),
    ('to_later_award', 'median', 'time-to-award', 'median_days'),
    ('to_later_award', 'p90', 'time-to-award', 'p90_days')
) AS statistics (question, statistic, panel, measure) USING (question);

-- name: add_method_shares
-- The share of each procurement method; other words than the four count as stated.
INSERT INTO raw BY NAME
SELECT
    'procurement-method-mix' AS panel, 'method_share' AS measure, country_no, month_no,
    'procurement_method' AS dimension, method AS dimension_value, closing_no,
    coalesce(sum(processes) FILTER (value = method_no), 0) AS term1,
    coalesce(sum(processes) FILTER (value IS NOT NULL), 0) AS denominator,
    sum(processes) AS n_eligible,
    coalesce(sum(processes) FILTER (value IS NOT NULL), 0) AS n_observed
FROM histogram
CROSS JOIN (SELECT unnest($methods) AS method, generate_subscripts($methods, 1) AS method_no)
WHERE question = 'method' AND in_category = 0
GROUP BY ALL;

-- name: ranked_ratios
-- How the total awarded by a process compares with its estimate in the same currency. Ratios are
-- ordered once; quantiles are then taken of whole numbers, their ranks.
CREATE OR REPLACE TEMP TABLE ranked_ratios AS
SELECT
    country_no, month_no, category, known_from_closing, known_until_closing, units, tender_units,
    CASE
        WHEN units > 0 AND tender_units > 0
            THEN row_number() OVER (
                -- DOUBLE only orders the ratios; the value is divided exactly from the pair of the
                -- rank
                ORDER BY CAST(units AS DOUBLE) / CAST(tender_units AS DOUBLE), units
            )
    END AS ratio_rank
FROM awarded
WHERE month_no >= 0;

-- name: quantiles
-- The lower median is the quantile in ascending order, the upper one that in descending order.
CREATE OR REPLACE TEMP TABLE quantiles AS
WITH in_dimensions AS (
    SELECT
        country_no, month_no, known_from_closing, known_until_closing, units, tender_units,
        ratio_rank,
        unnest(CASE WHEN category IS NULL THEN [0] ELSE [0, category] END) AS in_category
    FROM ranked_ratios
)

SELECT
    country_no, month_no, in_category, closing_no,
    quantile_disc(ratio_rank, [0.25, 0.5, 0.75]) AS lower_ranks,
    -quantile_disc(-ratio_rank, 0.5) AS upper_median_rank,
    count(*) FILTER (ratio_rank IS NOT NULL AND units > tender_units) AS above_estimate,
    count(*) AS n_eligible,
    count(ratio_rank) AS n_observed
FROM in_dimensions
JOIN (FROM change_closings WHERE dated_by = 'award') AS changed USING (country_no, month_no)
WHERE closing_no >= known_from_closing AND closing_no < known_until_closing
GROUP BY country_no, month_no, in_category, closing_no;

-- name: add_award_to_estimate
-- The share of processes awarded for more than their estimate, and the quantiles of the ratio: each
-- is the mean of the ratios at a lower and an upper rank.
INSERT INTO raw BY NAME
WITH ranks AS (
    SELECT
        country_no, month_no, in_category, closing_no, n_eligible, n_observed,
        unnest(['ratio_p25', 'ratio_median', 'ratio_p75']) AS measure,
        unnest([lower_ranks[1], lower_ranks[2], lower_ranks[3]]) AS lower_rank,
        unnest([lower_ranks[1], upper_median_rank, lower_ranks[3]]) AS upper_rank
    FROM quantiles
),

ratios AS (
    SELECT ratio_rank, units, tender_units
    FROM ranked_ratios
    WHERE ratio_rank IS NOT NULL
),

measured AS (
    SELECT
        'share_above_1' AS measure, country_no, month_no, in_category, closing_no, 'ratio' AS kind,
        above_estimate AS term1, 0 AS term2, 0 AS term3, n_observed AS denominator, n_eligible,
        n_observed
    FROM quantiles
    UNION ALL
    SELECT
        measure, country_no, month_no, in_category, closing_no, 'pair', low.units AS low_units,
        low.tender_units AS low_estimate, high.units AS high_units,
        high.tender_units AS high_estimate, n_eligible, n_observed
    FROM ranks
    LEFT JOIN ratios AS low ON low.ratio_rank = lower_rank
    LEFT JOIN ratios AS high ON high.ratio_rank = upper_rank
)

SELECT
    'award-to-estimate' AS panel, measure, country_no, month_no,
    CASE in_category WHEN 0 THEN 'all' ELSE 'category' END AS dimension,
    CASE in_category WHEN 0 THEN 'all' ELSE CAST(in_category AS VARCHAR) END AS dimension_value,
    closing_no, kind, coalesce(term1, 0) AS term1, coalesce(term2, 0) AS term2,
    coalesce(term3, 0) AS term3, coalesce(denominator, 0) AS denominator, n_eligible, n_observed
FROM measured;

-- name: add_ends
-- A row of zeros after each run of closings that have a row. Without it, a row whose processes all
-- moved to another month would hold for ever.
INSERT INTO raw BY NAME
WITH followed AS (
    SELECT
        panel, measure, country_no, month_no, dimension, dimension_value, next_change,
        lead(closing_no, 1, -1) OVER by_closing AS next_closing
    FROM raw
    JOIN (
        VALUES
        ('single-bid-rate', 'tender'),
        ('bidder-participation', 'tender'),
        ('submission-window', 'tender'),
        ('cancellation-rate', 'tender'),
        ('value-revision', 'tender'),
        ('procurement-method-mix', 'tender'),
        ('time-to-award', 'award'),
        ('award-to-estimate', 'award')
    ) AS counted (panel, dated_by) USING (panel)
    JOIN change_closings USING (dated_by, country_no, month_no, closing_no)
    WINDOW by_closing AS (
        PARTITION BY panel, measure, country_no, month_no, dimension, dimension_value
        ORDER BY closing_no
    )
)

SELECT
    panel, measure, country_no, month_no, dimension, dimension_value, next_change AS closing_no
FROM followed
-- null after the last closing at which the month is evaluated
WHERE next_closing <> next_change;
