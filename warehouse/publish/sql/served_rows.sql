-- Rows as they are served: parties, releases, organisations and identifiers.
--
-- Inputs: tender_releases, tender_parties, party_matches, award_vintages, entities, identifiers,
--   same_as, fundamentals, countries
-- Outputs: parties, party_history, releases, named_entities, current_entities,
--   current_identifiers (queries)

-- name: parties
-- One row for each party, role and organisation: it is about all releases that name it.
WITH resolved AS (
    -- each named party of the latest releases with its organisation, where that is resolved; the
    -- resolution is that of the data_version, and does not depend on as_of; withheld parties have
    -- no name and are left out
    SELECT party.*, matched.service_id, matched.match_method
    FROM tender_parties AS party
    LEFT JOIN party_matches AS matched ON {{ same_party }}
    WHERE party.latest AND party.name IS NOT NULL
),

grouped AS (
    SELECT
        source, country, party_key, role, service_id, count(*) AS releases,
        count(DISTINCT ocid) AS processes,
        min(released_on) AS first_release, max(released_on) AS last_release,
        -- one struct, so that all members come from one release: arg_max of a single column would
        -- skip its nulls
        arg_max(
            struct_pack({{ shown_members }}),
            concat_ws('/', coalesce(released_on, DATE '0001-01-01'), ocid, release_id)
        ) AS newest
    FROM resolved
    GROUP BY ALL
)

SELECT
    {{ id_of_party }} AS party_id, source, country, party_key, role, service_id, releases,
    processes, first_release, last_release, unnest(newest),
    CASE
        WHEN newest.identifier_id IS NOT NULL
            THEN { 'scheme': newest.identifier_scheme, 'id': newest.identifier_id }
    END AS identifier
FROM grouped;

-- name: party_history
-- One row for each party, role and organisation: of each release that names it, when it became
-- known and was superseded and the day of the release, as days since 1970, and the number of its
-- process among those of the party; and in the same order where each release was read (cited). All
-- other members are taken from the release that was known first: those of a newer one were not
-- known before it. available_at is the day on which that one became known. Of a supplier also each
-- award that it won: when it became known and was superseded, its day, its process, currency and
-- value; in one row of an organisation, that which was known first.
WITH resolved AS (
    SELECT
        party.*, matched.service_id, matched.match_method,
        dense_rank() OVER (
            PARTITION BY
                party.source, party.country, party.party_key, party.role, matched.service_id
            ORDER BY party.ocid
        ) AS process
    FROM tender_parties AS party
    LEFT JOIN party_matches AS matched ON {{ same_party }}
    WHERE party.name IS NOT NULL AND party.available_at IS NOT NULL AND NOT party.withdrawn
),

grouped AS (
    SELECT
        source, country, party_key, role, service_id, {{ id_of_party }} AS party_id,
        arg_min(
            struct_pack({{ shown_members }}),
            concat_ws('/', available_at, coalesce(released_on, DATE '9999-12-31'), ocid, release_id)
        ) AS earliest,
        list(
            [
                date_diff('day', DATE '1970-01-01', available_at),
                date_diff('day', DATE '1970-01-01', coalesce(superseded_at, DATE '9999-12-31')),
                date_diff('day', DATE '1970-01-01', released_on),
                process
            ]
            ORDER BY available_at, superseded_at, released_on, process, provenance_id
        ) AS known,
        list(
            [{{ cited_members }}]
            ORDER BY available_at, superseded_at, released_on, process, provenance_id
        ) AS cited,
        min(available_at) AS available_at
    FROM resolved
    GROUP BY ALL
),

won AS (
    SELECT
        source, country, winner_id,
        list(
            json_array(
                coalesce(date_diff('day', DATE '1970-01-01', available_at), {{ never_day }}),
                date_diff('day', DATE '1970-01-01', coalesce(superseded_at, DATE '9999-12-31')),
                date_diff('day', DATE '1970-01-01', period_end),
                ocid, unit, rtrim(rtrim(CAST(value AS VARCHAR), '0'), '.')
            )
            ORDER BY available_at, superseded_at, period_end, fact_id, vintage
        ) AS won,
        list(
            [{{ cited_members }}]
            ORDER BY available_at, superseded_at, period_end, fact_id, vintage
        ) AS won_cited
    FROM award_vintages
    GROUP BY ALL
),

suppliers AS (
    -- the row of each winner that has what it won
    SELECT
        source, country, service_id, coalesce(service_id, party_id) AS winner_id,
        arg_min(party_key, (available_at, party_key)) AS party_key
    FROM grouped
    WHERE role = 'supplier'
    GROUP BY ALL
)

SELECT
    grouped.* EXCLUDE (known, cited, earliest),
    to_json(known) AS known, to_json(cited) AS cited, to_json(won) AS won,
    to_json(won_cited) AS won_cited, unnest(earliest),
    CASE
        WHEN earliest.identifier_id IS NOT NULL
            THEN { 'scheme': earliest.identifier_scheme, 'id': earliest.identifier_id }
    END AS identifier
FROM grouped
LEFT JOIN suppliers
    ON suppliers.source = grouped.source
    AND suppliers.country = grouped.country
    AND suppliers.party_key = grouped.party_key
    AND suppliers.service_id IS NOT DISTINCT FROM grouped.service_id
    AND grouped.role = 'supplier'
LEFT JOIN won
    ON won.source = suppliers.source
    AND won.country = suppliers.country
    AND won.winner_id = suppliers.winner_id;

-- name: releases
-- Each release with its buyer. One may name several: always the same of them becomes its buyer_id.
WITH resolved AS (
    -- as above
    SELECT
        party.source, party.ocid, party.release_id, party.role, party.country, party.party_key,
        party.name, matched.service_id
    FROM tender_parties AS party
    LEFT JOIN party_matches AS matched ON {{ same_party }}
    WHERE party.latest AND party.name IS NOT NULL
),

named AS (
    -- the ids by which buyer and suppliers are found; a vintage has those of the names in it.
    -- Sorted, or every file of releases would be another one whenever their order changes
    SELECT
        source, ocid, release_id,
        list_sort(
            list(DISTINCT { 'name': name, 'ids': concat_ws(' ', {{ id_of_party }}, service_id) })
        ) AS parties
    FROM resolved
    WHERE role IN ('buyer', 'supplier')
    GROUP BY ALL
),

buyers AS (
    SELECT source, ocid, release_id, min(service_id) AS buyer_id
    FROM resolved
    WHERE role = 'buyer' AND service_id IS NOT NULL
    GROUP BY ALL
)

SELECT
    released.* REPLACE (string_split(tag, ',') AS tag), released_on AS date,
    json_keys(release) AS release_members, buyers.buyer_id, named.parties AS named_parties,
    CASE WHEN has_amount THEN CAST(tender_value AS DOUBLE) ELSE 0 END AS amount,
    CASE WHEN has_amount THEN tender_currency END AS amount_currency
FROM (
    -- what cannot be the value of a tender is none to sort by
    SELECT
        *,
        coalesce(tender_value > 0, FALSE)
        AND NOT coalesce(list_contains(implausible, 'tender.value.amount'), FALSE) AS has_amount
    FROM tender_releases
) AS released
LEFT JOIN named
    ON named.source = released.source
    AND named.ocid = released.ocid
    AND named.release_id = released.release_id
LEFT JOIN buyers
    ON buyers.source = released.source
    AND buyers.ocid = released.ocid
    AND buyers.release_id = released.release_id;

-- name: named_entities
-- The name and the country of each organisation.
SELECT service_id, arg_min(legal_name, place) AS legal_name, arg_min(country, place) AS country
FROM (
    SELECT
        service_id, legal_name, country,
        row_number() OVER (PARTITION BY service_id ORDER BY {{ first_record }}) AS place
    FROM entities
    WHERE latest
)
GROUP BY service_id;

-- name: current_entities
-- One record for each organisation, in which those of all registers are merged. The first record
-- gives the name and the provenance. Where it leaves a member out, the next one is taken; other
-- names are those of all.
WITH records AS (
    SELECT
        *,
        row_number() OVER (PARTITION BY service_id ORDER BY {{ first_record }}) AS place,
        count(*) OVER (PARTITION BY service_id) AS records
    FROM entities
    WHERE latest
),

merged AS (
    -- most organisations have one record: only the others are merged
    SELECT service_id, {{ merged_members }}
    FROM records
    WHERE records > 1
    GROUP BY service_id
),

listed_names AS (
    SELECT service_id, kind, place, names
    FROM ({{ listed_names }})
),

every_name AS (
    SELECT service_id, 'other_names' AS kind, place, 0 AS position, legal_name AS name
    FROM records
    WHERE records > 1
    UNION ALL
    SELECT service_id, kind, place, generate_subscripts(names, 1), unnest(names)
    FROM listed_names
),

distinct_names AS (
    SELECT service_id, kind, name, min((place, position)) AS place
    FROM every_name
    WHERE name IS NOT NULL
    GROUP BY ALL
),

names_by_kind AS (
    SELECT service_id, kind, list(name ORDER BY place) AS names
    FROM distinct_names
    GROUP BY service_id, kind
),

other_names AS (
    -- the first of all names is the legal one
    SELECT
        service_id, kind, CASE kind WHEN 'other_names' THEN names[2:] ELSE names END AS names
    FROM names_by_kind
),

merged_names AS (
    SELECT service_id, {{ names_of_kinds }}
    FROM other_names
    GROUP BY service_id
),

aliases AS (
    SELECT
        same_as AS service_id, list(service_id ORDER BY service_id) AS aliases,
        list({ 'service_id': service_id, 'match_method': match_method } ORDER BY service_id)
            AS joins
    FROM same_as
    GROUP BY same_as
),

tickers AS (
    -- one ticker in one market is one listing, whoever states it: of its status and its last day
    -- the newest statement counts
    SELECT
        service_id, min(id_value) AS listing, min(valid_from) AS listed_from,
        first(status ORDER BY status IS NULL, available_at DESC, source, status) AS status,
        first(
            valid_to
            ORDER BY valid_from IS NULL AND valid_to IS NULL, available_at DESC, source, valid_to
        ) AS listed_to
    FROM identifiers
    WHERE latest AND id_type = 'ticker'
    GROUP BY service_id, upper(id_value)
),

listings AS (
    SELECT
        service_id,
        list(
            {
                'mic': split_part(listing, ':', 1),
                'ticker': substr(listing, strpos(listing, ':') + 1),
                'status': status,
                'from': listed_from,
                'to': listed_to
            } ORDER BY listing
        ) AS listings
    FROM tickers
    GROUP BY service_id
),

mentions AS (
    -- which datasets have rows of the organisation
    SELECT service_id, 'AF-FUND' AS dataset
    FROM fundamentals
    WHERE latest
    UNION
    SELECT service_id, 'AF-TENDER'
    FROM party_matches
    WHERE service_id IS NOT NULL
),

datasets AS (
    SELECT service_id, list(DISTINCT dataset ORDER BY dataset) AS datasets
    FROM mentions
    GROUP BY service_id
)

SELECT
    entity.* REPLACE (CAST(NULL AS VARCHAR) AS same_as, {{ replaced_members }}),
    countries.country_iso3,
    coalesce(aliases.aliases, []) AS aliases,
    coalesce(aliases.joins, []) AS joins,
    coalesce(listings.listings, []) AS listings,
    coalesce(datasets.datasets, []) AS datasets
FROM records AS entity
LEFT JOIN merged ON merged.service_id = entity.service_id
LEFT JOIN merged_names ON merged_names.service_id = entity.service_id
LEFT JOIN aliases ON aliases.service_id = entity.service_id
LEFT JOIN listings ON listings.service_id = entity.service_id
LEFT JOIN datasets ON datasets.service_id = entity.service_id
LEFT JOIN countries ON countries.country = coalesce(entity.country, merged.country)
WHERE entity.place = 1;

-- name: current_identifiers
-- Each identifier of an organisation once, and the LEI of its own record if no mapping file has it.
-- match_method is the evidence that joined the id under which it was stated; null if that is the
-- canonical one. An LEI is unique worldwide, and a listing names its market, so it does not matter
-- who reports it; any other number is unique only within its issuer. An organisation's own mapping
-- goes before that of an alias, and one that states the days of a listing before one that does not.
WITH all_identifiers AS (
    SELECT * FROM identifiers
    WHERE latest
    UNION ALL BY NAME
    SELECT
        service_id, 'lei' AS id_type, lei AS id_value, lei_status AS status, available_at, source,
        source_ref, license_class, observed_at, alias, match_method
    FROM entities
    WHERE latest AND lei IS NOT NULL
)

SELECT
    *,
    -- upper case of a to z only, as the reader does it
    translate(id_value, 'abcdefghijklmnopqrstuvwxyz', 'ABCDEFGHIJKLMNOPQRSTUVWXYZ') AS id_match
FROM all_identifiers
QUALIFY row_number() OVER (
    PARTITION BY
        service_id, id_type, id_match, CASE WHEN id_type NOT IN ('lei', 'ticker') THEN issuer END
    -- the order is total: which of two equal mappings is served must not be chance, nor whether it
    -- is the mapping or the record itself that states an LEI
    ORDER BY
        alias IS NOT NULL, issuer IS NULL, valid_from IS NULL AND valid_to IS NULL,
        available_at DESC NULLS LAST, source, source_ref, id_value, row_id NULLS LAST
) = 1;
