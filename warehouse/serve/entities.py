"""Organisations: their ids, and the record of each."""

from functools import lru_cache, partial
from typing import get_args

from warehouse.serve.build import Build
from warehouse.serve.packs import row_of_key
from warehouse.serve.rows import Order, RowPage, equal, fetch_rows, one_of, storable
from warehouse.tables.entities import IdType

ID_TYPES: tuple[str, ...] = get_args(IdType)
_LEI_LENGTH = 20
# Ids of which a thread remembers whether they are aliases.
_MAX_IDS = 16_384


def same_as_id(build: Build, service_id: str) -> str | None:
    """Return the canonical id of an alias; None if the id is no alias."""
    # Most requests ask it, mostly of the same few organisations.
    ids = build.made_once("canonical ids", lambda: lru_cache(_MAX_IDS)(partial(_same_as_id, build)))
    return ids(service_id)


def _same_as_id(build: Build, service_id: str) -> str | None:
    """Return the organisation of an alias, or the only one that has an LEI or a ticker."""
    text = storable(service_id)
    id_type = "ticker" if ":" in text else "lei" if len(text) == _LEI_LENGTH else None
    if id_type is not None:
        where = equal(id_type=id_type, id_match=text.upper())
        owners = {str(owner) for (owner,) in fetch_rows(build, "service_id", "identifiers", where)}
        if len(owners) == 1:
            return owners.pop()
    rows = build.rows("same_as", "SELECT same_as FROM {table} WHERE service_id = ?", text)
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
    """Return whether a register describes an organisation, or it has several ids."""
    text = storable(organisation_id(build, service_id))
    return bool(
        build.rows("entities", "SELECT 1 FROM {table} WHERE service_id = ? LIMIT 1", text)
        or build.rows("same_as", "SELECT 1 FROM {table} WHERE same_as = ? LIMIT 1", text)
    )


# Rows per query: SQLite allows a limited number of placeholders.
_CHUNK = 500


def entity(build: Build, service_id: str) -> RowPage | None:
    """Return the current record of an organisation, None if the id is unknown.

    For an alias, it is the record of the canonical id.
    """
    page = _record(build, service_id)
    if not page.rows and (other := same_as_id(build, service_id)):
        page = _record(build, other)
    return page if page.rows else None


def _record(build: Build, service_id: str) -> RowPage:
    row = row_of_key(build, "entities", storable(service_id))
    return RowPage([] if row is None else [row], False, build.data_version, build.notice)


def records(build: Build, ids: list[str]) -> dict[str, bytes]:
    """Return the records of organisations by id."""
    found: dict[str, bytes] = {}
    for begin in range(0, len(ids), _CHUNK):
        chunk = one_of("service_id", ids[begin : begin + _CHUNK])
        rows = fetch_rows(build, "row, service_id", "entities", [chunk], Order("service_id"))
        found |= {str(service_id): row for row, service_id in rows}
    return found
