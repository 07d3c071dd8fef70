-- The tables that a snapshot copies from the record: every vintage, and every statement.
--
-- row_id leaves out the content: a corrected reading of a publication keeps its id. It stays the
-- same as long as figure, publication and its day do. provenance_id identifies a position in a
-- document.
--
-- Inputs: the stored rows of figures and filings (rows, filings); the vintages and statements of a
--   table (vintages, statements), as as_of.sql selects them
-- Outputs: last_digit, half_unit (macros); remaining_rows, split_ratios (tables); all_vintages,
--   all_statements, restatement_kinds (queries)

-- name: remaining_rows
-- The stored figures, each with the moment at which its filing was accepted: from the list of the
-- filings, which has seconds, or from a data set, which has minutes. The number of a filing is that
-- of no other.
CREATE OR REPLACE TEMP TABLE remaining_rows AS
SELECT figures.* REPLACE (moments.accepted_at AS accepted_at)
FROM {{ rows }} AS figures
LEFT JOIN (
    SELECT
        document_id,
        coalesce(max(accepted_at) FILTER (is_listed), max(accepted_at)) AS accepted_at
    FROM (
        SELECT document_id, accepted_at, TRUE AS is_listed FROM {{ filings }}
        UNION ALL
        SELECT document_id, accepted_at, FALSE FROM {{ rows }}
    ) AS stated
    WHERE accepted_at IS NOT NULL
    GROUP BY document_id
) AS moments ON moments.document_id = figures.document_id;

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

-- name: last_digit
-- The place of the last digit of a number that is not zero: a number is known to half of it.
CREATE OR REPLACE TEMP MACRO last_digit(digits) AS
pow(10, CASE
    WHEN contains(digits, '.') THEN -len(split_part(digits, '.', 2))
    ELSE len(digits) - len(rtrim(digits, '0'))
END);

-- name: half_unit
CREATE OR REPLACE TEMP MACRO half_unit(number) AS
last_digit(rtrim(rtrim(CAST(number AS VARCHAR), '0'), '.')) / 2;

-- name: split_ratios
-- What a split may be: so many new shares for so many old ones, by a fifth at least.
CREATE OR REPLACE TEMP TABLE split_ratios AS
SELECT new_shares, old_shares, new_shares / old_shares AS factor
FROM
    (SELECT unnest(range(1, 201)) AS new_shares),
    (SELECT unnest(range(1, 201)) AS old_shares)
WHERE
    (least(new_shares, old_shares) = 1 OR greatest(new_shares, old_shares) <= 20)
    AND gcd(new_shares, old_shares) = 1
    AND new_shares / old_shares NOT BETWEEN 1 / 1.2 AND 1.2;

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
        figure, figure_check, vintage, service_id, publication, period_end,
        unit = 'shares' AS is_number,
        CAST(value_reported AS DOUBLE) / nullif(CAST(previous_value AS DOUBLE), 0) AS times,
        -- how many times more shares there are, as far as the digits tell
        (abs(CAST(value_reported AS DOUBLE)) - half_unit(value_reported))
        / (abs(CAST(previous_value AS DOUBLE)) + half_unit(previous_value)) AS least_times,
        (abs(CAST(value_reported AS DOUBLE)) + half_unit(value_reported))
        / nullif(abs(CAST(previous_value AS DOUBLE)) - half_unit(previous_value), 0) AS most_times,
        -- fractions of shares are paid out, and averages are computed anew
        CASE WHEN is_number THEN least_times * 0.9985 ELSE 1 / most_times END AS least_factor,
        CASE WHEN is_number THEN most_times * 1.0015 ELSE 1 / nullif(least_times, 0) END
            AS most_factor
    FROM followed
    WHERE (unit = 'shares' OR ends_with(unit, '/shares')) AND previous_value IS NOT NULL
),

-- the whole ratio by which a publication restates a number of shares and an amount per share, or
-- the numbers of two days
whole AS (
    SELECT
        service_id, publication, any_value(factor) AS factor,
        concat(any_value(new_shares), ':', any_value(old_shares)) AS split_ratio
    FROM (
        SELECT service_id, publication, factor, new_shares, old_shares
        FROM moved
        JOIN split_ratios ON factor BETWEEN least_factor AND most_factor
        WHERE moved.times > 0
        GROUP BY service_id, publication, factor, new_shares, old_shares
        HAVING
            bool_or(is_number)
            AND (NOT bool_and(is_number) OR count(DISTINCT period_end) > 1)
    )
    GROUP BY service_id, publication
    HAVING count(*) = 1
),

of_ratio AS (
    SELECT figure, figure_check, vintage, split_ratio
    FROM moved
    JOIN whole
        ON whole.service_id = moved.service_id
        AND whole.publication = moved.publication
        AND factor BETWEEN least_factor AND most_factor
    WHERE moved.times > 0
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
    UNION
    SELECT figure, figure_check, vintage FROM of_ratio
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
    END AS restatement_kind,
    CASE WHEN restatement_kind = 'split' THEN of_ratio.split_ratio END AS split_ratio
FROM compared
LEFT JOIN splits
    ON splits.figure = compared.figure
    AND splits.figure_check = compared.figure_check
    AND splits.vintage = compared.vintage
LEFT JOIN of_ratio
    ON of_ratio.figure = compared.figure
    AND of_ratio.figure_check = compared.figure_check
    AND of_ratio.vintage = compared.vintage;
