"""Identifiers and organisations as registers state them, for rules that read them by SQL."""

from collections.abc import Sequence
from contextlib import closing
from typing import Any

import duckdb
import pyarrow as pa
from hypothesis import strategies as st
from sqlmodel import SQLModel

from assets.derive.organisations import COLUMNS, joined_tables
from warehouse.record.tables import arrow_schema
from warehouse.tables.entities import Entity, EntityIdentifier

DATABASE = duckdb.connect()
LEI, OTHER = "213800FICTIONAL00192", "213800FICTIONAL00289"
NUMBER = "2001/123456/06"
_ROWS: dict[str, type[SQLModel]] = {"identifiers": EntityIdentifier, "entities": Entity}
_KNOWN = {"is_current": pa.bool_(), "known_from": pa.date32(), "known_until": pa.date32()}


def identifier(
    service_id: str, id_type: str, value: str, issuer: str | None = None, **others: Any
) -> dict[str, Any]:
    row = {"service_id": service_id, "id_type": id_type, "id_value": value, "issuer": issuer}
    return {"source": "listings", "is_current": True, **row, **others}


def entity(
    service_id: str, name: str, jurisdiction: str | None = "ZA", **columns: Any
) -> dict[str, Any]:
    row = {"service_id": service_id, "legal_name": name, "jurisdiction": jurisdiction}
    return {"source": "gleif", "is_current": True, **row, **columns}


def register_table(
    sql: duckdb.DuckDBPyConnection,
    name: str,
    rows: Sequence[dict[str, Any]],
    columns: Sequence[str] = (),
) -> None:
    """Register rows as the rules find them: columns that they read, and since when known."""
    types = dict.fromkeys(columns, pa.string())
    if name in _ROWS:
        schema = arrow_schema(_ROWS[name])
        types = {column: schema.field(column).type for column in COLUMNS[name]} | _KNOWN
    arrays = {
        column: pa.array([row.get(column) for row in rows], type_)
        for column, type_ in types.items()
    }
    sql.register(name, pa.table(arrays))


def joins(
    identifiers: Sequence[dict[str, Any]] = (), entities: Sequence[dict[str, Any]] = ()
) -> list[dict[str, str]]:
    """Join ids by what registers state of them."""
    return joined(identifiers, entities)[0]


def joined(
    identifiers: Sequence[dict[str, Any]] = (), entities: Sequence[dict[str, Any]] = ()
) -> tuple[list[dict[str, str]], list[dict[str, str]]]:
    """Return the joins, and the vetoed ones."""
    with closing(DATABASE.cursor()) as sql:
        register_table(sql, "identifiers", identifiers)
        register_table(sql, "entities", entities)
        same_as, vetoed = joined_tables(sql).values()
        return same_as.to_pylist(), vetoed.to_pylist()


IDS = st.sampled_from("ABCDEFGH")
IDENTIFIERS = st.lists(
    st.one_of(
        st.builds(identifier, IDS, st.just("lei"), st.sampled_from([LEI, OTHER, "L3"])),
        st.builds(
            identifier,
            IDS,
            st.just("registry"),
            st.sampled_from(["1", " 1", "２", "2", "0", "n/a", "x1"]),
            st.sampled_from(["RA000531", "za-cip ", "RA000469", " "]),
            source=st.sampled_from(["gleif", "register"]),
            is_current=st.booleans(),
        ),
        st.builds(identifier, IDS, st.sampled_from(["isin", "ticker", "cik"]), st.just("I")),
        st.builds(identifier, IDS, st.just("isin"), st.sampled_from(["i", "J"])),
        st.builds(identifier, IDS, st.just("ticker"), st.just("XJSE:A"), st.just("XJSE")),
    ),
    max_size=14,
)
ENTITIES = st.lists(
    st.builds(
        entity,
        IDS,
        st.sampled_from(["Ubuntu Ltd", "UBUNTU LIMITED", "Baobab Ltd"]),
        st.sampled_from(["ZA", "NG"]),
        same_as=st.one_of(st.none(), IDS),
        lei=st.sampled_from([None, LEI, f" {LEI.lower()}"]),
        source=st.sampled_from(["gleif", "sec-submissions", "listings"]),
    ),
    max_size=6,
)
