-- What ids of organisations share: the evidence by which they may be joined.
--
-- SQL narrows millions of identifiers and names down to the few that several ids have. A claim says
-- that an id has a key in the records of a source. A side is a register or list, under all names of
-- its sources: ``gleif`` and ``gleif-api`` are one. What a source has withdrawn stays evidence, so
-- that an id which was once joined never becomes unknown; but not if the same source now gives the
-- key to another id.
--
-- Inputs: identifiers, entities, and the views and tables of ``organisation_keys``
-- Outputs: listed_isins, candidate_names, candidates (tables), candidate_values,
-- shared_numbers, shared_listings, shared_names, declared, numbers, stated (queries)

-- name: listed_isins
-- ISINs of ids that also have a ticker: no other ISIN joins organisations.
CREATE OR REPLACE TEMP TABLE listed_isins AS
SELECT DISTINCT number
FROM identifier_keys
WHERE
    id_type = 'isin'
    AND service_id IN (SELECT service_id FROM identifiers WHERE id_type = 'ticker');

-- name: candidate_names
-- Names that may be equal: those that agree in a crude key, in one country, on several sides.
CREATE OR REPLACE TEMP TABLE candidate_names AS
WITH name_keys AS MATERIALIZED (
    SELECT *, split_part(source, '-', 1) AS side, crude_key(name) AS name_key
    FROM names_with_place
)

SELECT DISTINCT service_id, source, side, is_current, place, subdivision, name
FROM name_keys
SEMI JOIN (
    SELECT place, name_key
    FROM name_keys AS keys
    GROUP BY ALL
    HAVING min(side) <> max(side)
) USING (place, name_key);

-- name: candidate_values
SELECT DISTINCT name AS value
FROM candidate_names
WHERE name IS NOT NULL;

-- name: shared_numbers
-- Grouped by a hash, which is smaller than the key; a collision only adds claims of other keys.
WITH keys AS (
    SELECT *, hash(id_type, register, number) AS key_hash
    FROM identifier_keys
    WHERE
        (id_type <> 'isin' OR number IN (SELECT number FROM listed_isins))
        -- of FIGIs only that of the share class names one security everywhere
        AND (id_type <> 'figi' OR figi_level = 'share_class')
),

shared AS (
    SELECT key_hash
    FROM keys
    GROUP BY key_hash
    HAVING min(service_id) <> max(service_id)
)

SELECT DISTINCT
    CASE WHEN id_type IN ('registry', 'cik') THEN 'registry_id' ELSE id_type END,
    concat_ws('/', id_type, register, number), service_id, source, is_current
FROM keys
SEMI JOIN shared USING (key_hash);

-- name: shared_listings
-- A listing is one ticker in one market, while it lasts. A market without a MIC may be several, and
-- of a delisted security without a day it is unknown when its ticker became another's.
WITH listings AS (
    SELECT
        listing, service_id, source, is_current,
        coalesce(valid_from, known_from) AS begins, coalesce(valid_to, known_until) AS ends
    FROM identifiers
    JOIN comparable_listings ON value = id_value
    WHERE
        id_type = 'ticker' AND regexp_full_match(issuer, '[A-Za-z0-9]{4}')
        AND (valid_to IS NOT NULL OR NOT coalesce(contains(lower(status), 'delist'), FALSE))
)

SELECT DISTINCT
    'listing', listing, service_id, source, is_current, begins, ends
FROM listings
SEMI JOIN (
    SELECT listing
    FROM listings AS shared
    GROUP BY listing
    HAVING min(service_id) <> max(service_id)
) USING (listing);

-- name: shared_names
WITH bearers AS (
    SELECT
        concat_ws('/', place, normalised) AS key,
        service_id, source, side, is_current, subdivision
    FROM candidate_names
    JOIN normalised_names ON normalised_names.value = name
    WHERE normalised IS NOT NULL
)

SELECT DISTINCT 'exact_name', key, service_id, source, is_current, NULL, NULL, subdivision
FROM bearers
SEMI JOIN (
    SELECT key
    FROM bearers AS shared
    GROUP BY key
    HAVING min(side) <> max(side)
) USING (key);

-- name: declared
-- The duplicates that registers declare themselves; of two targets the smaller id.
SELECT service_id, min(same_as)
FROM entities
WHERE is_current AND same_as <> service_id
GROUP BY service_id;

-- name: candidates
CREATE OR REPLACE TEMP TABLE candidates AS
SELECT unnest($ids) AS service_id;

-- name: numbers
-- The identifiers of the ids that share something; of ISINs, those of listed securities.
SELECT DISTINCT service_id, id_type, register, number, text
FROM identifier_keys
SEMI JOIN candidates USING (service_id)
WHERE id_type <> 'isin' OR number IN (SELECT number FROM listed_isins)
UNION
SELECT service_id, id_type, NULL, upper(id_value), id_value
FROM identifiers
SEMI JOIN candidates USING (service_id)
WHERE id_type = 'ticker' AND trim(id_value) <> '';

-- name: stated
-- What tells ids apart that share something: their listed ISINs, and all names in any country.
SELECT DISTINCT 'isin', service_id, number
FROM identifier_keys
SEMI JOIN candidates USING (service_id)
WHERE id_type = 'isin' AND number IN (SELECT number FROM listed_isins)
UNION ALL
SELECT DISTINCT 'names', service_id, stated_name(name, source)
FROM (
    SELECT
        service_id, source,
        unnest(list_prepend(
            legal_name, coalesce(TRY_CAST(TRY_CAST(other_names AS JSON) AS VARCHAR[]), [])
        )) AS name
    FROM entities
    SEMI JOIN candidates USING (service_id)
)
WHERE name IS NOT NULL;
