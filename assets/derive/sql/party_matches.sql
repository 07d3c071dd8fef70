-- The parties of tenders as organisations: by register number, LEI, or exact name.
--
-- Never by similarity. A party that could be two organisations stays unresolved, and so does a name
-- that is known under another number than the party's. Withheld parties are never looked up.
--
-- Inputs: parties (distinct), and the views and tables of ``organisation_keys``
-- Outputs: entity_names (a table), name_values, matches (queries)

-- name: entity_names
-- Names are compared only within a country, so only its organisations are normalised and read; and
-- of those only what may be the name of a party.
CREATE OR REPLACE TEMP TABLE entity_names AS
WITH party_keys AS (
    SELECT DISTINCT
        nullif(upper(left(trim(country), 2)), '') AS place, crude_key(name) AS name_key
    FROM parties
)

SELECT DISTINCT service_id, place, name
FROM (
    SELECT *, crude_key(name) AS name_key
    FROM names_with_place
    WHERE place IN (SELECT place FROM party_keys)
)
SEMI JOIN party_keys USING (place, name_key);

-- name: name_values
SELECT DISTINCT value
FROM (
    SELECT name AS value
    FROM parties
    UNION ALL
    SELECT name
    FROM entity_names
)
WHERE value IS NOT NULL;

-- name: matches
-- A match or a reason for each party.
WITH organisation_keys AS (
    SELECT service_id AS organisation, id_type, register, number
    FROM identifier_keys
    -- parties state register numbers or LEIs
    WHERE id_type IN ('lei', 'registry')
),

by_key AS (
    SELECT
        id_type, register, number,
        min(organisation) AS organisation, min(organisation) <> max(organisation) AS is_ambiguous
    FROM organisation_keys
    GROUP BY id_type, register, number
),

-- in which registers an organisation has a number
registrations AS (SELECT DISTINCT organisation, id_type, register FROM organisation_keys),

organisation_names AS (
    SELECT place AS country, normalised AS name, service_id AS organisation
    FROM entity_names
    JOIN normalised_names ON normalised_names.value = entity_names.name
),

-- a name is only evidence if one organisation of the country has it
by_name AS (
    SELECT
        country, name,
        min(organisation) AS organisation, min(organisation) <> max(organisation) AS is_ambiguous
    FROM organisation_names
    GROUP BY country, name
),

-- the parties with the number and the name they state, in comparable form
party_numbers AS (
    SELECT
        parties.*, nullif(upper(left(trim(country), 2)), '') AS name_country,
        normalised_names.normalised AS normalised_name, registers.register AS stated_register,
        registers.id_type AS stated_type,
        CASE WHEN odd.value IS NULL THEN identifier_id ELSE odd.normalised END AS number,
        CASE
            WHEN odd.value IS NULL THEN regexp_matches(identifier_id, '[1-9]') ELSE odd.has_digits
        END AS has_digits
    FROM parties
    LEFT JOIN normalised_names ON normalised_names.value = parties.name
    LEFT JOIN registers ON registers.value = identifier_scheme
    LEFT JOIN odd_numbers AS odd ON odd.value = identifier_id
),

party_keys AS (
    SELECT
        *,
        CASE
            WHEN
                number IS NOT NULL AND stated_register IS NOT NULL
                AND (stated_type = 'lei' OR has_digits)
                THEN stated_type
        END AS id_type,
        CASE WHEN stated_type = 'registry' THEN stated_register END AS register
    FROM party_numbers
),

lookups AS (
    SELECT
        party_keys.*,
        by_key.organisation AS key_organisation, by_key.is_ambiguous AS key_is_ambiguous,
        by_name.organisation AS name_organisation, by_name.is_ambiguous AS name_is_ambiguous,
        -- the key was not found, but the organisation of this name has one of the same register
        registrations.organisation IS NOT NULL AS has_other_number
    FROM party_keys
    LEFT JOIN by_key
        ON by_key.id_type = party_keys.id_type AND by_key.number = party_keys.number
        AND by_key.register IS NOT DISTINCT FROM party_keys.register
    LEFT JOIN by_name
        ON by_name.country = party_keys.name_country AND by_name.name = party_keys.normalised_name
    LEFT JOIN registrations
        ON registrations.organisation = by_name.organisation
        AND registrations.id_type = party_keys.id_type
        AND registrations.register IS NOT DISTINCT FROM party_keys.register
),

-- the key decides; only without a hit by key does the name count
decisions AS (
    SELECT
        *,
        CASE
            WHEN key_is_ambiguous THEN 'ambiguous: several organisations bear this identifier'
            WHEN key_organisation IS NOT NULL THEN NULL
            WHEN normalised_name IS NULL OR name_country IS NULL
                THEN 'no name and country to look for'
            WHEN name_is_ambiguous
                THEN 'ambiguous: several organisations of the country have this name'
            WHEN name_organisation IS NULL
                THEN 'no organisation of the country is known by this identifier or this name'
            WHEN has_other_number
                THEN 'the name is known under another number than the one stated'
        END AS reason
    FROM lookups
)

SELECT
    {{ party_columns }},
    CASE WHEN reason IS NULL THEN coalesce(key_organisation, name_organisation) END AS service_id,
    CASE
        WHEN reason IS NOT NULL THEN NULL
        WHEN key_organisation IS NULL THEN 'exact_name'
        WHEN id_type = 'lei' THEN 'lei'
        ELSE 'registry_id'
    END AS match_method,
    reason
FROM decisions;
