-- For each issuer, metric and year: which publication counts, for which days, or why none does.
--
-- There is no look-ahead: what is chosen for a day depends on nothing published after it. That is
-- why books are ranked by when a publication had stated all inputs in them and by what existed on
-- the first day of the year's publication, never by what came later.
--
-- Inputs: inputs, books, years, year_inputs, formula_inputs, needs, usable, options
-- Outputs: first_days, first_day_figures, currency_figures, ranked, ended, chosen, cited,
--   candidates, apart, mixed_currency, short_period, outcomes (tables)

-- name: first_days
-- The day on which anything of a year was first published, in any book.
CREATE OR REPLACE TEMP TABLE first_days AS
SELECT year_end_no, min(first_published_at) AS first_day
FROM year_inputs
WHERE NOT is_prior_year
GROUP BY year_end_no;

-- name: first_day_figures
-- How many figures of a year in a book were published on that first day.
CREATE OR REPLACE TEMP TABLE first_day_figures AS
SELECT year_no, book_no, count(*) AS first_day_figures
FROM year_inputs
JOIN first_days USING (year_end_no)
WHERE NOT is_prior_year AND first_published_at = first_day
GROUP BY year_no, book_no;

-- name: currency_figures
-- How many figures the issuer had published in each currency by that day; only for issuers that
-- report in several currencies.
CREATE OR REPLACE TEMP TABLE currency_figures AS
WITH with_several AS (
    SELECT service_id
    FROM (SELECT DISTINCT service_id, book_no FROM inputs)
    JOIN books USING (book_no)
    GROUP BY service_id
    HAVING count(DISTINCT currency) > 1
)

SELECT year_end_no, currency, count(*) AS figures_in_currency
FROM (SELECT DISTINCT year_end_no, service_id FROM years)
JOIN first_days USING (year_end_no)
JOIN inputs USING (service_id)
JOIN books USING (book_no)
WHERE service_id IN (SELECT service_id FROM with_several) AND first_published_at <= first_day
GROUP BY year_end_no, currency;

-- name: ranked
-- Books in order of preference: consolidated, complete earliest, most figures on the first day, in
-- the currency used most by then.
CREATE OR REPLACE TEMP TABLE ranked AS
SELECT
    year_end_no, metric_no, year_no, book_no, days, publication_no,
    greatest(complete_at, year_published_at) AS complete_at,
    greatest(current_at, year_published_at, year_reported_since) AS current_at,
    publication_no IS NOT NULL AND year_reported_since IS NOT NULL AS is_current,
    row_number() OVER (
        PARTITION BY year_end_no, metric_no
        ORDER BY
            consolidated DESC, greatest(complete_at, year_published_at),
            first_day_figures DESC NULLS LAST, figures_in_currency DESC NULLS LAST,
            -- these two are arbitrary but fixed: a rebuild must choose the same book
            period_start, book_no
    ) AS rank
FROM options
JOIN years USING (year_no)
JOIN books USING (book_no)
LEFT JOIN first_day_figures USING (year_no, book_no)
LEFT JOIN currency_figures USING (year_end_no, currency);

-- name: ended
-- Since when no publication states the current values of a year and book any more: since an input,
-- or the last figure that spans the year, was withdrawn, else since the last change of any input.
CREATE OR REPLACE TEMP TABLE ended AS
SELECT
    year_no, book_no, metric_no,
    coalesce(
        least(
            min(last_changed_at) FILTER (NOT is_reported),
            any_value(CASE WHEN year_reported_since IS NULL THEN year_last_changed_at END)
        ),
        max(last_changed_at)
    ) AS ended_at
FROM (FROM ranked WHERE NOT is_current) AS not_current
JOIN years USING (year_no)
JOIN formula_inputs USING (metric_no)
JOIN year_inputs USING (year_no, book_no, bit)
GROUP BY year_no, book_no, metric_no;

-- name: chosen
-- The first book that has current values in one publication. It answers only from the day on which
-- the last one ranked before it ended.
CREATE OR REPLACE TEMP TABLE chosen AS
SELECT
    year_end_no, metric_no, year_no, book_no, days, publication_no, complete_at, is_current,
    -- before that day the other book was the answer: this one must not answer for it
    greatest(
        current_at,
        CASE
            WHEN rank > 1
                THEN max(ended_at) OVER (
                    PARTITION BY year_end_no, metric_no ORDER BY rank
                    ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
                )
        END
    ) AS current_at
FROM ranked
LEFT JOIN ended USING (year_no, book_no, metric_no)
QUALIFY row_number() OVER (
    PARTITION BY year_end_no, metric_no ORDER BY is_current DESC, rank
) = 1;

-- name: cited
-- The statements that a value is computed from, by their position in the formula: input_0, input_1
-- and so on, as many as the longest formula has.
CREATE OR REPLACE TEMP TABLE cited AS
SELECT year_end_no, metric_no, {{ input_columns }}
FROM (FROM chosen WHERE is_current) AS current
JOIN formula_inputs USING (metric_no)
JOIN (FROM usable WHERE current_at IS NOT NULL) AS usable
    USING (year_no, book_no, publication_no, bit)
GROUP BY year_end_no, metric_no;

-- name: candidates
-- A year is the latest one, complete or not, from the day any figure of it is published until a
-- later year is. That holds for every metric, whatever its inputs.
CREATE OR REPLACE TEMP TABLE candidates AS
SELECT
    year_end_no, service_id, period_end, published_at,
    min(published_at) OVER (
        PARTITION BY service_id ORDER BY period_end
        ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING
    ) AS next_at
FROM (
    SELECT
        year_end_no, any_value(service_id) AS service_id, any_value(period_end) AS period_end,
        min(year_published_at) AS published_at
    FROM years
    GROUP BY year_end_no
);

-- name: apart
-- One book has all inputs, but nothing states their current values together; is_reported if none
-- of them, nor the year itself, was withdrawn.
CREATE OR REPLACE TEMP TABLE apart AS
WITH in_books AS (
    SELECT
        year_end_no, year_no, book_no,
        bit_or(CAST(1 AS BIGINT) << bit) AS published,
        coalesce(
            bit_or(CAST(1 AS BIGINT) << bit)
            FILTER (is_reported AND year_reported_since IS NOT NULL),
            0
        ) AS reported
    FROM year_inputs
    JOIN years USING (year_no, year_end_no)
    GROUP BY year_end_no, year_no, book_no
)

SELECT year_end_no, metric_no, bool_or(reported & needed = needed) AS is_reported
FROM in_books
JOIN needs ON published & needed = needed
ANTI JOIN (FROM chosen WHERE is_current) AS current USING (year_end_no, metric_no)
GROUP BY year_end_no, metric_no;

-- name: mixed_currency
-- No book has all inputs, but one would if currencies could be mixed.
CREATE OR REPLACE TEMP TABLE mixed_currency AS
SELECT DISTINCT year_end_no, metric_no
FROM (
    SELECT year_end_no, year_no, basis, metric_no
    -- two currencies are two books; their figures are never combined, as that would need a rate
    FROM year_inputs
    JOIN formula_inputs USING (bit)
    JOIN books USING (book_no)
    WHERE year_end_no IN (SELECT year_end_no FROM currency_figures)
    GROUP BY year_end_no, year_no, basis, metric_no
    HAVING
        bit_or(CAST(1 AS BIGINT) << bit)
        = (SELECT needed FROM needs WHERE needs.metric_no = formula_inputs.metric_no)
);

-- name: short_period
-- The metric needs the year before, and that period was not a full year.
CREATE OR REPLACE TEMP TABLE short_period AS
SELECT DISTINCT year_inputs.year_end_no, formula_inputs.metric_no
FROM years
JOIN inputs
    ON inputs.service_id = years.service_id
    AND inputs.period_end = years.period_start - 1
JOIN formula_inputs
    ON formula_inputs.item_no = inputs.item_no
    AND formula_inputs.is_prior_year
JOIN year_inputs
    ON year_inputs.year_no = years.year_no
    AND year_inputs.book_no = inputs.book_no
    AND year_inputs.item_no = inputs.item_no
    AND NOT year_inputs.is_prior_year
WHERE NOT inputs.is_year;

-- name: outcomes
-- For each year and metric, what is chosen and its inputs, or the reason why there is no value.
CREATE OR REPLACE TEMP TABLE outcomes AS
SELECT
    candidates.year_end_no, candidates.service_id, candidates.period_end, candidates.published_at,
    candidates.next_at, needs.metric_no, chosen.days, chosen.complete_at, chosen.current_at,
    cited.* EXCLUDE (year_end_no, metric_no), years.period_start, books.basis, books.currency,
    CASE
        WHEN chosen.is_current THEN NULL
        WHEN apart.is_reported THEN 'inputs_not_comparable'
        WHEN apart.year_end_no IS NOT NULL THEN 'input_not_reported'
        WHEN mixed_currency.year_end_no IS NOT NULL THEN 'mixed_currency'
        WHEN short_period.year_end_no IS NOT NULL THEN 'short_period'
        ELSE 'input_not_reported'
    END AS reason
FROM candidates
CROSS JOIN needs
LEFT JOIN chosen
    ON chosen.year_end_no = candidates.year_end_no AND chosen.metric_no = needs.metric_no
LEFT JOIN cited
    ON cited.year_end_no = candidates.year_end_no AND cited.metric_no = needs.metric_no
LEFT JOIN years ON years.year_no = chosen.year_no
LEFT JOIN books ON books.book_no = chosen.book_no
LEFT JOIN apart
    ON apart.year_end_no = candidates.year_end_no AND apart.metric_no = needs.metric_no
LEFT JOIN mixed_currency
    ON mixed_currency.year_end_no = candidates.year_end_no
    AND mixed_currency.metric_no = needs.metric_no
LEFT JOIN short_period
    ON short_period.year_end_no = candidates.year_end_no
    AND short_period.metric_no = needs.metric_no;
