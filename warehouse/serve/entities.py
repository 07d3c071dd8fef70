"""Organisations: one by its id, or those that a search finds."""

from dataclasses import dataclass
from functools import lru_cache, partial
from typing import get_args

import msgspec

from warehouse.serve.build import Build, Mart
from warehouse.serve.packs import row_of_key
from warehouse.serve.rows import (
    Key,
    Order,
    RowPage,
    equal,
    fetch_page,
    fetch_rows,
    make_page,
    one_of,
    page_of,
    storable,
)
from warehouse.serve.search import found_rows
from warehouse.shared.json_encoding import encode
from warehouse.tables.entities import IdType

# Ids of organisations: the canonical one of each alias, and the identifiers that others gave.
#
# Current identifiers only, in both directions.

ID_TYPES: tuple[str, ...] = get_args(IdType)
# All other types are the paid crosswalk.
FREE_ID_TYPES = ("lei", "ticker")
MAX_MATCHES = 20
# Ids of which a thread remembers whether they are aliases.
_MAX_IDS = 16_384


@dataclass(frozen=True)
class Crosswalk:
    """The identifiers of one organisation; ``withheld_id_types`` need a paid key."""

    service_id: str
    legal_name: str | None
    crosswalk_loaded: bool
    identifiers: RowPage
    withheld_id_types: list[str]


@dataclass(frozen=True)
class Matches:
    """Organisations with an identifier, at most 20; ``ambiguous`` if there is more than one."""

    rows: RowPage
    ambiguous: bool


def same_as_id(build: Build, service_id: str) -> str | None:
    """Return the canonical id of an alias; None if the id is no alias."""
    # Most requests ask it, mostly of the same few organisations.
    ids = build.made_once("canonical ids", lambda: lru_cache(_MAX_IDS)(partial(_same_as_id, build)))
    return ids(service_id)


def _same_as_id(build: Build, service_id: str) -> str | None:
    statement = "SELECT same_as FROM {table} WHERE service_id = ?"
    rows = build.rows("same_as", statement, storable(service_id))
    return str(rows[0][0]) if rows else None


def organisation_id(build: Build, service_id: str) -> str:
    """Return the id under which all rows of an organisation are found: the canonical one."""
    return same_as_id(build, service_id) or service_id


def organisation_ids(build: Build, service_id: str) -> list[str]:
    """Return every id of an organisation, the canonical one first."""
    owner = organisation_id(build, service_id)
    statement = "SELECT service_id FROM {table} WHERE same_as = ? ORDER BY service_id"
    return [owner, *(str(alias) for (alias,) in build.rows("same_as", statement, storable(owner)))]


def is_known_id(build: Build, service_id: str) -> bool:
    """Return whether a register describes an id, or it is an alias or has one."""
    of_alias = "SELECT 1 FROM {table} WHERE service_id = ? UNION ALL "
    of_alias += "SELECT 1 FROM {table} WHERE same_as = ? LIMIT 1"
    text = storable(service_id)
    return bool(
        build.rows("entities", "SELECT 1 FROM {table} WHERE service_id = ? LIMIT 1", text)
        or build.rows("same_as", of_alias, text, text)
    )


def identifiers(
    mart: Mart,
    service_id: str,
    paid: bool,
    limit: int | None = None,
    after: Key | None = None,
) -> Crosswalk | None:
    """Return the identifiers of an organisation, None if the id is unknown.

    For an alias, it answers under the canonical id.
    """
    build = mart.build()
    owner = organisation_id(build, service_id)
    id_types = [str(id_type) for (id_type,) in _id_types(build, owner)]
    name = _name_and_jurisdiction(build, service_id) or _name_and_jurisdiction(build, owner)
    if not id_types and name is None:
        return None
    served = [id_type for id_type in id_types if paid or id_type in FREE_ID_TYPES]
    # IN () is no valid SQL; no identifier has the type ''.
    of_types = [one_of("id_type", served)] if served else equal(id_type="")
    return Crosswalk(
        owner,
        None if name is None else name[0] or None,
        bool(build.rows("identifiers", "SELECT 1 FROM {table} LIMIT 1")),
        fetch_page(
            build, "identifiers", [*equal(organisation=owner), *of_types], limit, after=after
        ),
        [id_type for id_type in id_types if id_type not in served],
    )


def lookup(
    mart: Mart,
    id_type: IdType,
    id_value: str,
    limit: int | None = None,
    after: Key | None = None,
) -> Matches:
    """Return the organisations with an identifier.

    Its letters may be in any case, and a CIK may be written without its zeros.
    """
    build = mart.build()
    where = equal(id_type=id_type, id_match=_id_match(id_type, id_value))
    bearers = fetch_rows(build, "organisation, issuer", "identifiers", where)
    # Reversed, so that the first row of an organisation wins.
    issuers: dict[str, str] = {str(owner): str(issuer) for owner, issuer in reversed(bearers)}
    ids = sorted(issuers)
    rows = []
    for service_id in ids[:MAX_MATCHES]:
        name, jurisdiction = _name_and_jurisdiction(build, service_id) or ("", "")
        rows.append(
            encode(
                {
                    "service_id": service_id,
                    "legal_name": name or None,
                    "jurisdiction": jurisdiction or None,
                    "issuer": issuers[service_id] or None,
                }
            )
        )
    page = page_of(build, rows, limit, after)
    # At most 20 are ever returned, of however many there are.
    has_more = len(ids) > MAX_MATCHES and not page.truncated
    page = msgspec.structs.replace(page, truncated=True, keys=()) if has_more else page
    return Matches(page, len(ids) > 1)


def ids_with_identifier(build: Build, id_type: str, id_value: str) -> list[str]:
    """Return the ids of the organisations with an identifier."""
    where = equal(id_type=id_type, id_match=_id_match(id_type, id_value))
    rows = fetch_rows(build, "organisation", "identifiers", where)
    return list(dict.fromkeys(str(owner) for (owner,) in rows))


def _id_types(build: Build, owner: str) -> list[tuple[str]]:
    statement = "SELECT DISTINCT id_type FROM {table} WHERE organisation = ? ORDER BY id_type"
    return build.rows("identifiers", statement, storable(owner))


def _name_and_jurisdiction(build: Build, service_id: str) -> tuple[str, str] | None:
    statement = "SELECT legal_name, jurisdiction FROM {table} WHERE service_id = ?"
    rows = build.rows("entities", statement, storable(service_id))
    return (str(rows[0][0]), str(rows[0][1])) if rows else None


def _id_match(id_type: str, id_value: str) -> str:
    """Return an identifier as the build has it: a to z, and no other letters, in upper case."""
    text = storable(id_value).encode().upper().decode()
    # Stored in ten digits, as EDGAR pads it.
    return text.zfill(10) if id_type == "cik" and text.isascii() and text.isdigit() else text


# Rows per query: SQLite allows a limited number of placeholders.
_CHUNK = 500


def entity(mart: Mart, service_id: str) -> RowPage | None:
    """Return the current record of an organisation, None if the id is unknown.

    For an alias, it is the record of the canonical id.
    """
    build = mart.build()
    page = _record(build, service_id)
    if not page.rows and (other := same_as_id(build, service_id)):
        page = _record(build, other)
    return page if page.rows else None


def entities_found(
    mart: Mart,
    query: str,
    country: str | None = None,
    limit: int | None = None,
    after: Key | None = None,
) -> RowPage:
    """Return the organisations that a query finds after a cursor key, best match first.

    Each is a record with a further member ``match``; see ``warehouse/serve/search.py``.
    """
    build = mart.build()
    first = 0 if after is None else int(after[0])
    last = None if limit is None else first + limit + 1
    found = found_rows(build, query, ("organisation",), country, last)[first:]
    records = _records(build, [str(row["id"]) for row in found])
    rows = [
        ((str(first + number),), _with_match(records[row["id"]], row["match"]))
        for number, row in enumerate(found, 1)
    ]
    return make_page(build, rows, limit)


def _with_match(record: bytes, match: str) -> bytes:
    # The record is a complete JSON object: its closing brace is replaced, nothing is parsed.
    return record[:-1] + b',"match":' + encode(match) + b"}"


def _record(build: Build, service_id: str) -> RowPage:
    row = row_of_key(build, "entities", storable(service_id))
    return RowPage([] if row is None else [row], False, build.data_version, build.notice)


def _records(build: Build, ids: list[str]) -> dict[str, bytes]:
    records: dict[str, bytes] = {}
    for begin in range(0, len(ids), _CHUNK):
        chunk = one_of("service_id", ids[begin : begin + _CHUNK])
        found = fetch_rows(build, "row, service_id", "entities", [chunk], Order("service_id"))
        records |= {str(service_id): row for row, service_id in found}
    return records
