"""Resolve the parties of tenders to organisations: by register number, LEI, or exact name.

Never by similarity. A party that could be two organisations stays unresolved, and so does a name
that is known under another number than the party's. Withheld parties are never looked up.
"""

import duckdb
import pyarrow as pa

from assets.entities.comparison_keys import (
    IDENTIFIER_KEYS,
    create_key_tables,
    create_name_table,
    has_digits_sql,
    normalised_number_sql,
)
from warehouse.tables import PartyMatch
from warehouse.tables.column import identity_of

PARTY_COLUMNS = identity_of(PartyMatch)

# A jurisdiction may be a subdivision, as in ``US-DE``: its first two letters are the country.
_COUNTRY = "nullif(upper(left(trim({}), 2)), '')"
# Names are compared only within a country, so only its organisations are normalised and read.
_HAS_PARTIES = (
    f"{_COUNTRY.format('jurisdiction')} IN (SELECT {_COUNTRY.format('country')} FROM parties)"
)
_NAMES = f"""
SELECT name AS value FROM parties UNION ALL SELECT legal_name FROM entities WHERE {_HAS_PARTIES}
""".strip()

_NUMBER = normalised_number_sql("identifier_id", "odd")
_IS_COMPARABLE = f"""
{_NUMBER} IS NOT NULL AND registers.register IS NOT NULL
AND (registers.id_type = 'lei' OR {has_digits_sql("identifier_id", "odd")})
""".strip()
_MATCHES = f"""
-- what identifies an organisation
WITH organisation_keys AS (
    SELECT service_id AS organisation, id_type, register, number FROM ({IDENTIFIER_KEYS})
    -- an ISIN is of a security; parties state register numbers or LEIs
    WHERE id_type <> 'isin'
),
by_key AS (
    SELECT id_type, register, number,
        min(organisation) AS organisation, min(organisation) <> max(organisation) AS is_ambiguous
    FROM organisation_keys GROUP BY id_type, register, number
),
-- in which registers an organisation has a number
registrations AS (SELECT DISTINCT organisation, id_type, register FROM organisation_keys),
organisation_names AS (
    SELECT {_COUNTRY.format("jurisdiction")} AS country, normalised AS name,
        service_id AS organisation
    FROM entities JOIN normalised_names ON normalised_names.value = legal_name
    WHERE {_HAS_PARTIES}
),
-- a name is only evidence if one organisation of the country bears it
by_name AS (
    SELECT country, name,
        min(organisation) AS organisation, min(organisation) <> max(organisation) AS is_ambiguous
    FROM organisation_names GROUP BY country, name
),
-- the parties with the number and the name they state, in comparable form
party_keys AS (
    SELECT parties.*, {_COUNTRY.format("country")} AS name_country,
        normalised_names.normalised AS normalised_name,
        CASE WHEN {_IS_COMPARABLE} THEN registers.id_type END AS id_type,
        CASE WHEN registers.id_type = 'registry' THEN registers.register END AS register,
        {_NUMBER} AS number
    FROM parties
    LEFT JOIN normalised_names ON normalised_names.value = parties.name
    LEFT JOIN registers ON registers.value = identifier_scheme
    LEFT JOIN odd_numbers AS odd ON odd.value = identifier_id
),
lookups AS (
    SELECT party_keys.*,
        by_key.organisation AS key_organisation, by_key.is_ambiguous AS key_is_ambiguous,
        by_name.organisation AS name_organisation, by_name.is_ambiguous AS name_is_ambiguous,
        -- the key was not found, but the organisation of this name has one of the same register
        registrations.organisation IS NOT NULL AS has_other_number
    FROM party_keys
    LEFT JOIN by_key ON by_key.id_type = party_keys.id_type AND by_key.number = party_keys.number
        AND by_key.register IS NOT DISTINCT FROM party_keys.register
    LEFT JOIN by_name ON by_name.country = party_keys.name_country
        AND by_name.name = party_keys.normalised_name
    LEFT JOIN registrations ON registrations.organisation = by_name.organisation
        AND registrations.id_type = party_keys.id_type
        AND registrations.register IS NOT DISTINCT FROM party_keys.register
),
-- the key decides; only without a hit by key does the name count
decisions AS (
    SELECT *, CASE
        WHEN key_is_ambiguous THEN 'ambiguous: several organisations bear this identifier'
        WHEN key_organisation IS NOT NULL THEN NULL
        WHEN normalised_name IS NULL OR name_country IS NULL
        THEN 'no name and country to look for'
        WHEN name_is_ambiguous
        THEN 'ambiguous: several organisations of the country have this name'
        WHEN name_organisation IS NULL
        THEN 'no organisation of the country is known by this identifier or this name'
        WHEN has_other_number THEN 'the name is known under another number than the one stated'
    END AS reason
    FROM lookups
)
SELECT {", ".join(PARTY_COLUMNS)},
    CASE WHEN reason IS NULL THEN coalesce(key_organisation, name_organisation) END AS service_id,
    CASE WHEN reason IS NOT NULL THEN NULL WHEN key_organisation IS NULL THEN 'exact_name'
        WHEN id_type = 'lei' THEN 'lei' ELSE 'registry_id' END AS match_method,
    reason
FROM decisions
"""


def resolve_parties(sql: duckdb.DuckDBPyConnection) -> pa.Table:
    """Return a match or a reason for each of ``parties``.

    Reads ``parties``, ``identifiers`` and ``entities`` of the connection, which have canonical
    ids. Parties are distinct, and none of them is withheld.
    """
    create_key_tables(
        sql,
        more_numbers="SELECT identifier_id FROM parties",
        more_codes="SELECT identifier_scheme FROM parties",
    )
    create_name_table(sql, _NAMES)
    return sql.sql(_MATCHES).to_arrow_table()
