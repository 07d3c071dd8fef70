-- What publishers changed without saying so: content before and after, and when each was seen.
--
-- A publication that later shows other content was edited; {{ document }} is what stays the same
-- while its content changes. A publisher that shows one state only overwrites: {{ undated }} is
-- true for content without a publication of its own. What is no longer shown was removed.
--
-- Inputs: loads, the ledger of the record; a table of vintages (vintages)
-- Outputs: readings (query); changes, changed_values (queries)

-- name: readings
-- When the document of each address was read. A key is the hash of the bytes, of the address, and
-- the moment; only the first reading of equal content is stored as a row.
SELECT DISTINCT
    'all' AS partition,
    split_part(document, '-', 2) AS address,
    try_strptime(split_part(document, '-', 3), '%Y%m%dT%H%M%S%f') AT TIME ZONE 'UTC' AS read_at
FROM (SELECT unnest(documents) AS document FROM loads)
WHERE read_at IS NOT NULL;

-- name: changes
-- Every change of one table: the vintage with the new content next to the one with the old.
CREATE OR REPLACE TEMP TABLE changes AS
WITH seen AS (
    SELECT
        *,
        coalesce(
            lag(vintage) OVER (
                PARTITION BY figure, figure_check, source, {{ document }}
                ORDER BY vintage
            ),
            CASE
                -- a figure of a base that was replaced is withdrawn by another publication
                WHEN {{ undated }} AND NOT withdrawn
                    THEN lag(vintage) OVER (
                        PARTITION BY figure, figure_check, source
                        ORDER BY vintage
                    )
            END
        ) AS vintage_before
    FROM {{ vintages }} AS all_vintages
    WHERE (figure, figure_check) IN (
        SELECT (later.figure, later.figure_check)
        FROM {{ vintages }} AS later
        WHERE later.vintage > 1
    )
),

pairs AS (
    SELECT after_change, before_change
    FROM seen AS after_change
    JOIN seen AS before_change
        ON before_change.figure = after_change.figure
        AND before_change.figure_check = after_change.figure_check
        AND before_change.vintage = after_change.vintage_before
    -- ids that were joined later may state a figure twice in one reading
    WHERE after_change.observed_at > before_change.observed_at
),

last_seen AS (
    -- the last reading of the address that showed the old content, before the new was there
    SELECT
        pairs.before_change.row_id AS row_before,
        pairs.after_change.row_id AS row_id,
        max(readings.read_at) AS read_at
    FROM pairs
    JOIN readings
        ON readings.address
        = substr(sha256(split_part(pairs.before_change.source_ref, '#', 1)), 1, 16)
        AND readings.read_at < pairs.after_change.observed_at
    GROUP BY ALL
)

SELECT
    pairs.after_change AS after_change,
    pairs.before_change AS before_change,
    CASE
        WHEN pairs.after_change.withdrawn THEN 'removed'
        WHEN pairs.before_change.withdrawn THEN 'restored'
        WHEN
            pairs.after_change.publication = pairs.before_change.publication
            AND pairs.after_change.publication <> $as_shown
            THEN 'edited'
        ELSE 'overwritten'
    END AS kind,
    greatest(pairs.before_change.observed_at, coalesce(last_seen.read_at, TIMESTAMPTZ '0001-01-01'))
        AS before_last_seen_at
FROM pairs
LEFT JOIN last_seen
    ON last_seen.row_before = pairs.before_change.row_id
    AND last_seen.row_id = pairs.after_change.row_id;

-- name: changed_values
-- The changes of one content column, as text; a removal is one row, whatever else was there.
SELECT
    '{{ dataset }}' AS dataset,
    {{ shown }},
    '{{ member }}' AS member,
    kind,
    CASE WHEN kind <> 'restored' THEN {{ before }} END AS before,
    CASE WHEN kind <> 'removed' THEN {{ after }} END AS after,
    coalesce(before_change.available_at, CAST(before_change.observed_at AS DATE)) AS before_since,
    before_last_seen_at,
    after_change.observed_at AS after_first_seen_at,
    before_change.publication AS publication_before,
    after_change.publication AS publication,
    after_change.license_class AS license_class,
    before_change.source_ref AS source_ref_before,
    after_change.source_ref AS source_ref,
    md5(concat_ws(chr(31), after_change.row_id, '{{ member }}')) AS revision_id
FROM changes
WHERE {{ before }} IS DISTINCT FROM {{ after }} AND {{ counted }};
