-- One base per series and day: figures of a base that the publisher replaced are withdrawn.
--
-- The unit and the base period of an index identify a figure, so that a value on a new base is no
-- restatement of the old one. Without more, both would be answers for one period. From the day of
-- the first publication on another base, every figure of the old one is withdrawn, carried over to
-- the new base or not; and of two figures of one period the newer one stays. A publication that
-- states neither unit nor base is on the base that the series has, unless that base has a period:
-- the values of an index are worth nothing without theirs, and what states none is then another
-- base.
--
-- Two documents of a source may state the same figure in different ways: with and without its unit,
-- with and without the time at which each value was valid. They are one publication in two forms,
-- and neither takes back nor revises what the other states: unit_not_stated and shown_and_dated are
-- the rows that count otherwise than they were stored.
--
-- series are the columns that identify a series, without its unit, base and period.
--
-- Inputs: the stored rows of a macro table (stored)
-- Outputs: rebased_series, stored_of_series (tables); unit_not_stated, shown_and_dated,
-- withdrawals (queries)

-- name: unit_not_stated
-- Rows that state neither unit nor base, with the unit of their series if that has one alone. What
-- states no base of an index may be on another one.
WITH units AS (
    SELECT {{ series }}, unit, base_period
    FROM {{ stored }}
    WHERE unit IS NOT NULL OR base_period IS NOT NULL
    GROUP BY ALL
),

stated AS (
    SELECT * FROM units
    QUALIFY count(*) OVER (PARTITION BY {{ series }}) = 1 AND base_period IS NULL
)

SELECT unstated.* REPLACE (stated.unit AS unit), TRUE AS counts
FROM {{ stored }} AS unstated
JOIN stated ON {{ stated_series }}
WHERE unstated.unit IS NULL AND unstated.base_period IS NULL;

-- name: shown_and_dated
-- What was shown without a time although the source had dated a value of the figure by then. It was
-- shown on the day of its reading, and says nothing of an earlier one; and nothing new if it is the
-- value that was valid on that day.
WITH dated AS (
    SELECT
        figure, figure_check, value, available_at,
        min(available_at) OVER (PARTITION BY figure, figure_check) AS first_day,
        coalesce(
            lead(available_at) OVER (
                PARTITION BY figure, figure_check ORDER BY available_at, publication
            ),
            DATE '9999-12-31'
        ) AS last_day
    FROM {{ stored }}
    WHERE publication <> $as_shown AND available_at IS NOT NULL
)

SELECT
    shown.* REPLACE (
        CAST(shown.observed_at AS DATE) AS available_at,
        $first_read AS available_at_evidence
    ),
    NOT coalesce(
        bool_or(
            dated.value IS NOT DISTINCT FROM shown.value
            AND CAST(shown.observed_at AS DATE) BETWEEN dated.available_at AND dated.last_day
        ),
        FALSE
    ) AS counts
FROM {{ stored }} AS shown
JOIN dated
    ON dated.figure = shown.figure
    AND dated.figure_check = shown.figure_check
    AND dated.first_day <= shown.available_at
WHERE shown.publication = $as_shown
GROUP BY ALL;

-- name: rebased_series
-- The series with several bases.
CREATE OR REPLACE TEMP TABLE rebased_series AS
SELECT {{ series }}
FROM {{ stored }}
GROUP BY ALL
HAVING count(DISTINCT { 'unit': unit, 'base_period': base_period }) > 1;

-- name: stored_of_series
-- Their rows.
CREATE OR REPLACE TEMP TABLE stored_of_series AS
SELECT stored.*
FROM {{ stored }} AS stored
JOIN rebased_series AS chosen ON {{ chosen_series }};

-- name: withdrawals
-- A withdrawing row for each figure and publication that replaced it.
WITH numbered AS (
    -- every value that counts, with its base and the number of its publication in the series
    SELECT
        candidate.*,
        CASE
            WHEN unit IS NOT NULL OR base_period IS NOT NULL
                THEN { 'unit': unit, 'base_period': base_period }
        END AS stated,
        dense_rank() OVER (
            PARTITION BY {{ series }}
            ORDER BY candidate.available_at NULLS FIRST, candidate.publication
        ) AS place
    FROM stored_of_series AS candidate
    JOIN ({{ readings }}) AS reading ON {{ same_row }}
    WHERE NOT candidate.withdrawn
),

publications AS (
    -- one base for each publication: a stated one before none, then that of the last reading
    SELECT {{ series }}, place, {{ replacing }}, stated
    FROM numbered
    QUALIFY row_number() OVER (
        PARTITION BY {{ series }}, place
        ORDER BY
            stated IS NULL, observed_at DESC, load_seq DESC, document, unit, base_period,
            period_start, period_end, source_ref
    ) = 1
),

with_last AS (
    SELECT
        *,
        last_value(stated IGNORE NULLS) OVER (
            PARTITION BY {{ series }} ORDER BY place ROWS UNBOUNDED PRECEDING
        ) AS last_stated
    FROM publications
),

based AS (
    SELECT
        *,
        CASE
            WHEN stated IS NULL AND last_stated.base_period IS NOT NULL THEN {{ not_stated }}
            ELSE last_stated
        END AS base
    FROM with_last
),

with_previous AS (
    SELECT
        *,
        lag(place) OVER in_series AS previous_place,
        lag(base) OVER in_series AS previous_base
    FROM based
    WINDOW in_series AS (PARTITION BY {{ series }} ORDER BY place)
),

changes AS (
    -- a new base begins a new run; the first base that is stated belongs to what stated none before
    SELECT
        *,
        previous_place IS NOT NULL
        AND (base IS DISTINCT FROM previous_base)
        AND NOT (previous_base IS NULL AND base.base_period IS NULL) AS changed
    FROM with_previous
),

runs AS (
    SELECT
        *,
        min(CASE WHEN changed THEN place END) OVER (
            PARTITION BY {{ series }} ORDER BY place
            ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING
        ) AS next_run
    FROM changes
),

restored AS (
    -- of a table that is shown as it is now only what changes is stored: when a series is on a base
    -- again, what was shown on it before counts again
    SELECT numbered.* REPLACE (runs.place AS place)
    FROM numbered
    JOIN runs ON runs.changed AND runs.base = numbered.stated AND {{ series_of_run }}
    WHERE numbered.publication = $as_shown AND numbered.place < runs.place
    QUALIFY row_number() OVER (
        PARTITION BY numbered.figure, numbered.figure_check, runs.place
        ORDER BY numbered.place DESC
    ) = 1
),

counted AS (
    SELECT *, FALSE AS is_restored FROM numbered
    UNION ALL
    SELECT *, TRUE AS is_restored
    FROM restored
    ANTI JOIN numbered USING (figure, figure_check, place)
),

periods AS (
    -- the figure of each period in each publication
    SELECT {{ series }}, period_start, period_end, place, figure, figure_check
    FROM counted
    QUALIFY row_number() OVER (
        PARTITION BY {{ series }}, period_start, period_end, place
        ORDER BY
            stated IS NULL, observed_at DESC, load_seq DESC, document, unit, base_period
    ) = 1
),

period_changes AS (
    SELECT
        *,
        (figure, figure_check) <> lag((figure, figure_check)) OVER (
            PARTITION BY {{ series }}, period_start, period_end ORDER BY place
        ) AS changed
    FROM periods
),

period_runs AS (
    -- and the publication that states another one
    SELECT
        *,
        min(CASE WHEN changed THEN place END) OVER (
            PARTITION BY {{ series }}, period_start, period_end ORDER BY place
            ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING
        ) AS next_change
    FROM period_changes
),

on_base AS (
    -- a value that states no base has that of its series, unless that has a period
    SELECT
        numbered.*, runs.base, runs.next_run,
        coalesce(
            numbered.stated,
            CASE
                WHEN runs.last_stated.base_period IS NULL THEN runs.last_stated
                ELSE {{ not_stated }}
            END
        ) AS own_base
    FROM counted AS numbered
    JOIN runs ON runs.place = numbered.place AND {{ series_of_run }}
),

ended AS (
    -- the publication from which a value no longer counts: its own if that states another base
    SELECT
        on_base.*,
        least(
            CASE WHEN own_base IS DISTINCT FROM base THEN on_base.place ELSE next_run END,
            CASE
                WHEN
                    (on_base.figure, on_base.figure_check)
                    <> (period_runs.figure, period_runs.figure_check)
                    THEN on_base.place
                ELSE next_change
            END
        ) AS end_place
    FROM on_base
    JOIN period_runs
        ON period_runs.place = on_base.place
        AND {{ series_of_period }}
        AND period_runs.period_start = on_base.period_start
        AND period_runs.period_end = on_base.period_end
),

added AS (
    SELECT *, TRUE AS is_end, end_place AS added_place FROM ended
    UNION ALL
    SELECT *, FALSE AS is_end, place AS added_place FROM ended WHERE is_restored
)

SELECT
    {{ kept }}, {{ of_replacing }},
    publications.publication || CASE WHEN is_end THEN $suffix ELSE '' END AS publication
FROM added AS ended
JOIN publications ON publications.place = ended.added_place AND {{ series_of_end }}
-- one for each figure and end, from whichever of its values comes first
QUALIFY row_number() OVER (
    PARTITION BY ended.figure, ended.figure_check, added_place, is_end
    ORDER BY ended.place, ended.load_seq, ended.source_ref
) = 1;
