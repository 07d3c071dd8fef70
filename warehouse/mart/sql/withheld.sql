-- What tombstones withhold: which stored rows name a withheld party, and these rows without it.
--
-- A withheld party is stored as the parser stores one that is not established as an organisation:
-- under a keyed hash, without name, number and evidence.
--
-- releases, parties and entities are the relations of stored rows, stored_row the columns that
-- identify one, same_reading the condition that a row of fixed is a stored one.
--
-- Inputs: withheld_names, withheld_keys, withheld_party_keys, replaced_rows, tender_releases,
--   tender_parties, entities
-- Outputs: withheld_parties (table); rows of replaced_rows; every_name, releases_to_redact,
--   redacted_releases, redacted_parties, redacted_entities (queries)

-- by hand: withheld_names
-- Names whose hashes a tombstone has: none.
CREATE OR REPLACE TABLE withheld_names (name VARCHAR);

-- by hand: withheld_keys
-- Keys of parties whose hashes a tombstone has: none.
CREATE OR REPLACE TABLE withheld_keys (source VARCHAR, party_key VARCHAR);

-- by hand: withheld_party_keys
-- Keys of withheld parties, and the hash that is shown in place of each.
CREATE OR REPLACE TABLE withheld_party_keys (source VARCHAR, party_key VARCHAR, hashed VARCHAR);

-- by hand: redacted
-- The releases that name a withheld party, without the name: Python takes it out.
CREATE OR REPLACE TABLE redacted AS
SELECT {{ stored_row }}, release, 0 AS newly_withheld
FROM tender_releases
LIMIT 0;

-- name: every_name
-- Each name under which a party or an organisation is stored.
SELECT name
FROM {{ parties }}
WHERE name IS NOT NULL
UNION
SELECT legal_name
FROM {{ entities }}
WHERE legal_name IS NOT NULL
UNION
SELECT unnest(try_cast(try_cast(other_names AS JSON) AS VARCHAR[]))
FROM {{ entities }};

-- name: withheld_parties
-- The stored rows of withheld parties.
CREATE OR REPLACE TABLE withheld_parties AS
SELECT
    figure, {{ stored_row }}, source, ocid, release_id, party_key, name, source_ref, {{ row_ids }}
FROM {{ parties }}
WHERE {{ is_withheld }};

-- name: list_replaced
-- They are counted with what is left out.
INSERT INTO replaced_rows BY NAME
SELECT
    'tender_parties' AS table_name, $rule AS rule, source, source_ref, row_id, figure,
    {{ stored_row }}
FROM withheld_parties;

-- name: releases_to_redact
-- Releases of which a party is withheld, or of which a text may have its name.
WITH concerned AS (
    SELECT source, ocid, release_id, count(DISTINCT party_key) AS newly_withheld
    FROM withheld_parties
    GROUP BY source, ocid, release_id
)

SELECT stored.*, coalesce(concerned.newly_withheld, 0) AS newly_withheld
FROM {{ releases }} AS stored
LEFT JOIN concerned USING (source, ocid, release_id)
WHERE
    stored.release IS NOT NULL
    AND (concerned.newly_withheld IS NOT NULL OR {{ may_mention }});

-- name: redacted_releases
-- All stored releases, with those that were redacted in their new form.
SELECT
    stored.* REPLACE (
        CASE WHEN fixed.sighting IS NULL THEN stored.release ELSE fixed.release END AS release,
        stored.parties_withheld + coalesce(fixed.newly_withheld, 0) AS parties_withheld,
        coalesce(hashed.hashed, stored.buyer_key) AS buyer_key
    )
FROM {{ releases }} AS stored
LEFT JOIN (
    -- a row that is stored twice must not become four
    SELECT DISTINCT *
    FROM {{ redacted }}
) AS fixed ON {{ same_reading }}
LEFT JOIN (
    -- only in releases in which the buyer is withheld: another name under its key is not
    SELECT DISTINCT
        withheld_parties.source, ocid, release_id, party_key, withheld_party_keys.hashed
    FROM withheld_parties
    JOIN withheld_party_keys USING (source, party_key)
) AS hashed
    ON hashed.source = stored.source
    AND hashed.ocid = stored.ocid
    AND hashed.release_id = stored.release_id
    AND hashed.party_key = stored.buyer_key;

-- name: redacted_parties
-- All stored parties, those that are withheld under their hash.
SELECT
    stored.* REPLACE (
        CASE WHEN fixed.sighting IS NULL THEN stored.party_key ELSE hashed.hashed END AS party_key,
        CASE WHEN fixed.sighting IS NULL THEN stored.name END AS name,
        CASE WHEN fixed.sighting IS NULL THEN stored.identifier_scheme END AS identifier_scheme,
        CASE WHEN fixed.sighting IS NULL THEN stored.identifier_id END AS identifier_id,
        CASE WHEN fixed.sighting IS NULL THEN stored.org_evidence END AS org_evidence
    )
FROM {{ parties }} AS stored
LEFT JOIN (
    SELECT DISTINCT {{ stored_row }}
    FROM withheld_parties
) AS fixed ON {{ same_reading }}
LEFT JOIN withheld_party_keys AS hashed
    ON hashed.source = stored.source
    AND hashed.party_key = stored.party_key;

-- name: redacted_entities
-- All stored organisations, without other names that are withheld.
SELECT stored.* REPLACE ({{ other_names }})
FROM {{ entities }} AS stored
CROSS JOIN (
    SELECT coalesce(list(name), []) AS names
    FROM withheld_names
) AS gone;
