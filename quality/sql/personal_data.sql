-- What Python judges for personal data, and the rows that fail: names of people, and contacts in
-- free text.
--
-- Whether a name is an organisation's cannot be said in SQL. Each distinct name is judged once, and
-- the rows that have it are found by it. A party without a country or a number must be found as
-- well: IS NOT DISTINCT FROM.
--
-- Inputs: tender_parties, tender_releases, entities, identifiers
-- Outputs: names_without_party, failing_parties, failing_entities, failing_releases,
--   failing_other_names, releases_with_contact (tables); parties, unvouched_entities,
--   other_names, release_names, releases_with_marks (queries)

-- name: parties
-- Every named party.
SELECT DISTINCT name, country, identifier_scheme, identifier_id
FROM tender_parties
WHERE name IS NOT NULL;

-- name: failing_parties
-- The rows of parties that are not established.
CREATE OR REPLACE TABLE failing_parties AS
SELECT row_id, {{ stored_row }}
FROM tender_parties AS party
JOIN unestablished_parties AS failing
    ON failing.name = party.name
    AND failing.country IS NOT DISTINCT FROM party.country
    AND failing.scheme IS NOT DISTINCT FROM party.identifier_scheme
    AND failing.identifier IS NOT DISTINCT FROM party.identifier_id;

-- name: unvouched_entities
-- Organisations whose type no register states and that filed no report with the SEC.
SELECT DISTINCT
    legal_name AS name, coalesce(country, left(jurisdiction, 2)) AS country,
    CAST(NULL AS VARCHAR) AS identifier_scheme, CAST(NULL AS VARCHAR) AS identifier_id
FROM entities
WHERE
    legal_name IS NOT NULL
    AND entity_type IS NULL
    AND service_id NOT IN (SELECT service_id FROM identifiers WHERE id_type = 'cik');

-- name: failing_entities
-- The rows of those that are not established by their name either.
CREATE OR REPLACE TABLE failing_entities AS
SELECT row_id, {{ stored_row }}
FROM entities
JOIN unestablished_entities AS failing
    ON failing.name = entities.legal_name
    AND failing.country IS NOT DISTINCT FROM coalesce(entities.country, left(jurisdiction, 2))
WHERE
    entity_type IS NULL
    AND service_id NOT IN (SELECT service_id FROM identifiers WHERE id_type = 'cik');

-- name: names_without_party
-- Every name in a release that no party of the release bears. Of millions of parties only 64-bit
-- hashes are compared: the chance that one name passes for another's is about one in 10^12.
CREATE OR REPLACE TABLE names_without_party AS
WITH release_names AS (
    -- every name in a release, and the names of units, which are not of organisations
    SELECT
        row_id, source, ocid, release_id, country,
        list_distinct(json_extract_string(release, '$..name')) AS names,
        CASE
            WHEN contains(release, '"unit"') THEN json_extract_string(release, '$..unit.name')
            ELSE []
        END AS unit_names
    FROM tender_releases
    WHERE release IS NOT NULL
),

organisation_names AS (
    SELECT
        row_id, source, ocid, release_id, country,
        unnest(list_filter(names, LAMBDA each: NOT list_contains(unit_names, each))) AS name
    FROM release_names
),

party AS (
    SELECT hash(source, ocid, release_id, name) AS name_hash
    FROM tender_parties
    WHERE name IS NOT NULL
)

SELECT row_id, name, country
FROM organisation_names AS named
ANTI JOIN party
    ON party.name_hash = hash(named.source, named.ocid, named.release_id, named.name);

-- name: release_names
-- Each of those names.
SELECT DISTINCT
    name, country, CAST(NULL AS VARCHAR) AS identifier_scheme,
    CAST(NULL AS VARCHAR) AS identifier_id
FROM names_without_party;

-- name: failing_releases
-- The rows of releases with such a name.
CREATE OR REPLACE TABLE failing_releases AS
SELECT row_id, {{ stored_row }}
FROM tender_releases
SEMI JOIN (
    SELECT row_id
    FROM names_without_party AS named
    JOIN unestablished_names AS failing
        ON failing.name = named.name
        AND failing.country IS NOT DISTINCT FROM named.country
) AS failing USING (row_id);

-- name: named_entities
-- Every other name of an organisation, with its row.
CREATE OR REPLACE TEMP TABLE named_entities AS
SELECT
    row_id, unnest(CAST(CAST(other_names AS JSON) AS VARCHAR[])) AS name,
    coalesce(country, left(jurisdiction, 2)) AS country
FROM entities
WHERE other_names IS NOT NULL;

-- name: other_names
-- Each of those names.
SELECT DISTINCT name, country
FROM named_entities
WHERE name IS NOT NULL;

-- name: failing_other_names
-- The rows of organisations with such a name.
CREATE OR REPLACE TABLE failing_other_names AS
SELECT row_id, {{ stored_row }}
FROM entities
SEMI JOIN (
    SELECT row_id
    FROM named_entities AS other
    JOIN personal_names AS personal
        ON personal.name = other.name
        AND personal.country IS NOT DISTINCT FROM other.country
) AS failing USING (row_id);

-- name: releases_with_marks
-- Releases with a rough mark of a contact. DuckDB looks over all; only what it finds is parsed.
SELECT row_id, {{ searched }}
FROM tender_releases
WHERE {{ has_marks }};

-- name: releases_with_contact
-- The rows of releases in which a contact is left.
CREATE OR REPLACE TABLE releases_with_contact AS
SELECT row_id, {{ stored_row }}
FROM tender_releases
SEMI JOIN contact_rows USING (row_id);
