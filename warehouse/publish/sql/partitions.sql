-- In which partition the stored rows are: a query for each subject, by what decides about it.
--
-- Inputs: the stored rows of a table (rows), of releases and parties; same_as
-- Outputs: path_name (macro); countries, processes (tables); registers, macro, issuers, tenders
--   (queries)

-- name: path_name
-- A source or a country as a part of paths; no such name has a dot.
CREATE OR REPLACE TEMP MACRO path_name(text) AS
CASE
    WHEN regexp_full_match(text, '[A-Za-z0-9_-]+') THEN text
    ELSE concat('x', left(md5(text), 12))
END;

-- name: countries
-- The country of each source of tenders. Sources that have a country in common are in one, and a
-- source that changed its country is in one with both: no reading of a release may be apart from
-- the others. It is called by the first of all countries that a source is connected with.
CREATE OR REPLACE TEMP TABLE countries AS
WITH RECURSIVE pairs AS (
    SELECT source, coalesce(country, '') AS country FROM {{ releases }}
    UNION
    SELECT source, coalesce(country, '') FROM {{ parties }}
),

connected AS (
    SELECT source, country FROM pairs
    UNION
    SELECT connected.source, further.country
    FROM connected
    JOIN pairs AS common ON common.country = connected.country
    JOIN pairs AS further ON further.source = common.source
)

SELECT source, path_name(min(country)) AS country
FROM connected
GROUP BY source;

-- name: processes
-- Each process with its generation, and into how many buckets the load in which it came first is
-- divided. Whichever portal of a country is read, an ocid is that of one process. Both follow from
-- how many processes came before and with the load: later loads change neither. What is new is in
-- the last generation, and the partitions before it stay as they are. A generation ends once it has
-- half of the processes of a partition, so that a night costs little.
CREATE OR REPLACE TEMP TABLE processes AS
WITH first_seen AS (
    SELECT countries.country, ocid, min(load_seq) AS first_load
    FROM {{ releases }} AS released
    JOIN countries USING (source)
    GROUP BY ALL
),

counted AS (
    SELECT country, first_load, count(*) AS new
    FROM first_seen
    GROUP BY ALL
),

loads AS (
    SELECT
        country, first_load,
        (sum(new) OVER (PARTITION BY country ORDER BY first_load) - new) // ({{ size }} // 2)
            AS generation,
        -- a power of two, as buckets of organisations
        list_min(
            list_filter(
                list_transform(range(17), LAMBDA power: 1 << power),
                LAMBDA buckets: buckets * {{ size }} >= new OR buckets = {{ most }}
            )
        ) AS buckets
    FROM counted
)

SELECT country, ocid, generation, buckets
FROM first_seen
JOIN loads USING (country, first_load);

-- name: registers
SELECT DISTINCT source, 'all' AS partition FROM {{ rows }};

-- name: macro
SELECT DISTINCT source, path_name(source) AS partition FROM {{ rows }};

-- name: issuers
-- The bucket of each organisation, by its canonical id.
SELECT
    ids.service_id, {{ bucket }} AS partition
FROM (SELECT DISTINCT service_id FROM {{ rows }}) AS ids
LEFT JOIN {{ same_as }} AS canonical USING (service_id);

-- name: tenders
-- The partition of each process. One that only parties name counts as one of the first load.
SELECT
    named.source, named.ocid,
    printf(
        '%s.%06d-%03d-%03d', countries.country, coalesce(generation, 0), coalesce(buckets, 1),
        {{ cell }} % coalesce(buckets, 1)
    ) AS partition
FROM (SELECT DISTINCT source, ocid FROM {{ rows }}) AS named
JOIN countries USING (source)
LEFT JOIN processes ON processes.country = countries.country AND processes.ocid = named.ocid;
