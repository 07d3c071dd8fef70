"""Which organisation a party of a tender is: by number, by LEI, or by its exact name.

Never by likeness. What could be two organisations stays unresolved, as does a name that is known
under another number than the party's; a withheld party is never looked up.
"""

import duckdb
import pyarrow as pa

from assets.entities.folded import fold_names, number, numbered
from assets.entities.keys import BORNE, fold

PARTY = ("source", "country", "party_key", "name", "identifier_scheme", "identifier_id")

_PLACE = "nullif(upper(left(trim({}), 2)), '')"
_AT_HOME = f"{_PLACE.format('jurisdiction')} IN (SELECT {_PLACE.format('country')} FROM parties)"
_NAMES = f"""
SELECT name AS value FROM parties UNION ALL SELECT legal_name FROM entities WHERE {_AT_HOME}
""".strip()

_NUMBER = number("identifier_id", "odd")
_IS_KEY = f"""
{_NUMBER} IS NOT NULL AND codes.register IS NOT NULL
AND (codes.kind = 'lei' OR {numbered("identifier_id", "odd")})
""".strip()
_RESOLVED = f"""
WITH owned AS (
    SELECT coalesce(pointing.same_as, borne.service_id) AS owner, kind, register, number
    FROM ({BORNE}) AS borne LEFT JOIN same_as AS pointing ON pointing.service_id = borne.service_id
    WHERE kind <> 'isin'
),
by_key AS (
    SELECT kind, register, number, min(owner) AS owner, min(owner) <> max(owner) AS several
    FROM owned GROUP BY kind, register, number
),
numbered AS (SELECT DISTINCT owner, kind, register FROM owned),
named AS (
    SELECT {_PLACE.format("jurisdiction")} AS place, plain,
        coalesce(pointing.same_as, entities.service_id) AS owner
    FROM entities
    JOIN plain_names ON plain_names.value = legal_name
    LEFT JOIN same_as AS pointing ON pointing.service_id = entities.service_id
    WHERE {_AT_HOME}
),
by_name AS (
    SELECT place, plain, min(owner) AS owner, min(owner) <> max(owner) AS several
    FROM named GROUP BY place, plain
),
stated AS (
    SELECT parties.*, {_PLACE.format("country")} AS place, plain_names.plain,
        CASE WHEN {_IS_KEY} THEN codes.kind END AS kind,
        CASE WHEN codes.kind = 'registry' THEN codes.register END AS register,
        {_NUMBER} AS number
    FROM parties
    LEFT JOIN plain_names ON plain_names.value = parties.name
    LEFT JOIN codes ON codes.value = identifier_scheme
    LEFT JOIN odd_numbers AS odd ON odd.value = identifier_id
),
found AS (
    SELECT stated.*, by_key.owner AS key_owner, by_key.several AS key_several,
        by_name.owner AS name_owner, by_name.several AS name_several,
        numbered.owner IS NOT NULL AS other_number
    FROM stated
    LEFT JOIN by_key ON by_key.kind = stated.kind AND by_key.number = stated.number
        AND by_key.register IS NOT DISTINCT FROM stated.register
    LEFT JOIN by_name ON by_name.place = stated.place AND by_name.plain = stated.plain
    LEFT JOIN numbered ON numbered.owner = by_name.owner AND numbered.kind = stated.kind
        AND numbered.register IS NOT DISTINCT FROM stated.register
),
judged AS (
    SELECT *, CASE
        WHEN key_several THEN 'ambiguous: several organisations bear this identifier'
        WHEN key_owner IS NOT NULL THEN NULL
        WHEN plain IS NULL OR place IS NULL THEN 'no name and country to look for'
        WHEN name_several THEN 'ambiguous: several organisations of the country have this name'
        WHEN name_owner IS NULL
        THEN 'no organisation of the country is known by this identifier or this name'
        WHEN other_number THEN 'the name is known under another number than the one stated'
    END AS reason
    FROM found
)
SELECT {", ".join(PARTY)},
    CASE WHEN reason IS NULL THEN coalesce(key_owner, name_owner) END AS service_id,
    CASE WHEN reason IS NOT NULL THEN NULL WHEN key_owner IS NULL THEN 'exact_name'
        WHEN kind = 'lei' THEN 'lei' ELSE 'registry_id' END AS match_method,
    reason
FROM judged
"""


def resolve(sql: duckdb.DuckDBPyConnection) -> pa.Table:
    """Resolve each of ``parties``, by ``identifiers``, ``entities`` and ``same_as``.

    These are tables of the connection; every party stands in its own once, and is none that
    was withheld. An organisation with two ids is the one that the other points to.
    """
    fold(sql, "SELECT identifier_id FROM parties", "SELECT identifier_scheme FROM parties")
    fold_names(sql, _NAMES)
    return sql.sql(_RESOLVED).to_arrow_table()
