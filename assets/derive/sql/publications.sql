-- Which publications state the inputs of a year together, and from which day on.
--
-- A publication states a figure by its last reading, unless that contradicts other figures of the
-- publication, or only looks like a restatement. It states the current value of the figure if
-- that reading has the value that is current today. A figure of last year that a publication does
-- not repeat may come from another one, if it was never restated and both state the line by the
-- same element, in the purchasing power of the same day: then it counts as if the publication
-- stated it, from the day on which both were there.
--
-- Inputs: readings, inputs, year_inputs, needs
-- Outputs: publications, edited, stated, year_statements, prior_statements, comparable, usable,
--   steps, together, options (tables)

-- name: publications
-- In order of publication: the newest has the highest number.
CREATE OR REPLACE TEMP TABLE publications AS
SELECT
    row_number() OVER (ORDER BY min(available_at), publication, service_id) AS publication_no,
    service_id, publication
FROM readings
GROUP BY service_id, publication;

-- name: edited
-- Publications that were edited silently, and the day of their last reading.
CREATE OR REPLACE TEMP TABLE edited AS
SELECT figure, figure_check, publication, max(available_at) AS last_read_at
FROM readings
GROUP BY figure, figure_check, publication
HAVING count(*) > 1;

-- name: stated
-- Every statement of an input. A figure whose value is the current one again was not current in
-- between: what stated it before counts from the day of the last change.
CREATE OR REPLACE TEMP TABLE stated AS
SELECT
    row_number() OVER () - 1 AS statement_no, input_no, vintage, publication_no, never_restated,
    readings.figure, readings.figure_check, element, measuring_unit_date,
    available_at AS stated_at,
    CASE
        WHEN
            readings.value_reported = inputs.value_reported
            AND (last_read_at IS NULL OR last_read_at = available_at)
            THEN greatest(available_at, last_changed_at)
    END AS current_at,
    source_ref, provenance_id, license_class, method, observed_at, extraction_confidence,
    document_id, form, document_url
FROM readings
JOIN inputs USING (figure, figure_check)
JOIN publications
    ON publications.service_id = inputs.service_id
    AND publications.publication = readings.publication
LEFT JOIN edited
    ON edited.figure = readings.figure
    AND edited.figure_check = readings.figure_check
    AND edited.publication = readings.publication
WHERE
    NOT withdrawn
    AND readings.value_reported IS NOT NULL
    AND conflicts_with IS NULL
    AND apparent_restatement IS NULL;

-- name: year_statements
-- The statements of the inputs of each year.
CREATE OR REPLACE TEMP TABLE year_statements AS
SELECT
    year_no, book_no, item_no, is_prior_year, bit, publication_no, statement_no, stated_at,
    current_at
FROM year_inputs
JOIN stated USING (input_no);

-- name: prior_statements
-- The first statement of a figure of last year by each element and in each purchasing power. Day
-- and publication are packed into one number, which is faster than a sort.
CREATE OR REPLACE TEMP TABLE prior_statements AS
SELECT
    year_no, book_no, item_no, bit, element, measuring_unit_date,
    any_value(never_restated) AS never_restated, min(stated_at) AS stated_at,
    arg_min(
        statement_no, CAST(stated_at - DATE '0001-01-01' AS BIGINT) << 32 | publication_no
    ) AS statement_no,
    min(current_at) AS current_at
FROM (FROM year_inputs WHERE is_prior_year) AS prior
JOIN stated USING (input_no)
GROUP BY year_no, book_no, item_no, bit, element, measuring_unit_date;

-- name: comparable
-- Figures of last year that the publication of this year's does not repeat.
CREATE OR REPLACE TEMP TABLE comparable AS
SELECT
    own.year_no, own.book_no, prior.bit, own.publication_no, prior.statement_no,
    greatest(own.stated_at, prior.stated_at) AS stated_at,
    CASE
        WHEN
            prior.never_restated
            AND own.current_at IS NOT NULL
            AND prior.current_at IS NOT NULL
            THEN greatest(own.current_at, prior.current_at)
    END AS current_at
FROM (FROM year_statements WHERE NOT is_prior_year) AS own
JOIN stated USING (statement_no)
JOIN prior_statements AS prior
    ON prior.year_no = own.year_no
    AND prior.book_no = own.book_no
    AND prior.item_no = own.item_no
    AND prior.element IS NOT DISTINCT FROM stated.element
    AND prior.measuring_unit_date IS NOT DISTINCT FROM stated.measuring_unit_date
ANTI JOIN (FROM year_statements WHERE is_prior_year) AS repeated
    ON repeated.year_no = own.year_no
    AND repeated.book_no = own.book_no
    AND repeated.item_no = own.item_no
    AND repeated.publication_no = own.publication_no;

-- name: usable
-- Every statement that a metric of the year may be computed from.
CREATE OR REPLACE TEMP TABLE usable AS
SELECT year_no, book_no, publication_no, bit, statement_no, stated_at, current_at
FROM year_statements
UNION ALL
SELECT year_no, book_no, publication_no, bit, statement_no, stated_at, current_at
FROM comparable;

-- name: steps
-- What a publication had stated of a year by each day, and how much of it with current values.
CREATE OR REPLACE TEMP TABLE steps AS
WITH events AS (
    SELECT
        year_no, book_no, publication_no, stated_at AS day,
        CAST(1 AS BIGINT) << bit AS stated,
        CASE WHEN current_at = stated_at THEN stated ELSE 0 END AS current
    FROM usable
    UNION ALL
    SELECT year_no, book_no, publication_no, current_at, 0, CAST(1 AS BIGINT) << bit
    FROM usable
    WHERE current_at > stated_at
),

days AS (
    SELECT
        year_no, book_no, publication_no, day,
        bit_or(stated) AS stated, bit_or(current) AS current
    FROM events
    GROUP BY year_no, book_no, publication_no, day
)

SELECT
    year_no, book_no, publication_no, day,
    bit_or(stated) OVER so_far AS stated,
    bit_or(current) OVER so_far AS current
FROM days
WINDOW so_far AS (PARTITION BY year_no, book_no, publication_no ORDER BY day);

-- name: together
-- A year in one book, seen by one metric, if any publication stated all inputs together: since
-- when one did, with whatever values, since when one does with current values, and the newest that
-- did on that day. Day and publication are packed into one number, which is faster than a sort.
CREATE OR REPLACE TEMP TABLE together AS
SELECT
    year_no, book_no, metric_no, min(day) AS complete_at,
    min(CAST(day - DATE '0001-01-01' AS BIGINT) << 32 | (4294967295 - publication_no))
    FILTER (current & needed = needed) AS first_current
FROM steps
JOIN needs ON stated & needed = needed
GROUP BY year_no, book_no, metric_no;

-- name: options
-- The same, unpacked.
CREATE OR REPLACE TEMP TABLE options AS
SELECT
    year_no, book_no, metric_no, complete_at,
    DATE '0001-01-01' + CAST(first_current >> 32 AS INTEGER) AS current_at,
    4294967295 - (first_current & 4294967295) AS publication_no
FROM together;
