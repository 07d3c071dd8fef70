"""SQL of served rows: parties, releases, organisations and identifiers, from snapshot tables.

Only SQL: the surfaces load this module through ``tables``.
"""

from warehouse.mart.row_json import PROVENANCE
from warehouse.tables import PartyMatch, TenderParty
from warehouse.tables.column import content_of, identity_of, members_of

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


# One record for each service_id. If several registers describe it, the record with an LEI goes
# first, then the newest; members of two registers are never mixed, since a row has one source.
# Two ids that are the same organisation both have a record, and ``same_as`` of one names the
# other; listings and datasets are those of the organisation.
CURRENT_ENTITIES = """
WITH tickers AS (
    SELECT DISTINCT coalesce(same_as, service_id) AS organisation, id_value, status
    FROM identifiers LEFT JOIN same_as USING (service_id) WHERE latest AND id_type = 'ticker'
),
listings AS (
    SELECT organisation, list({
        'mic': split_part(id_value, ':', 1),
        'ticker': substr(id_value, strpos(id_value, ':') + 1),
        'status': status
    } ORDER BY id_value, status) AS listings
    FROM tickers GROUP BY organisation
),
-- which datasets have rows of the organisation
mentions AS (
    SELECT service_id, 'AF-FUND' AS dataset FROM fundamentals WHERE latest
    UNION SELECT service_id, 'AF-TENDER' FROM party_matches WHERE service_id IS NOT NULL
),
datasets AS (
    SELECT coalesce(same_as, service_id) AS organisation,
        list(DISTINCT dataset ORDER BY dataset) AS datasets
    FROM mentions LEFT JOIN same_as USING (service_id) GROUP BY 1
)
SELECT
    entity.* REPLACE (
        pointing.same_as AS same_as, CAST(entity.other_names AS JSON) AS other_names,
        CAST(entity.former_names AS JSON) AS former_names,
        CAST(entity.trading_names AS JSON) AS trading_names
    ),
    countries.country_iso3,
    coalesce(listings.listings, []) AS listings,
    coalesce(datasets.datasets, []) AS datasets
FROM entities AS entity
LEFT JOIN same_as AS pointing ON pointing.service_id = entity.service_id
LEFT JOIN listings ON listings.organisation = coalesce(pointing.same_as, entity.service_id)
LEFT JOIN datasets ON datasets.organisation = coalesce(pointing.same_as, entity.service_id)
LEFT JOIN countries ON countries.country = entity.country
WHERE latest
QUALIFY row_number() OVER (
    PARTITION BY entity.service_id
    ORDER BY entity.lei IS NULL, entity.available_at DESC NULLS LAST, entity.source
) = 1
""".strip()

# Each identifier of an organisation once, including those of ids that point to it, and the LEI
# of its own record if no mapping file has it.
CURRENT_IDENTIFIERS = f"""
WITH all_identifiers AS (
    SELECT * FROM identifiers WHERE latest
    UNION ALL BY NAME
    SELECT service_id, 'lei' AS id_type, lei AS id_value, lei_status AS status, available_at,
        source, source_ref, license_class, observed_at
    FROM ({CURRENT_ENTITIES}) WHERE lei IS NOT NULL
),
-- id_match: upper case of a to z only, as the reader does it
of_organisations AS (
    SELECT all_identifiers.*,
        coalesce(pointing.same_as, all_identifiers.service_id) AS organisation,
        translate(id_value, 'abcdefghijklmnopqrstuvwxyz', 'ABCDEFGHIJKLMNOPQRSTUVWXYZ') AS id_match
    FROM all_identifiers
    LEFT JOIN same_as AS pointing ON pointing.service_id = all_identifiers.service_id
)
-- An LEI is unique worldwide, so it does not matter who reports it; any other number is unique only
-- within its issuer. An organisation's own mapping goes before that of an id that points to it.
SELECT * FROM of_organisations
QUALIFY row_number() OVER (
    PARTITION BY organisation, id_type, id_match, CASE WHEN id_type <> 'lei' THEN issuer END
    -- source_ref makes the order total: which of two equal mappings is served must not be chance
    ORDER BY service_id <> organisation, issuer IS NULL, available_at DESC NULLS LAST, source,
        source_ref
) = 1
""".strip()
