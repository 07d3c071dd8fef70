-- Single quarters, half-years and trailing twelve months from what issuers state of longer periods.
--
-- A difference is a year to date less a shorter one with the same first day. A trailing year is the
-- year to date, less the same months of the year before, with that whole year. All days join, and
-- nothing is derived over a gap. A flow is a line with its unit and basis.
--
-- Inputs are compared only where their filings prove that they can be. Either one publication
-- states them all, by one element and in one purchasing power. Or those that brought them do, and
-- from the day of the first to that of the last no figure of the flow was restated, while who
-- published the last repeated an older figure of the flow unchanged. For each day only what was
-- known then counts.
--
-- Inputs: fundamentals, statements
-- Outputs: spells, flows, readings, flow_days, every_set, sets, set_inputs, known, judged, missing,
--   turns, cited (tables); derived_figures (query)

-- name: length_in_quarters
-- How many quarters a period of so many days is; null if it is none of them.
CREATE OR REPLACE TEMP MACRO length_in_quarters(days) AS
CASE
    WHEN days BETWEEN {{ shortest_year }} AND {{ longest_year }} THEN 4
    WHEN days BETWEEN 260 AND 280 THEN 3
    WHEN days BETWEEN 170 AND 190 THEN 2
    WHEN days BETWEEN 80 AND 100 THEN 1
END;

-- name: flows
-- Figures of periods of such lengths, named as their first publication names them.
CREATE OR REPLACE TEMP TABLE flows AS
SELECT
    row_number() OVER (ORDER BY figure, figure_check) AS figure_no,
    dense_rank() OVER (ORDER BY service_id, unit, basis, line_item) AS flow_no,
    length_in_quarters(period_end - period_start + 1) AS quarters, *
FROM (
    SELECT
        figure, figure_check, service_id, unit, basis, line_item, period_start, period_end,
        arg_min(statement, vintage) AS statement, arg_min(period_type, vintage) AS period_type,
        arg_min(fiscal_label, vintage) AS fiscal_label,
        min(available_at) FILTER (NOT withdrawn AND value_reported IS NOT NULL) AS first_at
    FROM fundamentals
    WHERE
        statement <> 'balance' AND period_start IS NOT NULL AND available_at IS NOT NULL
        -- other units are per share, or translations for convenience
        AND unit = currency_reported
    GROUP BY figure, figure_check, service_id, unit, basis, line_item, period_start, period_end
)
WHERE quarters IS NOT NULL AND first_at IS NOT NULL;

-- name: spells
-- Their vintages, each with the days on which it was the latest.
CREATE OR REPLACE TEMP TABLE spells AS
SELECT
    figure_no, vintage, row_id, flows.line_item, flows.period_start, flows.period_end,
    value_reported, element, measuring_unit_date, conflicts_with, publication, available_at,
    coalesce(superseded_at, DATE '9999-12-31') AS until,
    withdrawn OR value_reported IS NULL AS is_gone
FROM fundamentals
JOIN flows USING (figure, figure_check)
WHERE available_at IS NOT NULL;

-- name: readings
-- What each publication states of them, without what only looks like a restatement.
CREATE OR REPLACE TEMP TABLE readings AS
SELECT
    row_number() OVER (ORDER BY figure_no, publication, available_at, provenance_id) AS reading_no,
    figure_no, flow_no, publication, available_at, value_reported, element, measuring_unit_date,
    conflicts_with, source_ref, provenance_id, license_class, method, observed_at,
    extraction_confidence, document_id, form, document_url
FROM statements
JOIN flows USING (figure, figure_check)
WHERE
    available_at IS NOT NULL AND NOT withdrawn AND value_reported IS NOT NULL
    AND apparent_restatement IS NULL;

-- name: flow_days
-- The days on which a figure of a flow was restated or withdrawn, of whatever period, and those on
-- which a publication repeated one unchanged that an earlier day had brought. What only looks like
-- a restatement counts as one, unless it is rounded or translated.
CREATE OR REPLACE TEMP TABLE flow_days AS
SELECT flow_no, available_at AS day, TRUE AS is_restated
FROM fundamentals
JOIN (SELECT DISTINCT flow_no, service_id, unit, basis, line_item FROM flows) AS named
    USING (service_id, unit, basis, line_item)
WHERE vintage > 1
UNION
SELECT flow_no, available_at, TRUE
FROM statements
JOIN flows USING (figure, figure_check)
WHERE apparent_restatement IN ('sign', 'scale', 'element')
UNION
SELECT flow_no, readings.available_at, FALSE
FROM readings
JOIN spells
    ON spells.figure_no = readings.figure_no
    AND spells.available_at < readings.available_at
    AND spells.until > readings.available_at
WHERE
    spells.value_reported = readings.value_reported
    AND spells.element IS NOT DISTINCT FROM readings.element
    AND readings.conflicts_with IS NULL;

-- name: every_set
-- The figures that a period can be derived from: first - second, and + third. Two sets may give one
-- period, if the first day of a year was stated in two ways: then the one that was there first.
CREATE OR REPLACE TEMP TABLE every_set AS
WITH found AS (
    SELECT
        longer.flow_no, 'difference' AS derivation, longer.figure_no AS first_no,
        shorter.figure_no AS second_no, NULL AS third_no,
        shorter.period_end + 1 AS period_start, longer.period_end,
        longer.quarters - shorter.quarters AS quarters,
        greatest(longer.first_at, shorter.first_at) AS ready_at, longer.period_start AS from_day
    FROM flows AS longer
    JOIN flows AS shorter
        ON shorter.flow_no = longer.flow_no
        AND shorter.period_start = longer.period_start
        AND (
            shorter.quarters = longer.quarters - 1
            OR (longer.quarters = 4 AND shorter.quarters = 2)
        )
    UNION ALL
    SELECT
        latest.flow_no, 'trailing_year', latest.figure_no, before.figure_no AS second_no,
        year.figure_no AS third_no,
        before.period_end + 1, latest.period_end, 4,
        greatest(latest.first_at, before.first_at, year.first_at), year.period_start
    FROM flows AS latest
    JOIN flows AS year
        ON year.flow_no = latest.flow_no
        AND year.quarters = 4
        AND year.period_end = latest.period_start - 1
    JOIN flows AS before
        ON before.flow_no = latest.flow_no
        AND before.quarters = latest.quarters
        AND before.period_start = year.period_start
    WHERE latest.quarters < 4
)

SELECT
    row_number() OVER (ORDER BY first_no, found.period_start) AS set_no, found.*,
    stated.first_at AS stated_at
FROM found
LEFT JOIN flows AS stated
    ON stated.flow_no = found.flow_no
    AND stated.period_start = found.period_start
    AND stated.period_end = found.period_end
-- a quarter is no quarter if the days that remain are not
WHERE found.quarters = length_in_quarters(found.period_end - found.period_start + 1)
QUALIFY row_number() OVER (
    PARTITION BY found.flow_no, found.period_start, found.period_end ORDER BY ready_at, from_day
) = 1;

-- name: sets
-- What an issuer states is not derived: from that day on its own figure is the answer.
CREATE OR REPLACE TEMP TABLE sets AS
FROM every_set
WHERE stated_at IS NULL OR stated_at > ready_at;

-- name: set_inputs
-- The inputs of each set.
CREATE OR REPLACE TEMP TABLE set_inputs AS
SELECT set_no, input[1] AS figure_no, input[2] AS sign
FROM (
    SELECT
        set_no,
        unnest([row(first_no, 1), row(second_no, -1), row(third_no, 1)]) AS input
    FROM sets
)
WHERE input[1] IS NOT NULL;

-- name: known
-- The known value of each input, on every day on which anything was published about one of them.
CREATE OR REPLACE TEMP TABLE known AS
WITH days AS (
    SELECT set_no, available_at AS day FROM set_inputs JOIN readings USING (figure_no)
    UNION
    SELECT set_no, available_at FROM set_inputs JOIN spells USING (figure_no)
)

SELECT set_no, day, sign, spells.*
FROM days
JOIN sets USING (set_no)
JOIN set_inputs USING (set_no)
JOIN spells
    ON spells.figure_no = set_inputs.figure_no
    AND spells.available_at <= day
    AND spells.until > day
WHERE day >= ready_at AND (stated_at IS NULL OR stated_at > day);

-- name: judged
-- What follows from it: the value, or why there is none.
CREATE OR REPLACE TEMP TABLE judged AS
WITH in_one AS (
    -- the first publication that states all inputs with these values
    SELECT set_no, day, arg_min(publication, row(known_from, publication)) AS publication
    FROM (
        SELECT
            set_no, day, readings.publication, max(readings.available_at) AS known_from,
            count(DISTINCT known.figure_no) AS inputs
        FROM known
        JOIN readings
            ON readings.figure_no = known.figure_no
            AND readings.value_reported = known.value_reported
            AND readings.available_at <= known.day
        WHERE readings.conflicts_with IS NULL
        GROUP BY set_no, day, readings.publication
        HAVING
            count(DISTINCT coalesce(readings.element, '')) = 1
            AND count(DISTINCT coalesce(readings.measuring_unit_date, DATE '0001-01-01')) = 1
    )
    JOIN sets USING (set_no)
    WHERE inputs = CASE WHEN third_no IS NULL THEN 2 ELSE 3 END
    GROUP BY set_no, day
),

together AS (
    SELECT
        set_no, day, flow_no, list(vintage ORDER BY figure_no) AS vintages,
        -- the sum of larger values may be too large for a number of the table
        CASE
            WHEN max(abs(value_reported)) < 3e19
                THEN sum(sign * value_reported) FILTER (abs(value_reported) < 3e19)
        END AS value,
        -- what was paid by the end of the year is not less than what was paid by its third quarter:
        -- the two are not of one thing, whatever their element
        list_contains($one_sided, any_value(line_item)) AND min(value_reported) >= 0
            AS is_never_negative,
        bool_or(is_gone) AS is_gone,
        min(available_at) AS earliest, max(available_at) AS latest,
        count(DISTINCT coalesce(element, '')) = 1
        AND count(DISTINCT coalesce(measuring_unit_date, DATE '0001-01-01')) = 1
        AND count(conflicts_with) = 0 AS is_alike
    FROM known
    JOIN sets USING (set_no)
    GROUP BY set_no, day, flow_no
)

SELECT
    together.*, in_one.publication,
    CASE
        WHEN is_gone THEN 'input_not_reported'
        WHEN value IS NULL OR (value < 0 AND is_never_negative) THEN 'inputs_not_comparable'
        WHEN in_one.publication IS NOT NULL THEN NULL
        WHEN NOT is_alike THEN 'inputs_not_comparable'
        WHEN
            EXISTS (
                SELECT 1
                FROM flow_days
                WHERE
                    is_restated AND flow_days.flow_no = together.flow_no
                    AND flow_days.day > earliest AND flow_days.day <= latest
            )
            THEN 'restated_between'
        WHEN
            earliest < latest
            AND NOT EXISTS (
                SELECT 1
                FROM flow_days
                WHERE
                    NOT is_restated AND flow_days.flow_no = together.flow_no
                    AND flow_days.day = latest
            )
            THEN 'nothing_repeated'
    END AS reason
FROM together
LEFT JOIN in_one USING (set_no, day);

-- name: missing
-- Figures of a flow without the others of a period that is derived for other lines of the issuer,
-- until those are stated, or the period itself.
CREATE OR REPLACE TEMP TABLE missing AS
WITH windows AS (
    SELECT
        service_id, unit, basis, derivation, sets.period_start, sets.period_end, sets.quarters,
        flows.period_start AS from_day, min(ready_at) AS ready_at
    FROM sets
    JOIN flows ON figure_no = first_no
    GROUP BY ALL
)

SELECT
    flows.figure_no AS first_no, windows.derivation, windows.period_start, windows.period_end,
    windows.quarters, greatest(windows.ready_at, flows.first_at) AS day,
    least(every_set.ready_at, stated.first_at) AS until
FROM windows
JOIN flows
    ON flows.service_id = windows.service_id
    AND flows.unit = windows.unit
    AND flows.basis = windows.basis
    AND flows.period_start = windows.from_day
    AND flows.period_end = windows.period_end
LEFT JOIN every_set
    ON every_set.flow_no = flows.flow_no
    AND every_set.period_start = windows.period_start
    AND every_set.period_end = windows.period_end
LEFT JOIN flows AS stated
    ON stated.flow_no = flows.flow_no
    AND stated.period_start = windows.period_start
    AND stated.period_end = windows.period_end
WHERE until IS NULL OR until > day
QUALIFY row_number() OVER (
    PARTITION BY flows.flow_no, windows.period_start, windows.period_end
    ORDER BY day, windows.from_day
) = 1;

-- name: turns
-- The days on which the value, its inputs or the reason become another; vintage counts the values.
CREATE OR REPLACE TEMP TABLE turns AS
WITH changed AS (
    SELECT *
    FROM judged
    QUALIFY row(reason, vintages) IS DISTINCT FROM lag(row(reason, vintages)) OVER (
        PARTITION BY set_no ORDER BY day
    )
)

SELECT
    set_no, day, reason, value, publication, first_no, derivation, period_start, period_end,
    quarters,
    coalesce(lead(day) OVER (PARTITION BY set_no ORDER BY day), stated_at) AS until,
    count(*) FILTER (reason IS NULL) OVER (PARTITION BY set_no ORDER BY day) AS vintage
FROM changed
JOIN sets USING (set_no)
UNION ALL BY NAME
SELECT *, 'input_not_reported' AS reason, 0 AS vintage
FROM missing;

-- name: cited
-- The inputs of each value as they are served, like those of a metric: the fact is the vintage, the
-- source is the publication that states all of them, or else the one that brought the figure.
CREATE OR REPLACE TEMP TABLE cited AS
WITH stated AS (
    SELECT
        set_no, turns.day, sign, row_id, line_item, known.period_start, known.period_end,
        known.vintage, known.value_reported, known.available_at,
        turns.publication IS NOT NULL AS in_one,
        min_by(readings, reading_no) AS reading
    FROM (FROM turns WHERE reason IS NULL) AS turns
    JOIN known USING (set_no, day)
    JOIN readings
        ON readings.figure_no = known.figure_no
        AND readings.publication = coalesce(turns.publication, known.publication)
        AND readings.value_reported = known.value_reported
        AND readings.available_at <= turns.day
    GROUP BY ALL
)

SELECT
    set_no, day, any_value(in_one) AS in_one,
    -- of equal days the longest period decides
    arg_max(reading, row(reading.available_at, period_end, period_end - period_start)) AS newest,
    max(list_position($licences, reading.license_class)) AS license_rank,
    max(reading.observed_at) AS observed_at,
    concat(
        '[',
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
        ),
        ']'
    ) AS inputs
FROM stated
GROUP BY set_no, day;

-- name: derived_figures
-- The rows of derived_figures; one without a value says why there is none from that day on.
WITH named AS (
    SELECT
        turns.*, service_id, line_item, statement, unit, basis,
        CASE
            WHEN derivation = 'trailing_year' THEN 'TTM'
            WHEN flows.period_type = 'OTHER' THEN 'OTHER'
            WHEN turns.quarters = 2 THEN 'H2'
            -- the second quarter of a second half-year
            WHEN flows.period_type = 'H2' THEN 'Q4'
            ELSE concat('Q', flows.quarters)
        END AS period_type,
        regexp_extract(fiscal_label, 'FY[0-9]+') AS year, flows.quarters AS quarters_of_year
    FROM turns
    JOIN flows ON figure_no = first_no
)

SELECT
    md5(
        concat_ws(chr(31), service_id, line_item, unit, basis, period_start, period_end, named.day)
    ) AS row_id,
    service_id, line_item, statement, CASE WHEN reason IS NULL THEN value END AS value, unit,
    period_type, period_start, period_end,
    CASE
        WHEN year = '' OR period_type = 'OTHER' THEN NULL
        WHEN period_type = 'TTM' THEN concat('TTM Q', quarters_of_year, ' ', year)
        ELSE concat(period_type, ' ', year)
    END AS fiscal_label,
    basis, derivation, reason,
    CASE WHEN cited.in_one THEN 'one_publication' WHEN NOT cited.in_one THEN 'unrestated' END
        AS comparable_by,
    cited.inputs, vintage, named.day AS available_at, named.until AS superseded_at,
    named.until IS NULL AND reason IS NULL AS latest, reason IS NOT NULL AS withdrawn,
    coalesce($licences[cited.license_rank], shown.license_class) AS license_class, shown.source_ref,
    coalesce(cited.observed_at, shown.observed_at) AS observed_at, shown.method,
    shown.extraction_confidence, shown.provenance_id
FROM (
    -- what is absent has the source of its longest period
    SELECT named.*, cited, coalesce(newest, reading) AS shown
    FROM named
    JOIN (
        SELECT figure_no AS first_no, arg_min(readings, row(available_at, publication)) AS reading
        FROM readings
        GROUP BY figure_no
    ) USING (first_no)
    LEFT JOIN cited USING (set_no, day)
) AS named;
