-- A row for every month while a country publishes: one with nothing in scope says so.
--
-- A dimension has rows from the first month in which it is in scope. An empty month has one only if
-- the country published on after it: nothing is known of the months since its last release. No
-- look-ahead: the row begins at the closing of its month, or at the later one by which the
-- dimension, and a release dated after the month, were first known.
--
-- Inputs: countries, continued, home_currencies, raw
-- Outputs: from_first_month (macro); raw_keys (table); rows of raw

-- name: from_first_month
-- Keys in every known month from the first in which they occur, with the first closing at which
-- each is known there. The table keys has country_no, month_no, key (a struct) and first_closing;
-- the table months has country_no, month_no and the first_closing from which a key that does not
-- occur in the month may have a row.
CREATE OR REPLACE TEMP MACRO from_first_month(keys, months, evaluations, never) AS TABLE
    WITH found AS (
        SELECT
            country_no, key, month_no, first_closing,
            lead(month_no) OVER by_month AS next_month,
            min(first_closing) OVER by_month AS known_closing,
            min(first_closing) OVER before AS known_before
        FROM query_table(keys)
        WINDOW
            by_month AS (PARTITION BY country_no, key ORDER BY month_no),
            before AS (
                PARTITION BY country_no, key ORDER BY month_no
                ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
            )
    ),

    later AS (
    -- the months after it, until the next in which the key occurs
        SELECT
            country_no, key, known_closing, closing_count,
            CAST(unnest(range(month_no + 1, coalesce(next_month, closing_count))) AS INTEGER)
                AS month_no
        FROM found
        JOIN (SELECT country_no, closing_count FROM countries) AS counted USING (country_no)
    )

    SELECT
        country_no, key, month_no,
        least(
            found.first_closing,
            greatest(
                month_no, coalesce(known_before, found.first_closing),
                coalesce(known_months.first_closing, never)
            )
        ) AS first_closing
    FROM found
    LEFT JOIN query_table(months) AS known_months USING (country_no, month_no)
    UNION ALL BY NAME
    SELECT
        country_no, key, month_no, greatest(month_no, known_closing, first_closing) AS first_closing
    FROM later
    JOIN query_table(months) AS known_months USING (country_no, month_no)
    -- after its last evaluation a month is final
    WHERE
        greatest(month_no, known_closing, first_closing)
        < least(month_no + evaluations, closing_count);

-- name: raw_keys
-- Which measures of which dimensions have a row in a month, and from which closing on. An amount in
-- a foreign currency is in scope in the months that have one. Buyers and issuers have rows while
-- they are in the window; there are too many that bought once.
CREATE OR REPLACE TEMP TABLE raw_keys AS
SELECT
    country_no, month_no,
    {
        'panel': panel, 'measure': measure, 'dimension': dimension,
        'dimension_value': dimension_value, 'currency': raw.currency
    } AS key,
    min(closing_no) AS first_closing
FROM raw
LEFT JOIN home_currencies AS home USING (country_no)
WHERE
    dimension IN ('all', 'category', 'procurement_method')
    AND (raw.currency IS NULL OR raw.currency = home.currency)
GROUP BY ALL;

-- name: add_empty_months
-- A row of zeros for every known month in which nothing was in scope.
INSERT INTO raw BY NAME
SELECT
    every_month.country_no, every_month.month_no, every_month.key.panel, every_month.key.measure,
    every_month.key.dimension, every_month.key.dimension_value, every_month.key.currency,
    every_month.first_closing AS closing_no
FROM from_first_month('raw_keys', 'continued', $evaluations, $never) AS every_month
LEFT JOIN raw_keys
    ON raw_keys.country_no = every_month.country_no
    AND raw_keys.month_no = every_month.month_no
    AND raw_keys.key = every_month.key
WHERE
    raw_keys.first_closing IS NULL
    OR every_month.first_closing < raw_keys.first_closing;
