-- The second reader: the rules of RULES.md as one query over the JSON files, written without the
-- first reader. Tables: file (kind, path, series), measure (element, measure), question.
CREATE OR REPLACE TEMP TABLE moment AS
SELECT adsh AS publication, strftime(CAST(accepted AS TIMESTAMP), '%Y-%m-%d %H:%M') AS accepted
FROM acceptance;

CREATE OR REPLACE TEMP TABLE statement AS
-- Company facts: taxonomy, element and unit are the keys of objects.
WITH taxonomies AS (
    SELECT cik, unnest(map_entries(facts)) AS taxonomy FROM companyfacts
),

stated_elements AS (
    SELECT cik, taxonomy.key AS taxonomy_name, unnest(map_entries(taxonomy.value)) AS stated
    FROM taxonomies
),

measured AS (
    SELECT
        stated_elements.cik,
        stated_elements.taxonomy_name || ':' || stated_elements.stated.key AS element,
        -- Other elements state no measure, and make public what they state.
        coalesce(measure.measure, '') AS measure,
        unnest(map_entries(stated_elements.stated.value.units)) AS by_unit
    FROM stated_elements
    LEFT JOIN measure
        ON measure.element = stated_elements.taxonomy_name || ':' || stated_elements.stated.key
),

lines AS (
    SELECT cik, element, measure, by_unit.key AS unit, unnest(by_unit.value) AS line
    FROM measured
    WHERE regexp_matches(by_unit.key, '^[A-Z]{3}(/|$)')
)

SELECT
    'filings' AS track,
    CAST(CAST(cik AS BIGINT) AS VARCHAR) AS subject,
    measure,
    left(unit, 3) AS currency,
    coalesce(line."start", '') AS start_day,
    line."end" AS end_day,
    element,
    nullif(line.filed, '') AS filed,
    moment.accepted,
    CAST(line.val AS DECIMAL(38, 18)) AS amount
FROM lines
LEFT JOIN moment ON moment.publication = line.accn
UNION ALL
SELECT
    'series', series, 'value', '', '', observation.date, series, observation.realtime_start, NULL,
    TRY_CAST(observation.value AS DECIMAL(38, 18))
FROM (SELECT series, unnest(observations) AS observation FROM alfred)
UNION ALL
-- No value of the World Bank has a day on which it was published.
SELECT
    'indicators', subject, 'value', '', '', observation.date || '-12-31', subject, NULL, NULL,
    CAST(observation.value AS DECIMAL(38, 18))
FROM (
    SELECT observation, observation.country.id || '/' || observation.indicator.id AS subject
    FROM worldbank
)
WHERE observation.value IS NOT NULL;

-- Each statement with each question about its period, and whether it was public by then.
WITH of_period AS (
    SELECT
        question.id,
        question.kind,
        statement.measure = question.measure AS is_of_figure,
        statement.element,
        statement.filed,
        statement.amount,
        coalesce(
            statement.filed < question.as_of
            OR (
                statement.filed = question.as_of
                AND (question.moment = 'end' OR statement.accepted < question.as_of || ' 16:00')
            ),
            FALSE
        ) AS was_public
    FROM question
    INNER JOIN statement USING (track, subject, currency, start_day, end_day)
),

public AS (
    SELECT id, list(DISTINCT amount) FILTER (WHERE was_public AND amount IS NOT NULL) AS amounts
    FROM of_period
    GROUP BY id
),

considered AS (
    SELECT * FROM of_period
    WHERE is_of_figure
),

ranked AS (
    SELECT
        *,
        -- The newest day of each element, or the first day of all of them.
        was_public AND CASE kind
            WHEN 'first' THEN filed = min(filed) FILTER (WHERE was_public) OVER (PARTITION BY id)
            ELSE filed = max(filed) FILTER (WHERE was_public) OVER (PARTITION BY id, element)
        END AS decides
    FROM considered
)

SELECT
    ranked.id,
    list(DISTINCT amount) FILTER (WHERE decides AND amount IS NOT NULL) AS accepted,
    list(DISTINCT amount) FILTER (WHERE was_public AND amount IS NOT NULL) AS known,
    any_value(public.amounts) AS public,
    list(DISTINCT amount) FILTER (WHERE NOT was_public AND amount IS NOT NULL) AS later
FROM ranked
INNER JOIN public ON public.id = ranked.id
GROUP BY ranked.id;
