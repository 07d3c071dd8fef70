"""Derive which ids are one organisation, and which organisation a party is, for a build.

This is a part of publishing, not a step before it: the rows follow from exactly the loads of the
build, which only the publisher knows, and a build that fails leaves nothing behind.
"""

from contextlib import closing

import duckdb
import pyarrow as pa

from assets.derive.joined_ids import (
    CRUDE_KEY,
    IDENTIFIER_KEYS,
    NAMES_WITH_PLACE,
    create_key_tables,
    create_name_table,
    has_digits_sql,
    normalised_number_sql,
    same_as_table,
)
from warehouse.publish.partitions import REGISTERS, TENDERS
from warehouse.publish.snapshot import Derivation, DerivedTables, Snapshot
from warehouse.shared.code_version import code_version
from warehouse.tables import PartyMatch
from warehouse.tables.column import identity_of

# Resolve the parties of tenders to organisations: by register number, LEI, or exact name.
#
# Never by similarity. A party that could be two organisations stays unresolved, and so does a
# name that is known under another number than the party's. Withheld parties are never looked up.

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


# Only what the rules read: the tables have millions of rows.
COLUMNS = {
    "identifiers": (
        *("service_id", "id_type", "id_value", "issuer", "source", "status", "figi_level"),
        *("valid_from", "valid_to"),
    ),
    "entities": (
        *("service_id", "legal_name", "other_names", "trading_names", "jurisdiction", "country"),
        *("lei", "lei_status", "same_as", "source"),
    ),
}
# The latest rows, and until when they were known: without an end.
_LATEST = """
SELECT {columns}, TRUE AS is_current, available_at AS known_from, CAST(NULL AS DATE) AS known_until
FROM main.{table} WHERE latest
"""
# What sources showed and later withdrew, as they showed it last. GLEIF withdraws a record only if
# it is a person's: that is evidence of nothing.
_WITHDRAWN = """
WITH histories AS (
    SELECT * FROM main.{table} SEMI JOIN (
        SELECT figure, figure_check FROM main.{table} WHERE withdrawn
    ) USING (figure, figure_check)
    WHERE source NOT LIKE 'gleif%'
    QUALIFY NOT bool_or(latest) OVER (PARTITION BY figure, figure_check)
)
SELECT {columns}, FALSE, available_at, superseded_at FROM histories WHERE NOT withdrawn
QUALIFY row_number() OVER (PARTITION BY figure, figure_check ORDER BY vintage DESC) = 1
"""
# Parties that are established to be organisations; all others are withheld.
_IS_ORGANISATION = "name IS NOT NULL AND org_evidence IS NOT NULL"


def same_as(snapshot: Snapshot) -> DerivedTables:
    """Derive ``same_as`` from the registers of a snapshot: which ids are one organisation."""
    with closing(_registers(snapshot, _LATEST, _WITHDRAWN)) as sql:
        return {"same_as": same_as_table(sql)}


def party_matches(snapshot: Snapshot) -> DerivedTables:
    """Derive ``party_matches`` from a snapshot with canonical ids.

    Every vintage of a party is resolved against the organisations as they are known now: which
    organisation a party is does not depend on ``as_of``.
    """
    with closing(_registers(snapshot, _LATEST)) as sql:
        # Each spelling of a party once, not once for each release.
        parties = f"SELECT DISTINCT {', '.join(PARTY_COLUMNS)} FROM tender_parties"
        sql.execute(f"CREATE TEMP TABLE parties AS {parties} WHERE {_IS_ORGANISATION}")
        return {"party_matches": resolve_parties(sql)}


def _registers(snapshot: Snapshot, *rows: str) -> duckdb.DuckDBPyConnection:
    """Return a cursor whose tables of registers have the given rows only."""
    sql = snapshot.sql.cursor()
    # Temporary tables shadow those of the snapshot.
    for table, columns in COLUMNS.items():
        selected = " UNION ALL ".join(f"({query})" for query in rows)
        statement = selected.format(table=table, columns=", ".join(columns))
        sql.execute(f"CREATE TEMP TABLE {table} AS {statement}")
    return sql


def joins() -> Derivation:
    """Return the derivation of ``same_as``, under the version of this code."""
    return Derivation(
        code_version("joins", "assets.derive.organisations"),
        same_as,
        makes=("same_as",),
        subject=REGISTERS,
        reads=("entities", "identifiers"),
    )


def derivation() -> Derivation:
    """Return the derivation of ``party_matches``, under the version of this code."""
    return Derivation(
        code_version("entities", "assets.derive.organisations"),
        party_matches,
        makes=("party_matches",),
        subject=TENDERS,
        reads=("tender_parties", "entities", "identifiers", "same_as"),
    )
