-- Compare the readings of a load with those that are stored.
--
-- stored are the stored readings, incoming the hashed rows of the load, reread the documents that
-- other code has read before, read_now what is read in them now.
--
-- Inputs: stored, incoming, contradictions, reread, read_now (registered tables)
-- Outputs: stale, contradictory, changed (queries)

-- name: stale
-- Stored rows that newer code no longer reads in documents that were read before. A row read at a
-- location of a document has that in its address. A withdrawal of what a document no longer shows
-- has the address of the document alone, and is no row that a parser read.
SELECT {{ columns }}
FROM ({{ stored }}) AS stored
INNER JOIN reread
    ON reread.document = stored.document
    AND reread.observed_at = stored.observed_at
    AND starts_with(stored.source_ref, concat(reread.url, '#'))
    AND reread.source = stored.source
WHERE NOT EXISTS (
    SELECT 1 FROM read_now
    WHERE
        read_now.sighting = stored.sighting
        AND read_now.figure_check = stored.figure_check
        AND read_now.document = stored.document
        AND read_now.observed_at = stored.observed_at
);

-- name: contradictory
-- Two rows of one document that give one figure of one publication different contents.
SELECT DISTINCT incoming.row
FROM incoming
INNER JOIN incoming AS other
    ON incoming.sighting = other.sighting
    AND incoming.figure_check = other.figure_check
    AND incoming.observed_at = other.observed_at
    AND incoming.document = other.document
    AND incoming.content <> other.content;

-- name: changed
-- The incoming readings that are new, each with the day from which its content was known.
WITH arrived AS (
    SELECT {{ columns }}, row FROM incoming WHERE row NOT IN (SELECT row FROM contradictions)
),

readings AS (
    -- Stored and incoming readings together. The load that is being written gets a number above
    -- every stored one (2^62).
    SELECT {{ columns }}, load_seq, -1 AS row FROM stored
    UNION ALL
    SELECT {{ columns }}, 4611686018427387904 AS load_seq, row FROM arrived
),

last_readings AS (
    -- Of one document the last load counts.
    SELECT * FROM readings
    QUALIFY load_seq = max(load_seq) OVER (
        PARTITION BY sighting, figure_check, observed_at, document
    )
),

effective AS (
    -- One reading for each moment: as in as_of.sql, of two documents the greater content.
    SELECT * FROM last_readings
    QUALIFY row_number() OVER (
        PARTITION BY sighting, figure_check, observed_at ORDER BY content DESC, document
    ) = 1
),

dated AS (
    -- Join to each incoming reading the last one made before its moment. If there is one, the
    -- content of the publication was known from the day of this reading at the earliest.
    SELECT
        arrived.*,
        previous.content AS previous_content,
        -- Also if its package states that very day: whether it does can depend on which documents
        -- were loaded before.
        coalesce(
            previous.content IS NOT NULL
            AND arrived.available_at <= CAST(arrived.observed_at AS DATE),
            FALSE
        ) AS is_dated_by_reading,
        CASE
            WHEN is_dated_by_reading THEN CAST(arrived.observed_at AS DATE)
            ELSE arrived.available_at
        END AS known_from
    FROM arrived
    ASOF LEFT JOIN effective AS previous
        ON arrived.sighting = previous.sighting
        AND arrived.figure_check = previous.figure_check
        AND arrived.observed_at > previous.observed_at
),

last_stored AS (
    -- If a document was read more than once, by different code, the last load of it counts.
    SELECT * FROM stored
    QUALIFY load_seq = max(load_seq) OVER (
        PARTITION BY sighting, figure_check, observed_at, document
    )
),

compared AS (
    -- A reading like the one before is no change, unless other code read something else in the same
    -- document.
    SELECT
        *,
        EXISTS(
            SELECT 1 FROM last_stored AS stored
            WHERE {{ same_reading }}
        ) AS is_stored
    FROM dated
    WHERE
        previous_content IS DISTINCT FROM content
        OR EXISTS (
            SELECT 1 FROM last_stored AS stored
            WHERE
                {{ same_moment }}
                AND stored.document = dated.document
                AND stored.content <> dated.content
        )
),

new AS (
    -- Of equal rows within the load, which documents or their lines repeat, one is stored.
    SELECT * FROM compared
    QUALIFY row_number() OVER (
        PARTITION BY sighting, figure_check, observed_at, content
        ORDER BY is_stored DESC, document, row
    ) = 1
)

-- "again" flags sightings with several readings, which vintages must compare.
SELECT
    row,
    known_from AS available_at,
    is_dated_by_reading,
    previous_content IS NOT NULL
    OR sighting IN (SELECT sighting FROM stored)
    OR count(*) OVER (PARTITION BY sighting, figure_check) > 1 AS again
FROM new
WHERE NOT is_stored;
