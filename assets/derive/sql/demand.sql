-- What public buyers ask for: shares of categories, three months compared with last year's, and how
-- processes are spread over buyers.
--
-- Inputs: states, parties, countries, continued, home_currencies, from_first_month, raw
-- Outputs: demand, demand_totals, compared, demand_months, compared_months, count_keys, value_keys,
--   home_keys, momentum_keys, buyer_totals (tables); rows of raw

-- name: demand
-- How many processes of a month each category has, and how much they are worth, at each closing. A
-- month counts in its own rows and, a year later, in those of the momentum: it is needed at that
-- many more closings.
CREATE OR REPLACE TEMP TABLE demand AS
WITH counted AS (
    SELECT
        country_no, month_no, category,
        -- a currency without an amount says nothing about value
        CASE WHEN units IS NOT NULL THEN currency END AS currency,
        known_from_closing, known_until_closing, closing_count, count(*) AS processes,
        sum(units) AS units
    FROM states
    WHERE month_no >= 0
    GROUP BY ALL
),

at_closings AS (
    -- not before its own closing, nor after the last at which it is needed
    SELECT
        country_no, month_no, category, currency, processes, units,
        CAST(unnest(range(
            greatest(known_from_closing, month_no),
            least(known_until_closing, month_no + $evaluations + $momentum_needs, closing_count)
        )) AS INTEGER) AS closing_no
    FROM counted
)

SELECT
    country_no, month_no, category, currency, closing_no, sum(processes) AS processes,
    sum(units) AS units
FROM at_closings
GROUP BY ALL;

-- name: demand_totals
-- The processes of a month, and those with a category.
CREATE OR REPLACE TEMP TABLE demand_totals AS
SELECT
    country_no, month_no, closing_no, sum(processes) AS n_eligible,
    coalesce(sum(processes) FILTER (category IS NOT NULL), 0) AS with_category
FROM demand
WHERE closing_no < month_no + $evaluations
GROUP BY ALL;

-- name: compared
-- A process counts in the rows of its own month and the next two as recent, and in those of 12 to
-- 14 months later as a year earlier. Both are counted as known at the same closing.
CREATE OR REPLACE TEMP TABLE compared AS
WITH by_dimension AS (
    SELECT
        country_no, month_no, closing_no, 'all' AS dimension, 'all' AS dimension_value, processes
    FROM demand
    UNION ALL
    SELECT country_no, month_no, closing_no, 'category', CAST(category AS VARCHAR), processes
    FROM demand
    WHERE category IS NOT NULL
)

SELECT
    country_no, month_no + months_later AS month_no, closing_no, dimension, dimension_value,
    sum(processes) FILTER (months_later < 12) AS recent,
    sum(processes) FILTER (months_later >= 12) AS year_earlier
FROM by_dimension
CROSS JOIN (SELECT unnest([0, 1, 2, 12, 13, 14]) AS months_later)
WHERE
    closing_no >= month_no + months_later
    AND closing_no < month_no + months_later + $evaluations
GROUP BY ALL;

-- name: demand_months
-- The months in which a category without processes has a row. That is also a month with other
-- processes: the share is 0 then, whatever is published later.
CREATE OR REPLACE TEMP TABLE demand_months AS
SELECT country_no, month_no, min(first_closing) AS first_closing
FROM (
    SELECT country_no, month_no, first_closing FROM continued
    UNION ALL
    SELECT country_no, month_no, closing_no FROM demand_totals
)
GROUP BY ALL;

-- name: compared_months
-- The same for the momentum.
CREATE OR REPLACE TEMP TABLE compared_months AS
SELECT country_no, month_no, min(first_closing) AS first_closing
FROM (
    SELECT country_no, month_no, first_closing FROM continued
    UNION ALL
    SELECT country_no, month_no, closing_no FROM compared
)
GROUP BY ALL;

-- name: count_keys
-- The categories of a month, and the first closing at which each is known.
CREATE OR REPLACE TEMP TABLE count_keys AS
SELECT
    country_no, month_no, { 'category': category } AS key, min(closing_no) AS first_closing
FROM demand
WHERE category IS NOT NULL AND closing_no < month_no + $evaluations
GROUP BY ALL;

-- name: value_keys
-- The same in each currency. A process without a value is eligible in the row of the home currency.
CREATE OR REPLACE TEMP TABLE value_keys AS
WITH in_currency AS (
    SELECT
        country_no, month_no, category, closing_no, home.currency AS home_currency,
        coalesce(demand.currency, home.currency) AS currency
    FROM demand
    JOIN home_currencies AS home USING (country_no)
    WHERE category IS NOT NULL AND closing_no < month_no + $evaluations
)

SELECT
    country_no, month_no, { 'category': category, 'currency': currency } AS key,
    coalesce(currency = home_currency, FALSE) AS is_home, min(closing_no) AS first_closing
FROM in_currency
GROUP BY ALL;

-- name: home_keys
-- Months without an amount have a row in the home currency only.
CREATE OR REPLACE TEMP TABLE home_keys AS
SELECT country_no, month_no, key, first_closing
FROM value_keys
WHERE is_home;

-- name: momentum_keys
-- The dimensions that are compared in a month.
CREATE OR REPLACE TEMP TABLE momentum_keys AS
SELECT
    country_no, month_no,
    { 'dimension': dimension, 'dimension_value': dimension_value } AS key,
    min(closing_no) AS first_closing
FROM compared
GROUP BY ALL;

-- name: add_share_of_count
-- The share of each category in the processes of a month. A row per category and closing, from the
-- first closing at which it is known: a category that no longer occurs then has a row of zero, and
-- does not keep its last value.
INSERT INTO raw BY NAME
WITH every_closing AS (
    SELECT
        country_no, month_no, key.category,
        CAST(unnest(range(first_closing, least(month_no + $evaluations, closing_count))) AS INTEGER)
            AS closing_no
    FROM from_first_month('count_keys', 'demand_months', $evaluations, $never) AS every_month
    JOIN (SELECT country_no, closing_count FROM countries) AS counted USING (country_no)
),

by_category AS (
    SELECT country_no, month_no, category, closing_no, sum(processes) AS processes
    FROM demand
    GROUP BY ALL
)

SELECT
    'procurement-demand' AS panel, 'category_share_count' AS measure, country_no, month_no,
    closing_no, 'category' AS dimension, CAST(category AS VARCHAR) AS dimension_value,
    coalesce(processes, 0) AS term1, coalesce(with_category, 0) AS denominator,
    coalesce(n_eligible, 0) AS n_eligible, coalesce(with_category, 0) AS n_observed
FROM every_closing
-- left joins: a category that fell to zero keeps its row, with zeros
LEFT JOIN demand_totals USING (country_no, month_no, closing_no)
LEFT JOIN by_category USING (country_no, month_no, category, closing_no);

-- name: add_share_of_value
-- The share of each category in the value of the processes of a month, by currency.
INSERT INTO raw BY NAME
WITH every_month AS (
    SELECT country_no, month_no, key, first_closing
    FROM from_first_month('home_keys', 'demand_months', $evaluations, $never) AS home
    UNION ALL
    SELECT country_no, month_no, key, first_closing
    FROM value_keys
    WHERE NOT is_home
),

every_closing AS (
    SELECT
        country_no, month_no, key.category, key.currency,
        CAST(unnest(range(first_closing, least(month_no + $evaluations, closing_count))) AS INTEGER)
            AS closing_no
    FROM every_month
    JOIN (SELECT country_no, closing_count FROM countries) AS counted USING (country_no)
),

valued AS (
    SELECT
        country_no, month_no, currency, closing_no, sum(units) AS total,
        sum(processes) AS n_observed
    FROM demand
    WHERE category IS NOT NULL AND currency IS NOT NULL
    GROUP BY ALL
)

SELECT
    'procurement-demand' AS panel, 'category_share_value' AS measure, country_no, month_no,
    closing_no, 'category' AS dimension, CAST(category AS VARCHAR) AS dimension_value, currency,
    coalesce(units, 0) AS term1, coalesce(total, 0) AS denominator,
    coalesce(n_eligible, 0) AS n_eligible, coalesce(n_observed, 0) AS n_observed
FROM every_closing
LEFT JOIN demand_totals USING (country_no, month_no, closing_no)
LEFT JOIN valued USING (country_no, month_no, currency, closing_no)
LEFT JOIN demand USING (country_no, month_no, category, currency, closing_no);

-- name: add_momentum
-- The change of three months against the same three of the year before.
INSERT INTO raw BY NAME
WITH every_closing AS (
    SELECT
        country_no, month_no, key.dimension, key.dimension_value,
        CAST(unnest(range(first_closing, least(month_no + $evaluations, closing_count))) AS INTEGER)
            AS closing_no
    FROM from_first_month('momentum_keys', 'compared_months', $evaluations, $never) AS every_month
    JOIN (SELECT country_no, closing_count FROM countries) AS counted USING (country_no)
),

eligible AS (
    SELECT
        country_no, month_no, closing_no,
        coalesce(recent, 0) + coalesce(year_earlier, 0) AS n_eligible
    FROM compared
    WHERE dimension = 'all'
),

with_category AS (
    SELECT
        country_no, month_no, closing_no,
        sum(coalesce(recent, 0) + coalesce(year_earlier, 0)) AS n_with_category
    FROM compared
    WHERE dimension = 'category'
    GROUP BY ALL
)

SELECT
    'procurement-demand' AS panel, 'momentum_3m_yoy' AS measure, country_no, month_no, closing_no,
    dimension, dimension_value,
    coalesce(recent, 0) - coalesce(year_earlier, 0) AS term1,
    -- no value until all six months are among those known of the country
    CASE WHEN month_no >= $momentum_needs THEN coalesce(year_earlier, 0) ELSE 0 END AS denominator,
    coalesce(n_eligible, 0) AS n_eligible,
    coalesce(CASE WHEN dimension = 'all' THEN n_eligible ELSE n_with_category END, 0) AS n_observed
FROM every_closing
LEFT JOIN compared USING (country_no, month_no, closing_no, dimension, dimension_value)
LEFT JOIN eligible USING (country_no, month_no, closing_no)
LEFT JOIN with_category USING (country_no, month_no, closing_no);

-- name: buyer_totals
-- How many processes of a month each buyer has, and all together (buyer 0), by category (0 for all)
-- and closing.
CREATE OR REPLACE TEMP TABLE buyer_totals AS
WITH purchases AS (
    SELECT
        country_no, month_no, known_from_closing, known_until_closing, closing_count,
        unnest(CASE WHEN category IS NULL THEN [0] ELSE [0, category] END) AS category,
        coalesce(buyer, -1) AS buyer
    FROM states
    WHERE month_no >= 0
),

pieces AS (
    SELECT
        country_no, category, buyer, month_no,
        greatest(known_from_closing, month_no) AS from_closing,
        least(known_until_closing, month_no + $evaluations, closing_count) AS until_closing,
        least(month_no + $evaluations, closing_count) AS last_closing, count(*) AS processes
    FROM purchases
    GROUP BY ALL
    HAVING from_closing < until_closing
),

steps AS (
    SELECT country_no, category, buyer, month_no, from_closing AS closing_no, processes FROM pieces
    UNION ALL
    SELECT country_no, category, buyer, month_no, until_closing, -processes
    FROM pieces
    WHERE until_closing < last_closing
),

changes AS (
    SELECT
        country_no, category, buyer, month_no, CAST(closing_no AS INTEGER) AS closing_no,
        sum(processes) AS change
    FROM steps
    GROUP BY ALL
    HAVING change <> 0
)

SELECT
    country_no, category, buyer, month_no, closing_no, change,
    sum(change) OVER so_far AS total
FROM changes
WINDOW so_far AS (PARTITION BY country_no, category, buyer, month_no ORDER BY closing_no);

-- name: add_buyer_hhi
-- How the processes of a month are spread over their buyers; those without one are not observed.
INSERT INTO raw BY NAME
WITH changes AS (
    SELECT
        country_no, category, month_no, closing_no,
        sum(change) AS n_eligible,
        sum(change) FILTER (buyer > 0) AS total,
        -- counts are small: their squares fit
        sum(total * total - (total - change) * (total - change)) FILTER (buyer > 0) AS squares,
        sum(CAST(total > 0 AS INTEGER) - CAST(total - change > 0 AS INTEGER))
        FILTER (coalesce(withheld, FALSE)) AS n_withheld
    FROM buyer_totals
    LEFT JOIN parties ON party_no = buyer
    GROUP BY ALL
),

running AS (
    SELECT
        country_no, category, month_no, closing_no,
        sum(n_eligible) OVER so_far AS n_eligible,
        coalesce(sum(total) OVER so_far, 0) AS total,
        coalesce(sum(squares) OVER so_far, 0) AS squares,
        coalesce(sum(n_withheld) OVER so_far, 0) AS n_withheld
    FROM changes
    WINDOW so_far AS (PARTITION BY country_no, category, month_no ORDER BY closing_no)
)

SELECT
    'procurement-demand' AS panel, 'buyer_hhi' AS measure, country_no, month_no,
    CASE category WHEN 0 THEN 'all' ELSE 'category' END AS dimension,
    CASE category WHEN 0 THEN 'all' ELSE CAST(category AS VARCHAR) END AS dimension_value,
    closing_no, 'hhi' AS kind, 0 AS term1, 0 AS term2, squares AS term3, total AS denominator,
    n_eligible, total AS n_observed, n_withheld, FALSE AS is_only
FROM running;
