"""Derive which ids are one organisation, and which organisation a party is, for a build.

This is a part of publishing, not a step before it: the rows follow from exactly the loads of the
build, which only the publisher knows, and a build that fails leaves nothing behind.
"""

from contextlib import closing

import duckdb

from assets.entities.joined_ids import same_as_table
from assets.entities.resolve_parties import PARTY_COLUMNS, resolve_parties
from warehouse.code_version import code_version
from warehouse.mart.partitions import REGISTERS, TENDERS
from warehouse.mart.snapshot import Derivation, DerivedTables, Snapshot

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
        code_version("joins", "assets.entities.derive"),
        same_as,
        makes=("same_as",),
        subject=REGISTERS,
        reads=("entities", "identifiers"),
    )


def derivation() -> Derivation:
    """Return the derivation of ``party_matches``, under the version of this code."""
    return Derivation(
        code_version("entities", "assets.entities.derive"),
        party_matches,
        makes=("party_matches",),
        subject=TENDERS,
        reads=("tender_parties", "entities", "identifiers", "same_as"),
    )
