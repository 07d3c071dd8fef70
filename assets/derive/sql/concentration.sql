-- How awards are spread over suppliers, per country and per buyer, and which buyers may be named.
--
-- Exact at any size: squares are three products (see rolling_windows.sql). A row exists for each
-- closing that changes it.
--
-- Inputs: raw, own_sums, segments, late_totals, late_changes, home_currencies
-- Outputs: concentrated (sums, counts and the largest suppliers per scope, currency, month and
--   closing); rows of raw (measures of award-concentration and buyer-supplier-concentration)

-- name: own_months
-- The sums of every month with an award, as known at its own closing.
CREATE OR REPLACE TEMP TABLE own_months AS
SELECT
    country_no, scope, currency,
    CAST(unnest(range(from_month, until_month)) AS INTEGER) AS month_no,
    total, square_high, square_middle, square_low, n_observed, n_eligible, n_withheld
FROM own_sums
WHERE n_eligible > 0 OR n_observed > 0;

-- name: own_rows
-- A row per currency with an observed award, and always one in the home currency, which says that
-- nothing was observed. Processes and withheld suppliers count in the row of every currency.
CREATE OR REPLACE TEMP TABLE own_rows AS
WITH all_currencies AS (
    SELECT
        country_no, scope, coalesce(home.currency, 0) AS currency, month_no, n_eligible, n_withheld
    FROM own_months
    JOIN home_currencies AS home USING (country_no)
    WHERE own_months.currency = 0
)

SELECT
    country_no, scope, currency, month_no, coalesce(money.total, 0) AS total,
    coalesce(money.square_high, 0) AS square_high,
    coalesce(money.square_middle, 0) AS square_middle,
    coalesce(money.square_low, 0) AS square_low,
    coalesce(money.n_observed, 0) AS n_observed, every.n_eligible, every.n_withheld
FROM all_currencies AS every
LEFT JOIN (FROM own_months WHERE currency > 0) AS money
    USING (country_no, scope, currency, month_no)
UNION ALL
-- other currencies
SELECT
    money.country_no, money.scope, money.currency, money.month_no, money.total, money.square_high,
    money.square_middle, money.square_low, money.n_observed, every.n_eligible, every.n_withheld
FROM own_months AS money
JOIN all_currencies AS every
    ON every.country_no = money.country_no AND every.scope = money.scope
    AND every.month_no = money.month_no AND every.currency <> money.currency
WHERE money.currency > 0;

-- name: late_rows
-- The same at later closings that change something.
CREATE OR REPLACE TEMP TABLE late_rows AS
WITH months AS (
    SELECT DISTINCT country_no, scope, month_no FROM late_changes
),

own AS (
    SELECT own_rows.*
    FROM own_rows
    SEMI JOIN months USING (country_no, scope, month_no)
),

currencies AS (
    SELECT country_no, scope, month_no, currency, bool_or(is_home) AS is_home
    FROM (
        SELECT country_no, scope, month_no, currency, FALSE AS is_home FROM own
        UNION ALL
        SELECT country_no, scope, month_no, currency, FALSE FROM late_changes WHERE currency > 0
        UNION ALL
        SELECT country_no, scope, month_no, coalesce(home.currency, 0), TRUE
        FROM months
        JOIN home_currencies AS home USING (country_no)
    ) AS found
    GROUP BY country_no, scope, month_no, currency
),

steps AS (
    -- every step is a change at a closing; the first is what was known at the month's own
    SELECT
        country_no, scope, currency, month_no, month_no AS closing_no, total, square_high,
        square_middle, square_low, n_observed, 0 AS n_eligible, 0 AS n_withheld
    FROM own
    UNION ALL
    -- which counts for a currency that is observed only later, too
    SELECT
        country_no, scope, currencies.currency, month_no, month_no AS closing_no, 0, 0, 0, 0, 0,
        counted.n_eligible, counted.n_withheld
    FROM (SELECT DISTINCT country_no, scope, month_no, n_eligible, n_withheld FROM own) AS counted
    JOIN currencies USING (country_no, scope, month_no)
    UNION ALL
    SELECT
        country_no, scope, currency, month_no, closing_no, total, square_high,
        square_middle, square_low, n_observed, 0, 0
    FROM late_changes
    WHERE currency > 0
    UNION ALL
    SELECT
        late.country_no, late.scope, currencies.currency, late.month_no, late.closing_no, 0, 0,
        0, 0, 0, late.n_eligible, late.n_withheld
    FROM late_changes AS late
    JOIN currencies USING (country_no, scope, month_no)
    WHERE late.currency = 0
),

per_closing AS (
    SELECT
        country_no, scope, currency, month_no, closing_no, sum(total) AS total,
        sum(square_high) AS square_high, sum(square_middle) AS square_middle,
        sum(square_low) AS square_low, sum(n_observed) AS n_observed,
        sum(n_eligible) AS n_eligible, sum(n_withheld) AS n_withheld
    FROM steps
    GROUP BY country_no, scope, currency, month_no, closing_no
),

running AS (
    SELECT
        country_no, scope, currency, month_no, closing_no,
        -- a currency has rows from the first closing at which an award was observed in it
        bool_or(n_observed > 0) OVER so_far AS was_observed,
        sum(total) OVER so_far AS total,
        sum(square_high) OVER so_far AS square_high,
        sum(square_middle) OVER so_far AS square_middle,
        sum(square_low) OVER so_far AS square_low,
        sum(n_observed) OVER so_far AS n_observed,
        sum(n_eligible) OVER so_far AS n_eligible,
        sum(n_withheld) OVER so_far AS n_withheld
    FROM per_closing
    WINDOW so_far AS (PARTITION BY country_no, scope, currency, month_no ORDER BY closing_no)
)

SELECT
    country_no, scope, currency, month_no, closing_no, CAST(total AS HUGEINT) AS total,
    CAST(square_high AS HUGEINT) AS square_high, CAST(square_middle AS HUGEINT) AS square_middle,
    CAST(square_low AS HUGEINT) AS square_low, CAST(n_observed AS BIGINT) AS n_observed,
    CAST(n_eligible AS BIGINT) AS n_eligible, CAST(n_withheld AS BIGINT) AS n_withheld
FROM running
JOIN currencies USING (country_no, scope, month_no, currency)
WHERE closing_no > month_no AND (is_home OR was_observed);

-- name: own_tops
-- The largest and the three largest suppliers of every month, as known at its own closing.
CREATE OR REPLACE TEMP TABLE own_tops AS
WITH totals AS (
    SELECT
        country_no, scope, currency, total,
        CAST(unnest(range(from_month, until_month)) AS INTEGER) AS month_no
    FROM segments
    WHERE kind = 1
),

largest AS (
    SELECT country_no, scope, currency, month_no, max(total, 3) AS totals
    FROM totals
    GROUP BY country_no, scope, currency, month_no
)

SELECT
    country_no, scope, currency, month_no, totals[1] AS top1,
    totals[1] + coalesce(totals[2], 0) + coalesce(totals[3], 0) AS top3
FROM largest;

-- name: late_tops
-- The same at later closings, where the total of any supplier changed.
CREATE OR REPLACE TEMP TABLE late_tops AS
WITH moved AS (
    SELECT DISTINCT country_no, scope, currency, month_no FROM late_totals WHERE kind = 1
),

changed AS (
    SELECT
        country_no, scope, currency, month_no, entity, min(total) AS minimum,
        min(closing_no) AS first_closing
    FROM late_totals
    WHERE kind = 1
    GROUP BY country_no, scope, currency, month_no, entity
),

own AS (
    SELECT
        own.country_no, own.scope, own.currency, own.month_no, own.total,
        least(own.total, changed.minimum) AS minimum,
        coalesce(changed.first_closing, $never) AS until_closing
    FROM (
        SELECT
            country_no, scope, currency, entity, total,
            CAST(unnest(range(from_month, until_month)) AS INTEGER) AS month_no
        FROM segments
        WHERE kind = 1
    ) AS own
    SEMI JOIN moved USING (country_no, scope, currency, month_no)
    LEFT JOIN changed USING (country_no, scope, currency, month_no, entity)
),

bounds AS (
    -- prune first: a supplier can only enter the top 3 at some closing if its total reaches the
    -- third-largest of the minima over all closings, since three suppliers never fall below that
    SELECT country_no, scope, currency, month_no, coalesce(max(minimum, 3)[3], 0) AS bound
    FROM own
    GROUP BY country_no, scope, currency, month_no
),

candidates AS (
    SELECT
        country_no, scope, currency, month_no, month_no AS closing_no, until_closing, own.total
    FROM own
    JOIN bounds USING (country_no, scope, currency, month_no)
    WHERE own.total >= bounds.bound
    UNION ALL
    SELECT country_no, scope, currency, month_no, closing_no, until_closing, late.total
    FROM late_totals AS late
    LEFT JOIN bounds USING (country_no, scope, currency, month_no)
    WHERE late.kind = 1 AND late.total > 0 AND late.total >= coalesce(bounds.bound, 0)
),

largest AS (
    SELECT
        rows.country_no, rows.scope, rows.currency, rows.month_no, rows.closing_no,
        max(candidates.total, 3) AS totals
    FROM late_rows AS rows
    SEMI JOIN moved USING (country_no, scope, currency, month_no)
    LEFT JOIN candidates
        ON candidates.country_no = rows.country_no AND candidates.scope = rows.scope
        AND candidates.currency = rows.currency AND candidates.month_no = rows.month_no
        AND candidates.closing_no <= rows.closing_no AND rows.closing_no < candidates.until_closing
    GROUP BY rows.country_no, rows.scope, rows.currency, rows.month_no, rows.closing_no
)

SELECT
    country_no, scope, currency, month_no, closing_no, coalesce(totals[1], 0) AS top1,
    coalesce(totals[1], 0) + coalesce(totals[2], 0) + coalesce(totals[3], 0) AS top3
FROM largest;

-- name: concentrated
-- All rows, with no value until the window of a country is full. is_only: no other closing of the
-- month has a row.
CREATE OR REPLACE TEMP TABLE concentrated AS
WITH months AS (
    SELECT DISTINCT country_no, scope, currency, month_no FROM late_rows
),

every_row AS (
    SELECT
        own_rows.*, own_rows.month_no AS closing_no, own_tops.top1, own_tops.top3,
        months.month_no IS NULL AS is_only
    FROM own_rows
    LEFT JOIN own_tops USING (country_no, scope, currency, month_no)
    LEFT JOIN months USING (country_no, scope, currency, month_no)
    UNION ALL BY NAME
    SELECT
        late_rows.*, coalesce(late_tops.top1, own_tops.top1) AS top1,
        coalesce(late_tops.top3, own_tops.top3) AS top3, FALSE AS is_only
    FROM late_rows
    LEFT JOIN late_tops USING (country_no, scope, currency, month_no, closing_no)
    LEFT JOIN own_tops USING (country_no, scope, currency, month_no)
)

SELECT
    CASE WHEN scope = 0 THEN 'award-concentration' ELSE 'buyer-supplier-concentration' END AS panel,
    country_no, month_no,
    CASE WHEN scope = 0 THEN 'all' ELSE 'buyer' END AS dimension,
    CASE WHEN scope = 0 THEN 'all' END AS dimension_value,
    nullif(scope, 0) AS party_no, nullif(currency, 0) AS currency, closing_no,
    square_high, square_middle, square_low, coalesce(top1, 0) AS top1, coalesce(top3, 0) AS top3,
    CASE WHEN month_no >= $trailing - 1 THEN total ELSE 0 END AS denominator,
    n_eligible, n_observed, n_withheld,
    -- the country also has rows for empty months, which are added later
    is_only AND scope > 0 AS is_only
FROM every_row;

-- name: add_measures
INSERT INTO raw BY NAME
SELECT
    panel, 'supplier_hhi' AS measure, country_no, month_no, dimension, dimension_value, party_no,
    currency, closing_no, 'hhi' AS kind, square_high AS term1, square_middle AS term2,
    square_low AS term3, denominator, n_eligible, n_observed, n_withheld, is_only
FROM concentrated
UNION ALL BY NAME
SELECT
    panel, 'top1_share' AS measure, country_no, month_no, dimension, dimension_value, party_no,
    currency, closing_no, 'ratio' AS kind, top1 AS term1, 0 AS term2, 0 AS term3, denominator,
    n_eligible, n_observed, n_withheld, is_only
FROM concentrated
UNION ALL BY NAME
SELECT
    panel, 'top3_share' AS measure, country_no, month_no, dimension, dimension_value, party_no,
    currency, closing_no, 'ratio' AS kind, top3 AS term1, 0 AS term2, 0 AS term3, denominator,
    n_eligible, n_observed, n_withheld, is_only
FROM concentrated;

-- name: add_named_buyer_share
-- The share of awarded processes whose buyer may be named: the others have no row. An award whose
-- process names no buyer is eligible, but not observed.
INSERT INTO raw BY NAME
WITH steps AS (
    SELECT
        country_no, CAST(unnest(range(from_month, until_month)) AS INTEGER) AS month_no,
        month_no AS closing_no, n_eligible, bought, named, withheld_buyers
    FROM own_sums
    WHERE scope = 0 AND currency = 0 AND n_eligible > 0
    UNION ALL
    SELECT country_no, month_no, closing_no, n_eligible, bought, named, withheld_buyers
    FROM late_changes
    WHERE scope = 0 AND currency = 0
),

running AS (
    SELECT
        country_no, month_no, closing_no,
        sum(n_eligible) OVER so_far AS n_eligible,
        sum(bought) OVER so_far AS n_observed,
        sum(named) OVER so_far AS term1,
        sum(withheld_buyers) OVER so_far AS n_withheld
    FROM steps
    WINDOW so_far AS (PARTITION BY country_no, month_no ORDER BY closing_no)
)

SELECT
    'buyer-supplier-concentration' AS panel, 'named_buyer_share' AS measure, country_no, month_no,
    'all' AS dimension, 'all' AS dimension_value, closing_no, 'ratio' AS kind, term1, 0 AS term2,
    0 AS term3, CASE WHEN month_no >= $trailing - 1 THEN n_observed ELSE 0 END AS denominator,
    n_eligible, n_observed, n_withheld, FALSE AS is_only
FROM running;
