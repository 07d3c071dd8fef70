-- The metrics of flows over the latest twelve months: a full year as stated, or a derived one.
--
-- The answer of a day is made from what was known on that day alone: the twelve months that end
-- last, in the book that states most of them when they appear first, and figures in the vintages
-- of the day. All figures of a metric come from the same publications: for each period that goes
-- into them, one publication states all lines with these values.
--
-- Inputs: fundamentals, statements, derived_figures; valued, which Python makes, for the absences
-- Outputs: amounts, components, windows, turns, needed, proven, outcomes, cited (tables);
--   input_facts, computable, absences (queries)

-- name: amounts
-- Every twelve months of a line in each vintage, with the days on which it was the answer.
CREATE OR REPLACE TEMP TABLE amounts AS
SELECT row_number() OVER (ORDER BY row_id) AS amount_no, *
FROM (
    SELECT
        row_id, service_id, line_item, unit, basis, period_start, period_end,
        value_reported AS value, available_at AS day,
        coalesce(superseded_at, DATE '9999-12-31') AS until,
        'FY' AS period_type, period_type = 'FY' AS is_year_or_derived,
        CASE
            WHEN withdrawn OR value_reported IS NULL THEN 'input_not_reported'
            WHEN conflicts_with IS NOT NULL THEN 'inputs_not_comparable'
        END AS reason,
        NULL AS inputs
    FROM fundamentals
    WHERE
        available_at IS NOT NULL
        -- other units are shares, ratios per share, or translations for convenience
        AND unit = currency_reported
        AND period_end - period_start + 1 BETWEEN $shortest_year AND $longest_year
    UNION ALL
    SELECT
        row_id, service_id, line_item, unit, basis, period_start, period_end, value,
        available_at, coalesce(superseded_at, DATE '9999-12-31'), 'TTM', TRUE,
        CASE
            WHEN reason = 'input_not_reported' THEN reason
            WHEN reason IS NOT NULL THEN 'inputs_not_comparable'
        END,
        inputs
    FROM derived_figures
    WHERE derivation = 'trailing_year'
)
WHERE line_item IN (SELECT unnest($needs).line_item);

-- name: components
-- The reported figures of each amount: one of a year that is stated, three of a derived one.
CREATE OR REPLACE TEMP TABLE components AS
SELECT
    amount_no, line_item, value, sign, facts.row_id, figure, figure_check, facts.period_start,
    facts.period_end, vintage, value_reported, available_at
FROM (
    SELECT amount_no, line_item, value, row_id, 1 AS sign
    FROM amounts
    WHERE reason IS NULL AND inputs IS NULL
    UNION ALL
    SELECT
        amount_no, line_item, value, input ->> 'fact_id', CAST(input ->> 'sign' AS INTEGER)
    FROM (
        SELECT amount_no, line_item, value, unnest(CAST(inputs AS JSON[])) AS input
        FROM amounts
        WHERE reason IS NULL AND inputs IS NOT NULL
    )
) AS amounts
JOIN (SELECT * EXCLUDE (line_item) FROM fundamentals) AS facts USING (row_id);

-- name: windows
-- The twelve months of an issuer that end last, from the day on which anything of them was known.
-- One of several books is chosen by what was known on that day. Twelve months that are neither a
-- year of the issuer nor derived say nothing about which are the latest.
CREATE OR REPLACE TEMP TABLE windows AS
WITH ends AS (
    SELECT
        service_id, period_end, min(day) AS known_from,
        min(min(day)) OVER (
            PARTITION BY service_id ORDER BY period_end
            ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING
        ) AS next_at
    FROM amounts
    WHERE is_year_or_derived
    GROUP BY service_id, period_end
)

SELECT
    row_number() OVER (ORDER BY service_id, period_end) AS window_no,
    service_id, period_end, known_from, coalesce(next_at, DATE '9999-12-31') AS next_at,
    unit, basis, period_start
FROM ends
JOIN amounts USING (service_id, period_end)
WHERE day <= known_from AND known_from < coalesce(next_at, DATE '9999-12-31')
GROUP BY service_id, period_end, known_from, next_at, unit, basis, period_start
QUALIFY row_number() OVER (
    PARTITION BY service_id, period_end
    ORDER BY
        starts_with(basis, 'consolidated') DESC, count(DISTINCT line_item) DESC,
        -- these are arbitrary but fixed: a rebuild must choose the same book
        unit, basis, period_start
) = 1;

-- name: turns
-- For each metric and twelve months the days on which the amounts become others: which they are,
-- or why there is no value.
CREATE OR REPLACE TEMP TABLE turns AS
WITH needs AS (
    SELECT unnest($needs, recursive := TRUE)
),

of_windows AS (
    SELECT window_no, known_from, next_at, amounts.*
    FROM windows
    JOIN amounts USING (service_id, unit, basis, period_start, period_end)
    WHERE day < next_at AND until > known_from
),

days AS (
    SELECT window_no, metric_no, known_from AS day FROM windows CROSS JOIN needs
    UNION
    SELECT window_no, metric_no, unnest([day, until])
    FROM of_windows
    JOIN needs USING (line_item)
),

of_days AS (
    SELECT
        window_no, metric_no, days.day,
        list(amount_no ORDER BY input_position) AS amount_nos,
        CASE
            WHEN
                count(amount_no) < count(*)
                OR count(*) FILTER (reason = 'input_not_reported') > 0
                THEN 'input_not_reported'
            WHEN count(reason) > 0 THEN 'inputs_not_comparable'
        END AS reason
    FROM days
    JOIN windows USING (window_no)
    JOIN needs USING (metric_no)
    LEFT JOIN of_windows
        ON of_windows.window_no = days.window_no
        AND of_windows.line_item = needs.line_item
        AND of_windows.day <= days.day
        AND of_windows.until > days.day
    WHERE days.day >= windows.known_from AND days.day < windows.next_at
    GROUP BY window_no, metric_no, days.day
),

changed AS (
    SELECT
        window_no, metric_no, day, reason,
        CASE WHEN reason IS NULL THEN amount_nos END AS amounts_used
    FROM of_days
    QUALIFY row(reason, amounts_used) IS DISTINCT FROM lag(row(reason, amounts_used)) OVER (
        PARTITION BY window_no, metric_no ORDER BY day
    )
)

SELECT
    row_number() OVER (ORDER BY window_no, metric_no, day) AS turn_no,
    window_no, metric_no, day, reason, amounts_used AS amount_nos,
    coalesce(lead(day) OVER (PARTITION BY window_no, metric_no ORDER BY day), next_at) AS until
FROM changed
JOIN windows USING (window_no);

-- name: needed
-- The reported figures that the amounts of each day need.
CREATE OR REPLACE TEMP TABLE needed AS
SELECT turn_no, until, position - 1 AS input_position, components.*
FROM (
    SELECT
        turn_no, until, unnest(amount_nos) AS amount_no,
        generate_subscripts(amount_nos, 1) AS position
    FROM turns
    WHERE reason IS NULL
)
JOIN components USING (amount_no);

-- name: proven
-- For each of their periods the first publication that states all lines with these values.
CREATE OR REPLACE TEMP TABLE proven AS
WITH stating AS (
    SELECT
        turn_no, needed.period_start, needed.period_end, publication,
        max(readings.available_at) AS day, count(DISTINCT input_position) AS lines
    FROM needed
    JOIN statements AS readings
        ON readings.figure = needed.figure
        AND readings.figure_check = needed.figure_check
        AND readings.value_reported = needed.value_reported
        AND readings.available_at < needed.until
    WHERE
        NOT readings.withdrawn AND readings.conflicts_with IS NULL
        AND readings.apparent_restatement IS NULL
    GROUP BY turn_no, needed.period_start, needed.period_end, publication
)

SELECT
    turn_no, period_start, period_end, min(stating.day) AS day,
    arg_min(publication, row(stating.day, publication)) AS publication
FROM stating
JOIN turns USING (turn_no)
WHERE lines = len(amount_nos)
GROUP BY turn_no, period_start, period_end;

-- name: outcomes
-- The values: from the day on which publications had stated all of it, until the amounts change.
CREATE OR REPLACE TEMP TABLE outcomes AS
SELECT
    turn_no AS year_end_no, metric_no, service_id, unit AS currency, basis, period_start,
    period_end, period_end - period_start + 1 AS days, known_from AS published_at,
    greatest(turns.day, ready_at) AS current_at, nullif(until, DATE '9999-12-31') AS next_at,
    (SELECT any_value(period_type) FROM amounts WHERE amount_no = amount_nos[1]) AS period_type,
    {{ input_columns }}
FROM (
    SELECT turn_no, max(day) AS ready_at
    FROM proven
    GROUP BY turn_no
    HAVING count(*) = (
        SELECT count(DISTINCT row(period_start, period_end))
        FROM needed
        WHERE needed.turn_no = proven.turn_no
    )
) AS ready
JOIN turns USING (turn_no)
JOIN windows USING (window_no)
WHERE greatest(turns.day, ready_at) < until;

-- name: cited
-- The amounts behind all values, each with its reported figures as they are served. The fact is the
-- vintage, the source is the publication that states the figures of its period together.
CREATE OR REPLACE TEMP TABLE cited AS
SELECT
    statement_no, any_value(value) AS value_reported, max(reading.available_at) AS stated_at,
    -- of equal days the longest period decides
    arg_max(reading, row(reading.available_at, period_end, period_end - period_start)) AS newest,
    max(reading.observed_at) AS observed_at,
    max(list_position($licences, reading.license_class)) - 1 AS license_rank,
    string_agg(
        concat(
            '{"sign":', sign,
            ',"fact_id":"', row_id,
            '","line_item":"', line_item,
            -- a number without the zeros that DECIMAL(38, 18) appends
            '","value":', rtrim(rtrim(CAST(value_reported AS VARCHAR), '0'), '.'),
            ',"period_start":"', period_start,
            '","period_end":"', period_end,
            '","vintage":', vintage,
            ',"available_at":"', available_at,
            '","document_id":', coalesce(to_json(reading.document_id), 'null'),
            ',"form":', coalesce(to_json(reading.form), 'null'),
            ',"document_url":', coalesce(to_json(reading.document_url), 'null'),
            ',"source_ref":', to_json(reading.source_ref),
            '}'
        ),
        ',' ORDER BY period_end DESC, period_start
    ) AS json
FROM (
    SELECT
        turn_no * $most_inputs + input_position AS statement_no, needed.*,
        min_by(readings, readings.provenance_id) AS reading
    FROM needed
    SEMI JOIN outcomes ON year_end_no = turn_no
    JOIN proven USING (turn_no, period_start, period_end)
    JOIN statements AS readings
        ON readings.figure = needed.figure
        AND readings.figure_check = needed.figure_check
        AND readings.publication = proven.publication
        AND readings.value_reported = needed.value_reported
    WHERE NOT readings.withdrawn AND readings.apparent_restatement IS NULL
    GROUP BY ALL
) AS stated
GROUP BY statement_no;

-- name: input_facts
-- The same, with the source of the figure that was published last.
SELECT
    * EXCLUDE (newest), newest.source_ref, newest.provenance_id, newest.method,
    newest.extraction_confidence
FROM cited;

-- name: computable
-- The values to compute, metric by metric.
SELECT *
FROM outcomes
ORDER BY metric_no, service_id, period_end, current_at;

-- name: absences
-- Why there is no value, for every other day since the issuer's first figure.
WITH first_figures AS (
    SELECT service_id, min(available_at) AS day, arg_min(period_end, available_at) AS period_end
    FROM fundamentals
    WHERE available_at IS NOT NULL AND NOT withdrawn AND value_reported IS NOT NULL
    GROUP BY service_id
),

metrics AS (
    SELECT DISTINCT unnest($needs).metric_no AS metric_no
),

intervals AS (
    SELECT
        metric_no, first_figures.service_id, first_figures.period_end, 'short_period' AS reason,
        first_figures.day AS holds_from, min(known_from) AS holds_until
    FROM first_figures
    CROSS JOIN metrics
    LEFT JOIN windows ON windows.service_id = first_figures.service_id
    GROUP BY ALL
    UNION ALL
    SELECT
        turns.metric_no, windows.service_id, windows.period_end,
        coalesce(reason, 'inputs_not_comparable'), day, least(coalesce(current_at, until), until)
    FROM turns
    JOIN windows USING (window_no)
    LEFT JOIN outcomes ON year_end_no = turn_no
    UNION ALL
    SELECT
        metric_no, service_id, period_end, 'denominator_not_positive', current_at, next_at
    FROM outcomes
    JOIN valued USING (year_end_no, metric_no)
    WHERE NOT condition_met
)

SELECT
    service_id, $slugs[metric_no + 1] AS metric, period_end, reason, holds_from,
    nullif(holds_until, DATE '9999-12-31') AS holds_until
FROM intervals
WHERE holds_until IS NULL OR holds_from < holds_until
ORDER BY service_id, metric, holds_from;
