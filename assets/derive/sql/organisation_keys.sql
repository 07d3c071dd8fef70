-- Identifiers and names of organisations in comparable form.
--
-- The rules are Python functions of ``identifiers`` and ``search_words``. Each is applied once to
-- every distinct value that needs it, and the result is a small table that SQL joins: odd_numbers
-- (value, normalised, has_digits), registers (value, register, id_type), comparable_listings
-- (value, listing), normalised_names (value, normalised).
--
-- Inputs: identifiers and entities, without withdrawn rows; parties, where these are compared
-- Outputs: odd_number_values, register_codes, listing_values (queries), crude_key, stated_name
-- (macros), identifier_keys, names_with_place (views)

-- name: odd_number_values
-- Numbers that are not normalised as they are written: nearly all are, and never go to Python.
SELECT DISTINCT value
FROM (
    SELECT id_value AS value
    FROM identifiers
    WHERE id_type IN ('lei', 'registry', 'cik', 'isin', 'figi')
    UNION ALL
    SELECT lei
    FROM entities
    UNION ALL
    SELECT identifier_id
    FROM {{ parties }}
)
WHERE NOT regexp_full_match(value, '{{ normalised_number }}');

-- name: register_codes
SELECT DISTINCT value
FROM (
    SELECT issuer AS value
    FROM identifiers
    WHERE id_type = 'registry'
    UNION ALL
    SELECT identifier_scheme
    FROM {{ parties }}
)
WHERE value IS NOT NULL;

-- name: listing_values
SELECT DISTINCT id_value AS value
FROM identifiers
WHERE id_type = 'ticker';

-- name: crude_key
-- A name without forms and initials. Names with the same normalised form have the same crude key,
-- but for initials that are written apart; it selects the few that are worth normalising.
CREATE OR REPLACE TEMP MACRO crude_key(name) AS hash(
    regexp_replace(regexp_replace(regexp_replace(regexp_replace(
        replace(replace(lower(strip_accents(name)), 'ß', 'ss'), '&', ' and '),
        '[''’‘ʼ`´]', '', 'g'
    ),
    '\b([a-z0-9])\.', '\1', 'g'),
    '\b(?:[a-z0-9]|{{ form_words }})\b', '', 'g'),
    '[^a-z0-9]', '', 'g')
);

-- name: stated_name
-- The SEC's register ends names with what tells filers apart, as in "INC /DE/" and "NV /FI".
CREATE OR REPLACE TEMP MACRO stated_name(name, source) AS CASE
    WHEN source LIKE 'sec-%'
        THEN regexp_replace(
            name, '(\s+[/\\][A-Za-z]{2,5}[/\\]?|[/\\][A-Za-z]{2,5}[/\\])+\s*$', ''
        )
    ELSE name
END;

-- name: identifier_keys
-- One row for each identifier of an id that can be compared: id_type, register, number.
-- Its text is what an id of it is minted from.
CREATE OR REPLACE TEMP VIEW identifier_keys AS
WITH written AS (
    SELECT
        service_id, identifiers.id_type, issuer, figi_level, source, is_current, id_value AS value
    FROM identifiers
    WHERE identifiers.id_type IN ('lei', 'registry', 'cik', 'isin', 'figi')
    UNION ALL
    -- the LEI that an entity's own record states
    SELECT service_id, 'lei', NULL, NULL, source, is_current, lei
    FROM entities
),

numbers AS (
    SELECT
        written.*,
        CASE WHEN odd.value IS NULL THEN written.value ELSE odd.normalised END AS normalised,
        CASE
            WHEN odd.value IS NULL THEN regexp_matches(written.value, '[1-9]') ELSE odd.has_digits
        END AS has_digits
    FROM written
    LEFT JOIN odd_numbers AS odd ON odd.value = written.value
)

SELECT
    service_id, numbers.id_type,
    CASE
        WHEN numbers.id_type <> 'registry' THEN NULL
        WHEN regexp_full_match(normalised, '{{ cnpj_form }}') THEN '{{ cnpj_register }}'
        ELSE registers.register
    END AS register,
    -- the zeros before a CIK are written or not
    CASE WHEN numbers.id_type = 'cik' THEN ltrim(normalised, '0') ELSE normalised END AS number,
    source, is_current, figi_level,
    concat_ws(':', CASE WHEN numbers.id_type = 'registry' THEN issuer END, numbers.value) AS text
FROM numbers
LEFT JOIN registers ON registers.value = issuer AND numbers.id_type = 'registry'
WHERE normalised IS NOT NULL
-- zeros alone are a placeholder, not a CIK
AND (numbers.id_type <> 'cik' OR ltrim(normalised, '0') <> '')
-- a register's number compares only within a register, and a placeholder not at all
AND (numbers.id_type <> 'registry' OR (registers.register IS NOT NULL AND has_digits));

-- name: names_with_place
-- The legal names of entities with their countries: the present one, former ones and those in
-- other languages. A trading name is anybody's; an annulled LEI record is an error, and a
-- duplicate one is declared. Countries are those in which an organisation is incorporated and
-- where it is; a jurisdiction may be a subdivision (``US-DE``) of the country of its first letters.
CREATE OR REPLACE TEMP VIEW names_with_place AS
WITH placed AS (
    SELECT
        *,
        nullif(
            regexp_extract(upper(trim(jurisdiction)), '^[A-Z]{2}-[A-Z0-9]+$'), ''
        ) AS subdivision,
        list_distinct([
            nullif(upper(left(trim(jurisdiction), 2)), ''),
            nullif(upper(left(trim(country), 2)), '')
        ]) AS own_places
    FROM entities
),

-- The country of the ISINs that a list gives an issuer of which it states no country: it is good
-- enough to compare names in, but is not served, since that of a receipt is another one.
isin_places AS (
    SELECT service_id, source, [min(isin_place)] AS places
    FROM (
        SELECT service_id, source, nullif(upper(left(trim(id_value), 2)), '') AS isin_place
        FROM identifiers
        SEMI JOIN (SELECT service_id, source FROM placed WHERE len(own_places) = 0)
            USING (service_id, source)
        WHERE id_type = 'isin'
    )
    -- prefixes that are no country, as XS
    WHERE NOT regexp_matches(isin_place, '^(X[A-Z]|EU|Q[M-Z]|AA|ZZ)$')
    GROUP BY service_id, source
    HAVING count(DISTINCT isin_place) = 1
),

bearers AS (
    SELECT
        service_id, source, is_current, subdivision,
        CASE WHEN len(own_places) > 0 THEN own_places ELSE isin_places.places END AS places,
        list_filter(
            list_prepend(
                legal_name, coalesce(TRY_CAST(TRY_CAST(other_names AS JSON) AS VARCHAR[]), [])
            ),
            LAMBDA name: name IS NOT NULL AND NOT list_contains(
                coalesce(TRY_CAST(TRY_CAST(trading_names AS JSON) AS VARCHAR[]), []), name
            )
        ) AS names
    FROM placed
    LEFT JOIN isin_places USING (service_id, source)
    WHERE coalesce(lei_status, '') NOT IN ('ANNULLED', 'DUPLICATE')
),

named AS (
    SELECT service_id, source, is_current, place, subdivision, unnest(names) AS name
    FROM (SELECT *, unnest(places) AS place FROM bearers)
)

SELECT
    service_id, source, is_current, place, subdivision,
    stated_name(name, source) AS name
FROM named;
