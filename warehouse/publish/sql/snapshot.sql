-- The tables that a snapshot copies from the record: every vintage, and every statement.
--
-- row_id leaves out the content: a corrected reading of a publication keeps its id. It stays the
-- same as long as figure, publication and its day do. provenance_id identifies a position in a
-- document.
--
-- Inputs: the stored rows of figures and filings (rows, filings); the vintages and statements of a
--   table (vintages, statements), as as_of.sql selects them
-- Outputs: remaining_rows (table); all_vintages, all_statements, restatement_kinds (queries)

-- name: remaining_rows
-- The stored figures, each with the moment at which its filing was accepted, from the list of the
-- filings. The number of a filing is that of no other.
CREATE OR REPLACE TEMP TABLE remaining_rows AS
SELECT figures.* REPLACE (coalesce(figures.accepted_at, listed.accepted_at) AS accepted_at)
FROM {{ rows }} AS figures
LEFT JOIN (
    SELECT document_id, max(accepted_at) AS accepted_at
    FROM {{ filings }}
    WHERE accepted_at IS NOT NULL
    GROUP BY document_id
) AS listed ON listed.document_id = figures.document_id;

-- name: all_vintages
-- Every vintage. latest is true for the last vintage of a figure unless that was a withdrawal.
SELECT
    {{ columns }}, vintage, superseded_at,
    vintage = max(vintage) OVER (PARTITION BY figure, figure_check) AND NOT withdrawn AS latest,
    {{ row_key }} AS row_id,
    {{ provenance }} AS provenance_id
FROM ({{ vintages }});

-- name: all_statements
-- Every figure as every publication states it. Comparative columns that repeat a value are no
-- vintages, but they are statements.
SELECT
    * EXCLUDE (document),
    {{ provenance }} AS provenance_id
FROM ({{ statements }});

-- name: restatement_kinds
-- Why a vintage of a reported figure differs from the one before. A parser sees one document; only
-- here are both filings at hand. What was published later never changes the kind of an earlier
-- vintage: each is compared with its predecessor alone.
WITH followed AS (
    SELECT
        *,
        lag(value_reported) OVER figures AS previous_value,
        lag(element) OVER figures AS previous_element,
        lag(measuring_unit_date) OVER figures AS previous_unit_date
    FROM ({{ vintages }})
    WINDOW figures AS (PARTITION BY figure, figure_check ORDER BY vintage)
),

-- shares and amounts per share that a publication restates, and how many times larger they are
moved AS (
    SELECT
        figure, figure_check, vintage, service_id, publication,
        unit = 'shares' AS is_number,
        CAST(value_reported AS DOUBLE) / nullif(CAST(previous_value AS DOUBLE), 0) AS times
    FROM followed
    WHERE (unit = 'shares' OR ends_with(unit, '/shares')) AND previous_value IS NOT NULL
),

-- one of them becomes as many times larger as another becomes smaller: amounts per share are
-- rounded, and a change by less than a fifth may have other causes
splits AS (
    SELECT DISTINCT moved.figure, moved.figure_check, moved.vintage
    FROM moved
    JOIN moved AS other
        ON other.service_id = moved.service_id
        AND other.publication = moved.publication
        AND other.is_number <> moved.is_number
    WHERE
        moved.times > 0
        AND moved.times NOT BETWEEN 1 / 1.2 AND 1.2
        AND moved.times * other.times BETWEEN 0.95 AND 1.05
),

compared AS (
    SELECT
        *,
        -- of the larger and the smaller value; a ratio of decimals could overflow
        greatest(
            abs(CAST(value_reported AS DOUBLE)) / nullif(abs(CAST(previous_value AS DOUBLE)), 0),
            abs(CAST(previous_value AS DOUBLE)) / nullif(abs(CAST(value_reported AS DOUBLE)), 0)
        ) AS times_larger,
        EXISTS(
            SELECT 1
            FROM {{ statements }} AS earlier
            WHERE
                earlier.figure = followed.figure
                AND earlier.figure_check = followed.figure_check
                AND earlier.element = followed.element
                AND earlier.value_reported = followed.previous_value
                AND earlier.available_at < followed.available_at
        ) AS had_stated_it
    FROM followed
)

SELECT
    compared.* EXCLUDE (
        previous_value, previous_element, previous_unit_date, times_larger, had_stated_it
    ),
    -- The kinds are decided in this order. A split moves shares and amounts per share, by whatever
    -- factor. Another sign, of about the same size, or another power of ten is a filer's error,
    -- whatever else changed; in the purchasing power of another day every value differs; another
    -- element may mean something else, unless it had stated the former value too. A figure that was
    -- read before elements were recorded, or that was withdrawn in between, tells nothing.
    CASE
        WHEN withdrawn OR previous_value IS NULL THEN NULL
        WHEN element IS NULL OR previous_element IS NULL THEN NULL
        WHEN splits.vintage IS NOT NULL THEN 'split'
        WHEN
            sign(value_reported) = -sign(previous_value) AND times_larger <= 1.02
            THEN 'correction'
        WHEN
            times_larger BETWEEN 1000 * 0.9995 AND 1000 * 1.0005
            OR times_larger BETWEEN 1e6 * 0.9995 AND 1e6 * 1.0005
            OR times_larger BETWEEN 1e9 * 0.9995 AND 1e9 * 1.0005
            THEN 'correction'
        WHEN
            (measuring_unit_date IS DISTINCT FROM previous_unit_date)
            AND measuring_unit_date IS NOT NULL
            THEN 'measuring_unit'
        WHEN element <> previous_element AND NOT had_stated_it THEN 'element'
        ELSE 'restatement'
    END AS restatement_kind
FROM compared
LEFT JOIN splits
    ON splits.figure = compared.figure
    AND splits.figure_check = compared.figure_check
    AND splits.vintage = compared.vintage;
