-- Objects that rows share are stored once in a file: in the order of their owners, those of the
-- newest years first. They are cut out as text, since DuckDB's JSON functions read a number as a
-- double; no quote stands unescaped inside a string, so that the separator is one.
--
-- Inputs: mart_rows, the rows of several files, each with its file_key
-- Outputs: placed, pieces, objects, numbers (tables); referring (a view: rows with the numbers
--   of their objects); bodies (a query)

-- name: placed
CREATE TEMP TABLE placed AS SELECT *, row_number() OVER () AS place FROM mart_rows;

-- name: pieces
CREATE TEMP TABLE pieces AS
SELECT
    place, file_key, organisation, period_end, unnest(texts) AS object,
    generate_subscripts(texts, 1) AS position
FROM (
    SELECT
        place, file_key, organisation, period_end,
        string_split(CAST({{ member }} AS VARCHAR)[{{ begins }}:-3], {{ separator }}) AS texts
    FROM placed
    WHERE CAST({{ member }} AS VARCHAR) <> '[]'
);

-- name: objects
CREATE TEMP TABLE objects AS
SELECT
    file_key, organisation, object,
    row_number() OVER (PARTITION BY file_key ORDER BY organisation, newest DESC, object) AS number
FROM (SELECT file_key, organisation, object, max(period_end) AS newest FROM pieces GROUP BY ALL);

-- name: numbers
CREATE TEMP TABLE numbers AS
SELECT place, '[' || string_agg(number, ',' ORDER BY position) || ']' AS numbers
FROM pieces
INNER JOIN objects USING (file_key, organisation, object)
GROUP BY place;

-- name: referring
CREATE TEMP VIEW referring AS
SELECT placed.* EXCLUDE (place) REPLACE (CAST(coalesce(numbers, '[]') AS JSON) AS {{ member }})
FROM placed
LEFT JOIN numbers USING (place);

-- name: bodies
SELECT file_key, concat({{ beginning }}, object, '}') AS row
FROM objects
ORDER BY file_key, number;
