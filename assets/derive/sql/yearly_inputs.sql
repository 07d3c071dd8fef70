-- From vintages and statements to the inputs of each year of an issuer.
--
-- A figure is summarised from its vintages: when it was first published, its current value and
-- since when that is current, or when it was withdrawn. A book is a basis with a currency: a metric
-- takes all its inputs from one book. Formulas, line items, books, years and inputs are numbered,
-- since numbers are joined faster than texts.
--
-- Inputs: fundamentals, statements
-- Outputs: is_gone (macro); facts, readings, formula_inputs, needs, bits, items, last_withdrawals,
--   books, figures, inputs, issuers, spans, overlapping, line_item_counts, accepted, years,
--   year_inputs (tables)

-- name: is_gone
-- Whether a vintage takes a figure back.
CREATE OR REPLACE TEMP MACRO is_gone(withdrawn, value_reported) AS
withdrawn OR value_reported IS NULL;

-- name: facts
-- All vintages of the issuers.
CREATE OR REPLACE TEMP TABLE facts AS
SELECT
    figure, figure_check, vintage, row_id, service_id, line_item, unit, basis, currency_reported,
    period_start, period_end, value_reported, available_at, withdrawn
FROM fundamentals;

-- name: readings
-- All that their publications state.
CREATE OR REPLACE TEMP TABLE readings AS
SELECT
    service_id, figure, figure_check, publication, available_at, withdrawn, value_reported, element,
    measuring_unit_date, conflicts_with, apparent_restatement, source_ref, provenance_id,
    license_class, method, observed_at, extraction_confidence, document_id, form, document_url
FROM statements
-- a statement without a date is excluded from every as_of
WHERE available_at IS NOT NULL;

-- name: formula_inputs
-- What each metric needs: an item, of which year, at which position among the inputs.
CREATE OR REPLACE TEMP TABLE formula_inputs AS
SELECT
    CAST(needed.metric_no AS INTEGER) AS metric_no,
    CAST(needed.input_position AS INTEGER) AS input_position,
    CAST(needed.item_no AS INTEGER) AS item_no,
    needed.is_prior_year,
    CAST(needed.bit AS INTEGER) AS bit
FROM (SELECT unnest($formula_inputs) AS needed);

-- name: needs
-- The bits that each metric needs: whether all its inputs are there is one comparison of two whole
-- numbers.
CREATE OR REPLACE TEMP TABLE needs AS
SELECT metric_no, bit_or(CAST(1 AS BIGINT) << bit) AS needed
FROM formula_inputs
GROUP BY metric_no;

-- name: bits
-- The bit of each figure that any formula needs, of this year or the one before.
CREATE OR REPLACE TEMP TABLE bits AS
SELECT DISTINCT item_no, is_prior_year, bit
FROM formula_inputs;

-- name: items
-- The line items that any formula needs, and which of them are balances.
CREATE OR REPLACE TEMP TABLE items AS
SELECT
    CAST(item.item_no AS INTEGER) AS item_no,
    item.line_item,
    item.is_balance
FROM (SELECT unnest($items) AS item);

-- name: last_withdrawals
-- A figure can be withdrawn and reported again: only what came after the last withdrawal counts as
-- reported without interruption.
CREATE OR REPLACE TEMP TABLE last_withdrawals AS
SELECT figure, figure_check, max(vintage) AS withdrawn_vintage
FROM facts
WHERE is_gone(withdrawn, value_reported)
GROUP BY figure, figure_check;

-- name: books
-- The bases and currencies in which figures are reported.
CREATE OR REPLACE TEMP TABLE books AS
SELECT
    row_number() OVER (ORDER BY consolidated DESC, currency, basis) AS book_no,
    currency, basis, consolidated
FROM (
    SELECT DISTINCT
        unit AS currency, basis, starts_with(basis, 'consolidated') AS consolidated
    FROM facts
    -- other units are shares, ratios per share, or translations for convenience
    WHERE unit = currency_reported
);

-- name: figures
-- Each figure as it is now: its last vintage, whose value is the one that a metric uses.
CREATE OR REPLACE TEMP TABLE figures AS
WITH histories AS (
    SELECT
        figure, figure_check, max(vintage) AS vintage, count(*) = 1 AS never_restated,
        min(available_at) FILTER (NOT is_gone(withdrawn, value_reported)) AS first_published_at,
        -- since when it has been reported without interruption
        min(available_at) FILTER (
            NOT is_gone(withdrawn, value_reported) AND vintage > coalesce(withdrawn_vintage, 0)
        ) AS reported_since
    FROM facts
    LEFT JOIN last_withdrawals USING (figure, figure_check)
    -- a vintage without a date is excluded from every as_of
    WHERE available_at IS NOT NULL
    GROUP BY figure, figure_check
    HAVING first_published_at IS NOT NULL
)

SELECT
    figure, figure_check, vintage, never_restated, service_id, line_item, item_no, is_balance,
    book_no, period_start, period_end, first_published_at, reported_since,
    available_at AS last_changed_at, value_reported,
    NOT is_gone(withdrawn, value_reported) AS is_reported,
    period_end - period_start + 1 AS days,
    days BETWEEN $shortest_year AND $longest_year AS is_year
FROM histories
JOIN facts USING (figure, figure_check, vintage)
LEFT JOIN items USING (line_item)
LEFT JOIN books
    ON books.currency = currency_reported
    AND books.currency = unit
    AND books.basis = facts.basis;

-- name: inputs
-- Figures that a formula may use. Balances are of a day, all other items of a period.
CREATE OR REPLACE TEMP TABLE inputs AS
SELECT
    row_number() OVER () - 1 AS input_no, figure, figure_check, vintage, never_restated,
    service_id, item_no, book_no, period_start, period_end, first_published_at, last_changed_at,
    value_reported, is_reported, is_year
FROM figures
WHERE book_no IS NOT NULL AND is_balance = (period_start IS NULL);

-- name: issuers
-- What an issuer published first of all, and first of a period that is not a full year.
CREATE OR REPLACE TEMP TABLE issuers AS
SELECT
    service_id,
    min(publication) AS first_figure,
    min(publication) FILTER (NOT is_year) AS first_short_period
FROM (
    SELECT
        service_id, is_year,
        { 'published_at': first_published_at, 'period_end': period_end } AS publication
    FROM figures
)
GROUP BY service_id;

-- name: spans
-- An issuer's periods of full length. One counts as withdrawn once no figure spans it any more:
-- then its year_reported_since is null.
CREATE OR REPLACE TEMP TABLE spans AS
SELECT
    row_number() OVER () AS year_no, service_id, period_start, period_end,
    any_value(days) AS days, min(first_published_at) AS first_stated_at,
    min(reported_since) FILTER (is_reported) AS year_reported_since,
    max(last_changed_at) AS year_last_changed_at
FROM figures
WHERE is_year
GROUP BY service_id, period_start, period_end;

-- name: overlapping
-- A filing may state a single figure over twelve months that are no year of the issuer: a mistyped
-- day, or the months up to a quarter. Such a period overlaps a year that ends before it.
CREATE OR REPLACE TEMP TABLE overlapping AS
SELECT later.year_no, earlier.year_no AS overlapped_no
FROM spans AS later
JOIN spans AS earlier
    ON earlier.service_id = later.service_id
    AND earlier.period_end < later.period_end
    AND earlier.period_end >= later.period_start;

-- name: line_item_counts
-- How many line items each of those periods had, on each day on which it got another one.
CREATE OR REPLACE TEMP TABLE line_item_counts AS
SELECT year_no, day, sum(count(*)) OVER (PARTITION BY year_no ORDER BY day) AS line_items
FROM (
    SELECT year_no, line_item, min(first_published_at) AS day
    FROM spans
    JOIN figures USING (service_id, period_start, period_end)
    WHERE year_no IN (SELECT unnest([year_no, overlapped_no]) FROM overlapping)
    GROUP BY year_no, line_item
)
GROUP BY year_no, day;

-- name: accepted
-- A period that overlaps an earlier year is a year from the first day on which it has half as many
-- line items as that year; until then it says nothing about which year is the latest.
CREATE OR REPLACE TEMP TABLE accepted AS
SELECT year_no, min(day) AS accepted_at
FROM (
    SELECT
        own.year_no, own.day, any_value(own.line_items) AS line_items,
        max(other.line_items) AS overlapped_items
    FROM overlapping
    JOIN line_item_counts AS own USING (year_no)
    LEFT JOIN line_item_counts AS other
        ON other.year_no = overlapped_no AND other.day <= own.day
    GROUP BY own.year_no, own.day
)
WHERE $stray_year * line_items >= coalesce(overlapped_items, 0)
GROUP BY year_no;

-- name: years
-- Years with the same end share a year_end_no, since only one of them can be the answer.
CREATE OR REPLACE TEMP TABLE years AS
SELECT
    year_no, service_id, period_start, period_end, days, year_reported_since, year_last_changed_at,
    coalesce(accepted_at, first_stated_at) AS year_published_at,
    dense_rank() OVER (ORDER BY service_id, period_end) AS year_end_no
FROM spans
LEFT JOIN accepted USING (year_no)
WHERE accepted_at IS NOT NULL OR year_no NOT IN (SELECT year_no FROM overlapping);

-- name: year_inputs
-- The inputs that a year can use: its own, and those of the year before.
CREATE OR REPLACE TEMP TABLE year_inputs AS
SELECT
    year_no, year_end_no, book_no, item_no, FALSE AS is_prior_year, bit, input_no,
    first_published_at, last_changed_at, is_reported
FROM years
JOIN inputs USING (service_id, period_end)
JOIN (FROM bits WHERE NOT is_prior_year) AS this_year USING (item_no)
-- flows must span exactly this year; balances have no start
WHERE inputs.period_start IS NULL OR inputs.period_start = years.period_start
UNION ALL
SELECT
    year_no, year_end_no, book_no, item_no, TRUE, bit, input_no,
    first_published_at, last_changed_at, is_reported
FROM years
JOIN inputs
    ON inputs.service_id = years.service_id
    AND inputs.period_end = years.period_start - 1
JOIN (FROM bits WHERE is_prior_year) AS year_before USING (item_no)
WHERE inputs.period_start IS NULL OR is_year
-- if the year before was stated with several first days, the one published first
QUALIFY row_number() OVER (
    PARTITION BY year_no, book_no, item_no ORDER BY first_published_at, inputs.period_start
) = 1;
