-- The one definition of what was known on a date, as SQL.
--
-- Everything that reads vintages reads them through vintages; statements gives what every
-- publication states, also where that is no vintage: it repeats a value, or is marked to look only
-- like a restatement of it (such a reading does not count). The queries work on row
-- hashes only and join the requested columns at the end, for the rows they have chosen: that is a
-- quarter faster than carrying them through. The engine must cast timestamps to days in UTC.
--
-- in_scope are the rows published by as_of and loaded by load_seq.
--
-- Inputs: the stored rows of a table (relation)
-- Outputs: standing_rows, readings, vintages, statements (queries)

-- name: standing_rows
-- Stored rows without those that newer code retracted. A retraction is a copy of the row it takes
-- back, from the same reading of the same document. A row stored after it, by yet newer code,
-- counts again.
SELECT {{ columns }}
FROM (SELECT * FROM {{ relation }} WHERE {{ in_scope }}) AS stored
LEFT JOIN (
    SELECT sighting, figure_check, observed_at, document, load_seq
    FROM {{ relation }}
    WHERE {{ in_scope }} AND retracted
) AS retraction
    ON retraction.sighting = stored.sighting
    AND retraction.figure_check = stored.figure_check
    AND retraction.observed_at = stored.observed_at
    AND retraction.document = stored.document
    AND retraction.load_seq >= stored.load_seq
WHERE retraction.sighting IS NULL;

-- name: readings
-- Every reading that no other reading of the same publication replaces.
WITH candidates AS (
    SELECT *, {{ counts }} AS counts FROM ({{ standing_rows }}) AS standing
),

rereads AS (
    -- most publications are read once: only the sightings read more than once (the writer flags
    -- every reading after the first with again) need to be compared with each other
    SELECT sighting, figure_check, content, available_at, observed_at, document, load_seq
    FROM candidates
    WHERE sighting IN (SELECT reread.sighting FROM candidates AS reread WHERE reread.again)
    -- what newer code reads differently in the same document replaces nothing
    QUALIFY load_seq = max(load_seq) OVER (
        PARTITION BY sighting, figure_check, observed_at, document
    )
),

compared AS (
    -- a reading like the one before it on its day says nothing new: it is stored only if the one
    -- before turned up later, and counts in no order of arrival. Of one moment the last is the one
    -- that counts, as below
    SELECT
        *,
        coalesce(
            content = lag(content) OVER same_day AND observed_at > lag(observed_at) OVER same_day,
            FALSE
        ) AS repeats
    FROM rereads
    WINDOW same_day AS (
        PARTITION BY sighting, figure_check, available_at
        ORDER BY observed_at, content, document DESC
    )
)

SELECT
    candidate.figure, candidate.figure_check, candidate.sighting, candidate.content,
    candidate.withdrawn, candidate.available_at, candidate.publication, candidate.observed_at,
    candidate.load_seq, candidate.counts
FROM candidates AS candidate
LEFT JOIN compared AS other
    ON other.sighting = candidate.sighting
    AND other.figure_check = candidate.figure_check
    AND (
        CASE
            -- newer code read the same document again: the last load counts, whatever its day
            WHEN other.observed_at = candidate.observed_at AND other.document = candidate.document
                THEN other.load_seq > candidate.load_seq OR other.repeats
            -- an earlier reading turned up after this one had been dated as the first: this copy is
            -- dropped, whatever their days; if its content is new, the writer appended it again
            -- under the day on which it was read
            WHEN
                other.observed_at < candidate.observed_at
                AND candidate.available_at < CAST(candidate.observed_at AS DATE)
                THEN TRUE
            -- readings that were known from different days are vintages of their own; two without a
            -- day have the same one
            WHEN
                coalesce(other.available_at, DATE '0001-01-01')
                <> coalesce(candidate.available_at, DATE '0001-01-01')
                THEN FALSE
            -- two documents observed at the same moment: an arbitrary but stable choice. It is made
            -- by content, since of several documents with the same content only one is stored
            WHEN other.observed_at = candidate.observed_at
                THEN
                    other.content > candidate.content
                    OR (other.content = candidate.content AND other.document < candidate.document)
            -- a later reading replaces an earlier one of its day if it was made on that day, or if
            -- no day is known
            WHEN other.observed_at > candidate.observed_at
                THEN
                    NOT other.repeats
                    AND coalesce(other.available_at >= CAST(other.observed_at AS DATE), TRUE)
            ELSE FALSE
        END
    )
WHERE other.sighting IS NULL;

-- name: vintages
-- The vintages of each figure. The order of knowledge has NULLS FIRST, not the default of DuckDB.
-- A hash of 64 bits can collide, so the second hash separates figures too.
WITH readings AS (
    SELECT * FROM ({{ readings }}) AS standing
),

with_previous AS (
    SELECT
        *,
        lag(content) OVER (
            PARTITION BY figure, figure_check
            ORDER BY available_at NULLS FIRST, publication NULLS FIRST
        ) AS previous_content
    FROM readings
    -- after the readings: a marked one still replaces those that it replaces
    WHERE counts
),

vintages AS (
    -- a vintage is a change of content: equal neighbours collapse, the rest is numbered from 1
    SELECT
        *,
        row_number() OVER (
            PARTITION BY figure, figure_check
            ORDER BY available_at NULLS FIRST, publication NULLS FIRST
        ) AS vintage,
        lead(available_at) OVER (
            PARTITION BY figure, figure_check
            ORDER BY available_at NULLS FIRST, publication NULLS FIRST
        ) AS superseded_at,
        lead(figure) OVER (
            PARTITION BY figure, figure_check
            ORDER BY available_at NULLS FIRST, publication NULLS FIRST
        ) AS next_figure
    FROM with_previous
    WHERE previous_content IS NULL OR previous_content <> content
),

chosen AS (
    SELECT
        sighting, figure_check, content, observed_at, load_seq, vintage, superseded_at
    FROM vintages
    WHERE {{ choice }}
)

-- Join the requested columns back. A sighting may be stored several times; load, moment of reading
-- and content tell which of its rows was chosen.
SELECT {{ full_row }}, chosen.vintage, chosen.superseded_at
FROM chosen
JOIN (SELECT * FROM {{ relation }} WHERE {{ in_scope }}) AS full_row
    ON full_row.sighting = chosen.sighting
    AND full_row.figure_check = chosen.figure_check
    AND full_row.load_seq = chosen.load_seq
    AND full_row.observed_at = chosen.observed_at
    AND full_row.content = chosen.content;

-- name: statements
-- Every figure as every publication states it: one that was edited silently has a row for each day
-- on which its content was new.
WITH chosen AS (
    SELECT sighting, figure_check, content, observed_at, load_seq
    FROM ({{ readings }}) AS readings
)

SELECT {{ full_row }}
FROM chosen
JOIN (SELECT * FROM {{ relation }} WHERE {{ in_scope }}) AS full_row
    ON full_row.sighting = chosen.sighting
    AND full_row.figure_check = chosen.figure_check
    AND full_row.load_seq = chosen.load_seq
    AND full_row.observed_at = chosen.observed_at
    AND full_row.content = chosen.content;
