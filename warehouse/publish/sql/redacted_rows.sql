-- Rows that contain a withheld name: which they are, and the table with them in their new form.
--
-- stored is the relation of the stored rows of a table, scope the columns that say which rows a
-- name concerns, columns those to read, plain the texts of a row without accents and capitals, also
-- a further condition, redacted the relation of the rows without names, replaced the columns that
-- are taken from it, same_reading the condition that a row of fixed is a stored one.
--
-- Inputs: withheld_words, withheld_keys, releases_withholding, stored rows of a table
-- Outputs: contains_any (macro); rows of replaced_rows; rows_with_names, with_redacted (queries)

-- name: contains_any
-- Whether a text contains one of some words.
CREATE OR REPLACE MACRO contains_any(given, words) AS
0 < len(
    list_filter(words, lambda word: contains(given, word)) -- noqa: CP01
);

-- name: rows_with_names
-- Rows that have a word of a name that concerns them. Every row with a name has one.
SELECT {{ columns }}
FROM (
    SELECT
        stored.*, coalesce(withheld_words.words, []) || $everywhere AS search_words,
        coalesce(withheld_words.short_words, []) || $everywhere_short AS short_words,
        {{ plain }} AS plain_text
    FROM {{ stored }} AS stored
    LEFT JOIN withheld_words USING ({{ scope }})
)
WHERE
    ({{ also }})
    OR (
        len(search_words) > 0
        AND (
            contains_any(plain_text, search_words)
            -- short words may be written letter by letter
            OR contains_any(
                regexp_replace(plain_text, '(\\[nrt]|[^\p{L}\p{N}])+', '', 'g'), short_words
            )
            -- escapes, ligatures, and letters in other forms, which only Python reads
            OR regexp_matches(
                plain_text, '\\u|[ſẞ\x{FB00}-\x{FB06}\x{FF01}-\x{FF5E}\x{1D400}-\x{1D7FF}]'
            )
        )
    );

-- name: list_replaced
-- They are counted with what is left out. Their own addresses may be what has the name.
INSERT INTO replaced_rows BY NAME
SELECT
    '{{ table_name }}' AS table_name, fixed.rule, stored.source,
    fixed.source_ref, stored.row_id, stored.figure, {{ stored_row }}
FROM (SELECT *, {{ row_ids }} FROM {{ stored }}) AS stored
JOIN (SELECT DISTINCT {{ stored_row }}, source_ref, rule FROM {{ redacted }}) AS fixed
    USING ({{ stored_row }});

-- name: with_redacted
-- All stored rows, those that contain a name in their new form.
SELECT stored.* REPLACE ({{ replaced }})
FROM {{ stored }} AS stored
LEFT JOIN (
    -- a row that is stored twice must not become four
    SELECT DISTINCT *
    FROM {{ redacted }}
) AS fixed ON {{ same_reading }};
