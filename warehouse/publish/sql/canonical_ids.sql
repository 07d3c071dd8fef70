-- One organisation, one id: every service_id becomes the canonical one.
--
-- same_as says which ids are joined, and with which of them an organisation is named. If an
-- organisation has the same figure under two of its ids, their publications become vintages of one
-- figure, in the order in which they were known.
--
-- Inputs: same_as; the stored rows of figures or filings (rows), a register (register)
-- Outputs: merged_figures (a table for each, merged); rewritten, canonical_register (queries)

-- name: merged_figures
-- Figures, or filings, that are one, and the one into which they are merged: that of the canonical
-- id.
CREATE OR REPLACE TABLE {{ merged }} AS
WITH ids AS (
    SELECT DISTINCT service_id
    FROM {{ rows }}
),

several AS (
    -- organisations that have figures under several ids
    SELECT ids.service_id, coalesce(same_as, ids.service_id) AS organisation
    FROM ids
    LEFT JOIN same_as USING (service_id)
    QUALIFY count(*) OVER (PARTITION BY organisation) > 1
),

figures AS (
    SELECT DISTINCT organisation, several.service_id, figure, figure_check, {{ identity }}
    FROM {{ rows }} AS stored
    JOIN several ON several.service_id = stored.service_id
)

SELECT
    figure, figure_check,
    first_value(figure) OVER same_figure AS into_figure,
    first_value(figure_check) OVER same_figure AS into_check
FROM figures
WINDOW
    same_figure AS (
        PARTITION BY organisation, {{ identity }}
        ORDER BY service_id <> organisation, service_id, figure, figure_check
    )
QUALIFY count(*) OVER (PARTITION BY organisation, {{ identity }}) > 1;

-- name: rewritten
-- The stored rows under canonical ids. A row's id stays the one under which it was stored, so that
-- references to it stay valid.
SELECT
    stored.* REPLACE (coalesce(canonical.same_as, stored.service_id) AS service_id),
    CAST(NULL AS VARCHAR) AS stored_row_id
FROM {{ rows }} AS stored
LEFT JOIN same_as AS canonical ON canonical.service_id = stored.service_id
ANTI JOIN {{ merged }} AS merged
    ON merged.figure = stored.figure
    AND merged.figure_check = stored.figure_check
UNION ALL BY NAME
SELECT
    stored.* REPLACE (
        coalesce(canonical.same_as, stored.service_id) AS service_id,
        merged.into_figure AS figure,
        merged.into_check AS figure_check,
        -- two ids may state a figure in one publication, which is then one sighting, read twice
        CAST(hash(merged.into_figure, merged.into_check, stored.publication) >> 1 AS BIGINT)
            AS sighting,
        TRUE AS again
    ),
    {{ row_id }} AS stored_row_id
FROM {{ rows }} AS stored
LEFT JOIN same_as AS canonical ON canonical.service_id = stored.service_id
JOIN {{ merged }} AS merged
    ON merged.figure = stored.figure
    AND merged.figure_check = stored.figure_check
-- one document that states it for both is read once
QUALIFY row_number() OVER (
    PARTITION BY
        merged.into_figure, merged.into_check, stored.publication, stored.available_at,
        stored.document, stored.observed_at, stored.load_seq
    ORDER BY
        stored.service_id <> canonical.same_as NULLS FIRST, stored.service_id, stored.content
) = 1;

-- name: canonical_register
-- A register under canonical ids; alias is the id under which a row was stored.
SELECT
    stored.* REPLACE (coalesce(canonical.same_as, stored.service_id) AS service_id),
    canonical.service_id AS alias, canonical.match_method
FROM {{ register }} AS stored
LEFT JOIN same_as AS canonical ON canonical.service_id = stored.service_id;
