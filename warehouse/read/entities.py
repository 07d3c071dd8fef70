"""Organisations: one by its id, or those that a search finds."""

from warehouse.json_encoding import encode
from warehouse.read.conditions import Key, Order
from warehouse.read.crosswalk import same_as_id
from warehouse.read.mart import Build, Mart
from warehouse.read.packs import row_of_key
from warehouse.read.rows import (
    RowPage,
    fetch_rows,
    make_page,
    one_of,
    storable,
)
from warehouse.read.search import found_rows

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

    Each is a record with a further member ``match``; see ``warehouse/read/search.py``.
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
