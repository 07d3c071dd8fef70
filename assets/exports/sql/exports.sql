-- Rows of bulk files that are more than those of a table, and the delta between two versions.
--
-- Inputs: tender_releases, tender_parties, party_matches, stated_awards, tender_vintages; files
-- Outputs: parties, awards, tender_facts, organisations, delta, changes (queries)

-- name: parties
-- Only parties that are established to be organisations: a withheld party is in no file. The
-- organisation is the one the data_version resolved, whatever the as_of; party_id is as served.
SELECT *, {{ id_of_party }} AS party_id
FROM (
    SELECT party.*, matched.service_id, matched.match_method
    FROM tender_parties AS party
    LEFT JOIN party_matches AS matched ON {{ same_party }}
    WHERE party.name IS NOT NULL AND party.org_evidence IS NOT NULL
);

-- name: awards
-- Each award as each release states it. A supplier is resolved like the party of that name in the
-- same release; if parties of one name are two organisations, it is resolved to neither. Nearly
-- every award names one supplier, so only awards with several go through the costly list
-- aggregation.
WITH organisations AS (
    SELECT source, ocid, release_id, name, min(service_id) AS service_id
    FROM ({{ parties }})
    WHERE service_id IS NOT NULL
    GROUP BY source, ocid, release_id, name
    HAVING min(service_id) = max(service_id)
),

awards AS (
    SELECT
        {{ of_release }}, released.row_id, award_index,
        stated_id AS award_id, awarded_on AS award_date, award.status AS award_status,
        stated_amount AS amount, stated_currency AS currency,
        is_implausible AS amount_implausible,
        -- withheld suppliers have no name
        list_filter(supplier_names, LAMBDA supplier: supplier IS NOT NULL) AS suppliers,
        CASE len(suppliers) WHEN 1 THEN suppliers[1] END AS supplier_name
    FROM stated_awards AS award
    INNER JOIN tender_releases AS released ON released.row_id = award.row_id
),

joint_suppliers AS (
    SELECT
        row_id, award_index, source, ocid, release_id,
        unnest(suppliers) AS name, unnest(range(len(suppliers))) AS supplier_index
    FROM awards
    WHERE len(suppliers) > 1
),

joint_awards AS (
    SELECT row_id, award_index, list(service_id ORDER BY supplier_index) AS service_ids
    FROM joint_suppliers
    LEFT JOIN organisations USING (source, ocid, release_id, name)
    GROUP BY row_id, award_index
)

SELECT
    award.*,
    concat_ws('-', award.row_id, award.award_index) AS award_row_id,
    sole.service_id,
    CASE len(suppliers)
        WHEN 0 THEN []
        WHEN 1 THEN [sole.service_id]
        ELSE joint_awards.service_ids
    END AS supplier_service_ids
FROM awards AS award
LEFT JOIN organisations AS sole
    ON
    sole.source = award.source
    AND sole.ocid = award.ocid
    AND sole.release_id = award.release_id
    AND sole.name = award.supplier_name
LEFT JOIN joint_awards
    ON joint_awards.row_id = award.row_id AND joint_awards.award_index = award.award_index;

-- name: tender_facts
-- One row per process and measure in each vintage, as /v1/shared/facts serves them: the value of a
-- process, and what an organisation won by an award.
SELECT *, 'tender_value' AS measure FROM tender_vintages
UNION ALL BY NAME
SELECT *, 'award_value' AS measure FROM ({{ named_awards }});

-- name: organisations
-- The record of each organisation; names and listings as JSON. Only the mart has alpha-3 codes.
WITH countries AS ( -- noqa: ST03
    SELECT CAST(NULL AS VARCHAR) AS country, CAST(NULL AS VARCHAR) AS country_iso3
)

SELECT
    * REPLACE (
        CAST(other_names AS VARCHAR) AS other_names,
        CAST(former_names AS VARCHAR) AS former_names,
        CAST(trading_names AS VARCHAR) AS trading_names,
        CAST(to_json(listings) AS VARCHAR) AS listings
    )
FROM ({{ organisations }});

-- name: delta
-- The rows of a file that are new or changed, and the ids of those that are gone. Rows are compared
-- by a hash of all their columns, which is far smaller than the rows.
WITH changed AS (
    SELECT coalesce(newer.id, older.id) AS id, newer.id IS NULL AS is_removed
    FROM (SELECT {{ id }} AS id, hash({{ names }}) AS row_hash FROM {{ newer }}) AS newer
    FULL JOIN
        (SELECT {{ id }} AS id, hash({{ names }}) AS row_hash FROM {{ older }}) AS older
        ON newer.id = older.id
    WHERE newer.row_hash IS DISTINCT FROM older.row_hash
),

put AS (
    SELECT * FROM {{ newer }}
    WHERE {{ id }} IN (SELECT id FROM changed WHERE NOT is_removed)
)

SELECT 'put' AS change, {{ names }} FROM put
UNION ALL BY NAME
SELECT 'removed' AS change, id AS {{ id }} FROM changed
WHERE is_removed
ORDER BY {{ sort }};

-- name: changes
-- How many vintages of a file are new since the version before, and how many of that are gone.
WITH vintages AS (
    SELECT {{ id }} AS id, vintage, withdrawn FROM {{ newer }}
),

vintages_before AS (
    SELECT {{ id }} AS id FROM {{ older }}
),

gone AS (
    FROM vintages_before ANTI JOIN vintages USING (id)
)

SELECT
    count(*) FILTER (vintage = 1 AND NOT withdrawn) AS added,
    count(*) FILTER (vintage > 1 AND NOT withdrawn) AS restated,
    count(*) FILTER (withdrawn) AS withdrawn,
    (SELECT count(*) FROM gone) AS removed
FROM vintages ANTI JOIN vintages_before USING (id);
