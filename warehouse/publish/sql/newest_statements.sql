-- Statements as a whole: for each statement of a period, all lines from the newest publication that
-- has it.
--
-- The latest vintages of single lines may come from different publications: a later statement of
-- changes restates equity while the assets of that day are never printed again. Lines of one
-- publication add up.
--
-- A publication has a statement as a whole if it states its main line; one that only mentions other
-- lines counts as long as none is whole. What was edited silently counts as it was on the day, and
-- a publication without a day of its own is left out.
--
-- Inputs: fundamentals, statements
-- Outputs: newest_statements (query)

-- name: newest_statements
WITH figures AS (
    SELECT
        figure, figure_check, service_id, basis, statement, period_start, period_end,
        line_item IN ({{ main_lines }}) AS is_main
    FROM fundamentals
    WHERE vintage = 1
),

stated AS (
    -- each reading, until the day from which the same publication was read otherwise
    SELECT
        statements.*,
        lead(available_at) OVER (
            PARTITION BY figure, figure_check, publication ORDER BY available_at
        ) AS edited_at
    FROM statements
    -- of what only looks like a restatement, a rounding adds up with the others
    WHERE available_at IS NOT NULL AND coalesce(apparent_restatement, 'rounding') = 'rounding'
),

publications AS (
    SELECT
        figures.service_id, basis, statement, period_start, period_end, publication,
        min(available_at) AS stated_from,
        min(available_at) FILTER (is_main AND NOT withdrawn) AS whole_from,
        -- withdrawn with the last of its lines
        CASE
            WHEN bool_and(withdrawn) FILTER (edited_at IS NULL) THEN max(available_at)
        END AS withdrawn_at
    FROM stated
    JOIN figures USING (figure, figure_check)
    GROUP BY ALL
),

candidates AS (
    SELECT *, stated_from AS known_from, FALSE AS is_whole FROM publications
    UNION ALL
    SELECT *, whole_from, TRUE FROM publications
    WHERE whole_from IS NOT NULL
),

days AS (
    SELECT service_id, basis, statement, period_start, period_end, known_from AS day
    FROM candidates
    UNION
    SELECT service_id, basis, statement, period_start, period_end, withdrawn_at
    FROM publications
    WHERE withdrawn_at IS NOT NULL
),

newest AS (
    -- on each day on which that can change; none once all are withdrawn
    SELECT
        days.*,
        arg_max(
            candidates.publication,
            { 'whole': is_whole, 'day': stated_from, 'publication': candidates.publication }
        ) AS publication
    FROM days
    LEFT JOIN candidates
        ON candidates.service_id = days.service_id
        AND candidates.basis = days.basis
        AND candidates.statement = days.statement
        AND candidates.period_start IS NOT DISTINCT FROM days.period_start
        AND candidates.period_end = days.period_end
        AND candidates.known_from <= days.day
        AND (candidates.withdrawn_at IS NULL OR candidates.withdrawn_at > days.day)
    GROUP BY ALL
),

turns AS (
    -- the days on which another publication becomes the newest
    SELECT * FROM newest
    QUALIFY publication IS DISTINCT FROM lag(publication, 1, '') OVER (
        PARTITION BY service_id, basis, statement, period_start, period_end ORDER BY day
    )
),

spans AS (
    SELECT
        *,
        lead(day) OVER (
            PARTITION BY service_id, basis, statement, period_start, period_end ORDER BY day
        ) AS until
    FROM turns
),

shown AS (
    SELECT
        stated.*,
        greatest(stated.available_at, spans.day) AS shown_from,
        least(stated.edited_at, spans.until) AS shown_until
    FROM spans
    JOIN figures
        ON figures.service_id = spans.service_id
        AND figures.basis = spans.basis
        AND figures.statement = spans.statement
        AND figures.period_start IS NOT DISTINCT FROM spans.period_start
        AND figures.period_end = spans.period_end
    JOIN stated
        ON stated.figure = figures.figure
        AND stated.figure_check = figures.figure_check
        AND stated.publication = spans.publication
        AND NOT stated.withdrawn
)

-- A row has the number and the kind of the vintage that its publication repeats or adds.
SELECT
    vintages.* REPLACE (
        shown.shown_from AS available_at, shown.shown_until AS superseded_at,
        shown.shown_until IS NULL AS latest, FALSE AS withdrawn, {{ replaced_columns }}
    )
FROM shown
ASOF JOIN (
    SELECT *
    FROM fundamentals
    WHERE NOT withdrawn AND available_at IS NOT NULL
) AS vintages
    ON vintages.figure = shown.figure
    AND vintages.figure_check = shown.figure_check
    AND (vintages.available_at, vintages.publication) <= (shown.available_at, shown.publication)
WHERE shown.shown_until IS NULL OR shown.shown_from < shown.shown_until;
