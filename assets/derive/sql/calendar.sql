-- When the months of each country close, and the provenance of what was known at each closing.
--
-- Months are numbered per country, from 0 for the month of its first release (month_no). A closing
-- has the number of the month that it closes (closing_no). No clock is used: a month is closed once
-- something was read on its closing day or later.
--
-- Inputs: tender_releases
-- Outputs: at_closing, until_closing, month_number (macros); countries, closings, closing_sources,
--   continued (tables)

-- name: at_closing
-- The first closing that is not before a day. Month m closes closing_days after its last day, so a
-- day belongs to the closing of the month that it is in after going back closing_days. Nothing is
-- known before the first closing.
CREATE OR REPLACE TEMP MACRO at_closing(day, first_month, closing_days) AS
greatest(0, datediff('month', first_month, day - closing_days));

-- name: until_closing
-- The first closing at which something superseded on a day no longer holds; never if the day is
-- null: closings are numbered far below a million.
CREATE OR REPLACE TEMP MACRO until_closing(day, first_month, closing_days) AS
CASE WHEN day IS NULL THEN 1000000 ELSE at_closing(day, first_month, closing_days) END;

-- name: month_number
-- The number of the month that a day is in; negative before the first.
CREATE OR REPLACE TEMP MACRO month_number(day, first_month) AS
datediff('month', first_month, day);

-- name: countries
-- A country with the month of its first release and how many of its months have closed.
CREATE TEMP TABLE countries AS
SELECT
    CAST(row_number() OVER (ORDER BY country) AS INTEGER) AS country_no,
    country,
    first_month,
    closing_days,
    -- months from the first one that had closed on the last day something was read
    CAST(greatest(0, datediff('month', first_month, last_read_on - closing_days + 1)) AS INTEGER)
        AS closing_count
FROM (
    SELECT
        country,
        CAST(date_trunc('month', min(available_at)) AS DATE) AS first_month,
        -- a number of the methodology: if the days were taken from its portals, a slower portal
        -- added later would move closings that are long past
        CAST($closes_after AS INTEGER) AS closing_days,
        max(CAST(observed_at AS DATE)) AS last_read_on
    FROM tender_releases
    WHERE available_at IS NOT NULL
    GROUP BY country
);

-- name: closings
-- One row per closed month of a country, with the day of its closing.
CREATE TEMP TABLE closings AS
SELECT
    country_no,
    country,
    closing_no,
    CAST(first_month + to_months(closing_no) AS DATE) AS month,
    -- the last day of the month, and the days to its closing
    CAST(first_month + to_months(closing_no + 1) AS DATE) - 1 + closing_days AS closed_at
FROM (SELECT *, CAST(unnest(range(closing_count)) AS INTEGER) AS closing_no FROM countries);

-- name: closing_sources
-- The provenance of the releases known at each closing: the most restrictive licence, the lowest
-- confidence, the last read, and 'file' as the method if methods differ.
CREATE TEMP TABLE closing_sources AS
WITH added AS (
    -- what each source added at a closing; a release without a date was known on no day
    SELECT
        country_no,
        source,
        at_closing(available_at, first_month, closing_days) AS closing_no,
        max(list_position($licences, license_class)) AS licence_rank,
        min(method) AS first_method,
        max(method) AS last_method,
        max(observed_at) AS observed_at,
        min(extraction_confidence) AS confidence
    FROM tender_releases
    JOIN countries USING (country)
    WHERE available_at IS NOT NULL AND NOT withdrawn
    GROUP BY ALL
),

so_far AS (
    -- per source, what was known up to each closing at which it added something ...
    SELECT
        country_no,
        source,
        closing_no,
        max(licence_rank) OVER up_to AS licence_rank,
        min(first_method) OVER up_to AS first_method,
        max(last_method) OVER up_to AS last_method,
        max(observed_at) OVER up_to AS observed_at,
        min(confidence) OVER up_to AS confidence,
        lead(closing_no, 1, $never) OVER up_to AS until_closing
    FROM added
    WINDOW up_to AS (PARTITION BY country_no, source ORDER BY closing_no)
)

SELECT
    closings.country_no,
    closings.closing_no,
    max(licence_rank) AS licence_rank,
    max(observed_at) AS observed_at,
    CASE WHEN min(first_method) = max(last_method) THEN min(first_method) ELSE 'file' END AS method,
    min(confidence) AS extraction_confidence,
    string_agg(source, ', ' ORDER BY source) AS sources
FROM closings
-- ... which holds until the next such closing
JOIN so_far
    ON closings.country_no = so_far.country_no
    AND so_far.closing_no <= closings.closing_no
    AND closings.closing_no < so_far.until_closing
GROUP BY closings.country_no, closings.closing_no;

-- name: continued
-- Per month, the first closing that knows a release dated after it. A month has no row if no such
-- release is known: its country may publish no longer.
CREATE TEMP TABLE continued AS
WITH dated AS (
    SELECT
        country_no,
        -- a release without a date of its own may be old, and a date after the day it was read is
        -- wrong
        month_number(least(released_on, available_at), first_month) AS dated_month_no,
        min(at_closing(available_at, first_month, closing_days)) AS closing_no
    FROM tender_releases
    JOIN countries USING (country)
    WHERE available_at IS NOT NULL AND released_on IS NOT NULL AND NOT withdrawn
    GROUP BY ALL
)

SELECT
    country_no,
    closings.closing_no AS month_no,
    CAST(min(dated.closing_no) AS INTEGER) AS first_closing
FROM closings
JOIN dated USING (country_no)
WHERE dated_month_no > closings.closing_no
GROUP BY ALL;
