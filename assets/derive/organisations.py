"""Derive which ids are one organisation, and which organisation a party is, for a build.

This is a part of publishing, not a step before it: the rows follow from exactly the loads of the
build, which only the publisher knows, and a build that fails leaves nothing behind.

SQL finds the few ids that share something; ``joined_ids`` decides about those.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial

import duckdb
import pyarrow as pa

from assets.derive.joined_ids import Claim, Evidence, Number, joined_ids
from assets.entities.identifiers import (
    CNPJ_FORM,
    CNPJ_REGISTER,
    LEI_SCHEMES,
    comparable_listing,
    has_digits,
    normalise_number,
    register_of,
)
from assets.entities.list_files import COMMUNITY_LISTS
from warehouse.names.search_words import SHORT_FORMS, normalise_name
from warehouse.publish.partitions import COUNTRIES, REGISTERS
from warehouse.publish.snapshot import Derivation, DerivedTables, Snapshot
from warehouse.record.tables import arrow_schema
from warehouse.shared.code_version import code_version
from warehouse.shared.data_files import sql_file
from warehouse.tables.column import identity_of
from warehouse.tables.derived import PartyMatch, SameAs, VetoedJoin

PARTY_COLUMNS = identity_of(PartyMatch)
JOINED = ("same_as", "vetoed_joins")
# Printable ASCII without blanks and lower case: already normalised. Nearly all values are.
NORMALISED_NUMBER = "[!-`{-~]+"
_FORM_WORDS = {
    word for form in (*SHORT_FORMS, *SHORT_FORMS.values(), "the") for word in form.split()
}
KEYS = sql_file(
    __name__,
    "organisation_keys",
    fragments={
        "normalised_number": NORMALISED_NUMBER,
        "form_words": "|".join(sorted(_FORM_WORDS)),
        "cnpj_form": CNPJ_FORM,
        "cnpj_register": CNPJ_REGISTER,
    },
)
_SHARED = sql_file(__name__, "shared_keys")
_PARTIES = sql_file(
    __name__, "party_matches", fragments={"party_columns": ", ".join(PARTY_COLUMNS)}
)
# Where no parties are compared.
_NO_PARTIES = "(SELECT NULL AS identifier_id, NULL AS identifier_scheme)"
_BATCH_ROWS = 1 << 16
_TEXT = pa.string()


def joined_tables(
    sql: duckdb.DuckDBPyConnection, community: frozenset[str] = COMMUNITY_LISTS
) -> DerivedTables:
    """Return ``same_as``, a row for every alias, and ``vetoed_joins``.

    Reads the connection's ``identifiers`` and ``entities``, of any size. ``community`` are the
    keys of lists that no exchange or regulator makes.
    """
    rows = joined_ids(_evidence(sql, community))
    schemas = (arrow_schema(row) for row in (SameAs, VetoedJoin))
    tables = map(pa.Table.from_pylist, rows, schemas)
    return dict(zip(JOINED, tables, strict=True))


def resolve_parties(sql: duckdb.DuckDBPyConnection) -> pa.Table:
    """Return a match or a reason for each of ``parties``.

    Reads ``parties``, ``identifiers`` and ``entities`` of the connection, which have canonical
    ids. Parties are distinct, and none of them is withheld.
    """
    _create_keys(sql, "parties")
    _PARTIES.run(sql, "entity_names")
    _create_names(sql, _PARTIES["name_values"])
    return _PARTIES.query(sql, "matches").to_arrow_table()


def _evidence(sql: duckdb.DuckDBPyConnection, community: frozenset[str]) -> Evidence:
    """Return what ids of the connection's ``identifiers`` and ``entities`` share."""
    _create_keys(sql, _NO_PARTIES)
    listings = {"listing": (comparable_listing, _TEXT)}
    _register_lookup(sql, "comparable_listings", KEYS["listing_values"], listings)
    _SHARED.run(sql, "listed_isins")
    _SHARED.run(sql, "candidate_names")
    _create_names(sql, _SHARED["candidate_values"])
    claims = [
        Claim(*row)
        for name in ("shared_numbers", "shared_listings", "shared_names")
        for row in _SHARED.run(sql, name).fetchall()
    ]
    declared: dict[str, str] = dict(_SHARED.run(sql, "declared").fetchall())
    ids = {claim.service_id for claim in claims} | {*declared, *declared.values()}
    _SHARED.run(sql, "candidates", ids=sorted(ids))
    numbers = [Number(*row) for row in _SHARED.run(sql, "numbers").fetchall()]
    stated: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for reason, service_id, text in _SHARED.run(sql, "stated").fetchall():
        stated[reason][service_id].add(text)
    return Evidence(claims, numbers, declared, stated, community)


def _create_keys(sql: duckdb.DuckDBPyConnection, parties: str) -> None:
    """Create what compares identifiers and names; ``parties`` is a relation of further ones."""
    _register_lookup(
        sql,
        "odd_numbers",
        KEYS.statement("odd_number_values", parties=parties),
        {
            "normalised": (normalise_number, _TEXT),
            "has_digits": (lambda value: has_digits(normalise_number(value) or ""), pa.bool_()),
        },
    )
    _register_lookup(
        sql,
        "registers",
        KEYS.statement("register_codes", parties=parties),
        {"register": (register_of, _TEXT), "id_type": (_id_type_of_scheme, _TEXT)},
    )
    for name in ("crude_key", "stated_name", "identifier_keys", "names_with_place"):
        KEYS.run(sql, name)


def _create_names(sql: duckdb.DuckDBPyConnection, values: str) -> None:
    _register_lookup(sql, "normalised_names", values, {"normalised": (normalise_name, _TEXT)})


def _register_lookup(
    sql: duckdb.DuckDBPyConnection,
    name: str,
    values: str,
    columns: Mapping[str, tuple[Callable[[str], object], pa.DataType]],
) -> None:
    """Register a table of values with what Python's rules make of each."""
    fields = ((column, data_type) for column, (_, data_type) in columns.items())
    schema = pa.schema([("value", _TEXT), *fields])
    batches = []
    # In batches: a register has millions of names, which must not be Python objects at once.
    for batch in sql.sql(values).to_arrow_reader(_BATCH_ROWS):
        raw = batch.column(0).to_pylist()
        computed = [pa.array(map(rule, raw), data_type) for rule, data_type in columns.values()]
        batches.append(pa.RecordBatch.from_arrays([pa.array(raw, _TEXT), *computed], schema=schema))
    sql.register(name, pa.Table.from_batches(batches, schema))


def _id_type_of_scheme(code: str) -> str:
    return "lei" if code.strip().upper() in LEI_SCHEMES else "registry"


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
_ROWS = sql_file(__name__, "registers")
# Parties that are established to be organisations; all others are withheld.
_IS_ORGANISATION = "name IS NOT NULL AND org_evidence IS NOT NULL"


def same_as(snapshot: Snapshot, community: frozenset[str] = COMMUNITY_LISTS) -> DerivedTables:
    """Derive from the registers of a snapshot which ids are one organisation, and which are not."""
    with _registers(snapshot, "latest", "withdrawn") as sql:
        return joined_tables(sql, community)


def party_matches(snapshot: Snapshot) -> DerivedTables:
    """Derive ``party_matches`` from a snapshot with canonical ids.

    Every vintage of a party is resolved against the organisations as they are known now: which
    organisation a party is does not depend on ``as_of``.
    """
    with _registers(snapshot, "latest") as sql:
        # Each spelling of a party once, not once for each release.
        parties = f"SELECT DISTINCT {', '.join(PARTY_COLUMNS)} FROM tender_parties"
        sql.execute(f"CREATE TEMP TABLE parties AS {parties} WHERE {_IS_ORGANISATION}")
        return {"party_matches": resolve_parties(sql)}


@contextmanager
def _registers(snapshot: Snapshot, *rows: str) -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield a cursor whose tables of registers have the given rows only."""
    with snapshot.cursor() as sql:
        # Temporary tables shadow those of the snapshot.
        for table, columns in COLUMNS.items():
            fragments = {"table": table, "columns": ", ".join(columns)}
            selected = [f"({_ROWS.statement(name, **fragments)})" for name in rows]
            sql.execute(f"CREATE TEMP TABLE {table} AS {' UNION ALL '.join(selected)}")
        yield sql


def joins(community: frozenset[str] = COMMUNITY_LISTS) -> Derivation:
    """Return the derivation of ``same_as``, under the version of this code and of these lists."""
    return Derivation(
        " ".join((code_version("joins", "assets.derive.organisations"), *sorted(community))),
        partial(same_as, community=community),
        makes=JOINED,
        subject=REGISTERS,
        reads=("entities", "identifiers"),
    )


def derivation() -> Derivation:
    """Return the derivation of ``party_matches``, under the version of this code."""
    return Derivation(
        code_version("entities", "assets.derive.organisations"),
        party_matches,
        makes=("party_matches",),
        subject=COUNTRIES,
        reads=("tender_parties", "entities", "identifiers", "same_as"),
    )
