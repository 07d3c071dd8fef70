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
from assets.entities.legal_names import CRUDE_KEY, NAMES_WITH_PLACE
from warehouse.tables import PartyMatch
from warehouse.tables.column import identity_of

PARTY_COLUMNS = identity_of(PartyMatch)

# Names are compared only within a country, so only its organisations are normalised and read; and
# of those only what may be the name of a party.
_PARTY_COUNTRY = "nullif(upper(left(trim(country), 2)), '')"
_ENTITY_NAMES = f"""
CREATE OR REPLACE TEMP TABLE entity_names AS
WITH names AS ({NAMES_WITH_PLACE}),
party_keys AS (
    SELECT DISTINCT {_PARTY_COUNTRY} AS place, {CRUDE_KEY} AS crude_key FROM parties
)
SELECT DISTINCT service_id, place, name
FROM (
    SELECT *, {CRUDE_KEY} AS crude_key FROM names
    WHERE place IN (SELECT place FROM party_keys)
)
SEMI JOIN party_keys USING (place, crude_key)
""".strip()
_NAMES = "SELECT name AS value FROM parties UNION ALL SELECT name FROM entity_names"

_NUMBER = normalised_number_sql("identifier_id", "odd")
_IS_COMPARABLE = f"""
{_NUMBER} IS NOT NULL AND registers.register IS NOT NULL
AND (registers.id_type = 'lei' OR {has_digits_sql("identifier_id", "odd")})
""".strip()
_MATCHES = f"""
-- what identifies an organisation
WITH organisation_keys AS (
    SELECT service_id AS organisation, id_type, register, number FROM ({IDENTIFIER_KEYS})
    -- parties state register numbers or LEIs
    WHERE id_type IN ('lei', 'registry')
),
by_key AS (
    SELECT id_type, register, number,
        min(organisation) AS organisation, min(organisation) <> max(organisation) AS is_ambiguous
    FROM organisation_keys GROUP BY id_type, register, number
),
-- in which registers an organisation has a number
registrations AS (SELECT DISTINCT organisation, id_type, register FROM organisation_keys),
organisation_names AS (
    SELECT place AS country, normalised AS name, service_id AS organisation
    FROM entity_names JOIN normalised_names ON normalised_names.value = entity_names.name
),
-- a name is only evidence if one organisation of the country bears it
by_name AS (
    SELECT country, name,
        min(organisation) AS organisation, min(organisation) <> max(organisation) AS is_ambiguous
    FROM organisation_names GROUP BY country, name
),
-- the parties with the number and the name they state, in comparable form
party_keys AS (
    SELECT parties.*, {_PARTY_COUNTRY} AS name_country,
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
    sql.execute(_ENTITY_NAMES)
    create_name_table(sql, _NAMES)
    return sql.sql(_MATCHES).to_arrow_table()
