"""SQL of served rows: parties, releases, organisations and identifiers, from snapshot tables.

Only SQL: the surfaces load this module through ``tables``.
"""

from warehouse.mart.row_json import PROVENANCE
from warehouse.tables import Entity, PartyMatch, TenderParty
from warehouse.tables.column import content_of, identity_of, members_of
from warehouse.tables.entities import NAME_LISTS

# What a release states about a party; two statements that agree in all of it are one party.
SAME_PARTY = " AND ".join(
    f"matched.{name} IS NOT DISTINCT FROM party.{name}" for name in identity_of(PartyMatch)
)
PARTY_ID = "md5(concat_ws('/', source, country, party_key, role, coalesce(service_id, '-')))"

# A row of a party is about all releases that name it in a role.
_PARTY = ("source", "country", "party_key", "role", "service_id")
# Columns taken from the newest release that names the party.
_SHOWN = (*content_of(TenderParty), *members_of(TenderParty, "own"), "match_method", *PROVENANCE)
_NEWEST = ", ".join(f"'{name}': {name}" for name in dict.fromkeys(_SHOWN) if name not in _PARTY)

# Each named party of the latest releases with its organisation, where that is resolved. The
# resolution is that of the data_version; it does not depend on ``as_of``. Withheld parties have
# no name and are left out.
RESOLVED = f"""
SELECT party.*, matched.service_id, matched.match_method
FROM tender_parties AS party LEFT JOIN party_matches AS matched ON {SAME_PARTY}
WHERE party.latest AND party.name IS NOT NULL
""".strip()

# One row for each party, role and organisation.
PARTIES = f"""
WITH grouped AS (
    SELECT {", ".join(_PARTY)}, count(*) AS releases,
        min(released_on) AS first_release, max(released_on) AS last_release,
        -- One struct, so that all members come from one release: arg_max of a single column would
        -- skip its nulls.
        arg_max(
            {{{_NEWEST}}},
            concat_ws('/', coalesce(released_on, DATE '0001-01-01'), ocid, release_id)
        ) AS newest
    FROM ({RESOLVED}) GROUP BY ALL
)
SELECT
    {PARTY_ID} AS party_id,
    {", ".join(_PARTY)}, releases, first_release, last_release,
    unnest(newest),
    CASE WHEN newest.identifier_id IS NOT NULL
        THEN {{'scheme': newest.identifier_scheme, 'id': newest.identifier_id}}
    END AS identifier
FROM grouped
""".strip()


# Newest first. An undated release comes last: '' sorts before every date.
RELEASES_ORDER = (
    "country, coalesce(CAST(released_on AS VARCHAR), '') DESC, ocid DESC, release_id DESC, "
    "source DESC, vintage"
)

RELEASES = f"""
-- A release may name several buyers; always the same one of them becomes its buyer_id.
WITH buyers AS (
    SELECT source, ocid, release_id, min(service_id) AS buyer_id
    FROM ({RESOLVED}) WHERE role = 'buyer' AND service_id IS NOT NULL GROUP BY ALL
)
SELECT released.* REPLACE (string_split(tag, ',') AS tag), released_on AS date,
    json_keys(release) AS release_members, buyers.buyer_id
FROM tender_releases AS released
LEFT JOIN buyers ON buyers.source = released.source AND buyers.ocid = released.ocid
    AND buyers.release_id = released.release_id
""".strip()


# Whose record of an organisation comes first: it gives the name and the provenance. Where it
# leaves a member out, the next one is taken; other names are those of all.
_FIRST_RECORD = """
list_position(['gleif', 'gleif-api', 'sec-submissions', 'sec-companyfacts'], source) NULLS LAST,
alias IS NOT NULL, lei IS NULL, available_at DESC NULLS LAST, source, source_ref
""".strip()
_MERGED = [
    name for name in content_of(Entity) if name not in ("legal_name", "same_as", *NAME_LISTS)
]
_LISTED_NAMES = " UNION ALL ".join(
    f"SELECT service_id, '{kind}' AS kind, place, CAST(CAST({kind} AS JSON) AS VARCHAR[]) AS names "
    f"FROM records WHERE records > 1 AND {kind} IS NOT NULL"
    for kind in NAME_LISTS
)
_NAMES = ", ".join(
    f"CASE WHEN entity.records = 1 THEN CAST(entity.{kind} AS JSON) "
    f"WHEN len(merged_names.{kind}) > 0 THEN to_json(merged_names.{kind}) END AS {kind}"
    for kind in NAME_LISTS
)

# The name and the country of each organisation.
NAMED_ENTITIES = f"""
SELECT service_id, arg_min(legal_name, place) AS legal_name, arg_min(country, place) AS country
FROM (
    SELECT *, row_number() OVER (PARTITION BY service_id ORDER BY {_FIRST_RECORD}) AS place
    FROM entities WHERE latest
)
GROUP BY service_id
""".strip()

# One record for each organisation, in which those of all registers are merged.
CURRENT_ENTITIES = f"""
WITH records AS (
    SELECT *, row_number() OVER (PARTITION BY service_id ORDER BY {_FIRST_RECORD}) AS place,
        count(*) OVER (PARTITION BY service_id) AS records
    FROM entities WHERE latest
),
-- most organisations have one record: only the others are merged
merged AS (
    SELECT service_id, {", ".join(f"arg_min({name}, place) AS {name}" for name in _MERGED)}
    FROM records WHERE records > 1 GROUP BY service_id
),
listed_names AS ({_LISTED_NAMES}),
every_name AS (
    SELECT service_id, 'other_names' AS kind, place, 0 AS position, legal_name AS name
    FROM records WHERE records > 1
    UNION ALL
    SELECT service_id, kind, place, generate_subscripts(names, 1), unnest(names)
    FROM listed_names
),
distinct_names AS (
    SELECT service_id, kind, name, min((place, position)) AS place FROM every_name
    WHERE name IS NOT NULL GROUP BY ALL
),
merged_names AS (
    PIVOT (
        SELECT service_id, kind,
            -- the first of all names is the legal one
            list(name ORDER BY place)[CASE kind WHEN 'other_names' THEN 2 ELSE 1 END:] AS names
        FROM distinct_names GROUP BY service_id, kind
    ) ON kind IN ({", ".join(f"'{kind}'" for kind in NAME_LISTS)}) USING first(names)
    GROUP BY service_id
),
aliases AS (
    SELECT same_as AS service_id, list(service_id ORDER BY service_id) AS aliases,
        list({{'service_id': service_id, 'match_method': match_method}} ORDER BY service_id)
            AS joins
    FROM same_as GROUP BY same_as
),
tickers AS (
    SELECT DISTINCT service_id, id_value, status FROM identifiers
    WHERE latest AND id_type = 'ticker'
),
listings AS (
    SELECT service_id, list({{
        'mic': split_part(id_value, ':', 1),
        'ticker': substr(id_value, strpos(id_value, ':') + 1),
        'status': status
    }} ORDER BY id_value, status) AS listings
    FROM tickers GROUP BY service_id
),
-- which datasets have rows of the organisation
mentions AS (
    SELECT service_id, 'AF-FUND' AS dataset FROM fundamentals WHERE latest
    UNION SELECT service_id, 'AF-TENDER' FROM party_matches WHERE service_id IS NOT NULL
),
datasets AS (
    SELECT service_id, list(DISTINCT dataset ORDER BY dataset) AS datasets
    FROM mentions GROUP BY service_id
)
SELECT
    entity.* REPLACE (
        CAST(NULL AS VARCHAR) AS same_as,
        {", ".join(f"coalesce(entity.{name}, merged.{name}) AS {name}" for name in _MERGED)},
        {_NAMES}
    ),
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
WHERE entity.place = 1
""".strip()

# Each identifier of an organisation once, and the LEI of its own record if no mapping file has
# it. ``match_method`` is the evidence that joined the id under which it was stated; null if that
# is the canonical one.
CURRENT_IDENTIFIERS = """
WITH all_identifiers AS (
    SELECT * FROM identifiers WHERE latest
    UNION ALL BY NAME
    SELECT service_id, 'lei' AS id_type, lei AS id_value, lei_status AS status, available_at,
        source, source_ref, license_class, observed_at, alias, match_method
    FROM entities WHERE latest AND lei IS NOT NULL
)
-- An LEI is unique worldwide, so it does not matter who reports it; any other number is unique only
-- within its issuer. An organisation's own mapping goes before that of an alias.
SELECT *, service_id AS organisation,
    -- upper case of a to z only, as the reader does it
    translate(id_value, 'abcdefghijklmnopqrstuvwxyz', 'ABCDEFGHIJKLMNOPQRSTUVWXYZ') AS id_match
FROM all_identifiers
QUALIFY row_number() OVER (
    PARTITION BY organisation, id_type, id_match, CASE WHEN id_type <> 'lei' THEN issuer END
    -- source_ref makes the order total: which of two equal mappings is served must not be chance
    ORDER BY alias IS NOT NULL, issuer IS NULL, available_at DESC NULLS LAST, source, source_ref,
        id_value
) = 1
""".strip()
