"""Organisations: one by its id, or a search by name, LEI or ticker."""

from collections.abc import Iterable, Iterator

from warehouse.mart.words import PREFIX_END, words
from warehouse.read.crosswalk import MAX_MATCHES, ids_with_identifier, same_as_id
from warehouse.read.mart import Build, Mart
from warehouse.read.rows import RowPage, equal, fetch_rows, one_of, page_of, storable
from warehouse.read.word_index import rows_with_words

# Rows per query: SQLite allows a limited number of placeholders.
_CHUNK = 500
# A name may occur several times for an organisation; its best one decides the order.
_ROWS_BY_NAME = (
    "SELECT entity_row FROM {prefix}names WHERE folded {condition} {in_country} "
    "GROUP BY entity_row ORDER BY min(folded), entity_row {limit}"
)
# An organisation that an earlier step found is found again by later ones: each step reads this
# many times the limit, so that repeats cannot use it up.
_REPEATS = 2


def entity(mart: Mart, service_id: str) -> RowPage | None:
    """Return the current record of an organisation, None if the id is unknown.

    Asked by an alias, it is the record of the canonical id. In builds made before ids were
    canonical, an alias that a register describes has its own, whose ``same_as`` names the other.
    """
    build = mart.build()
    page = _record(build, service_id)
    if not page.rows and (other := same_as_id(build, service_id)):
        page = _record(build, other)
    return page if page.rows else None


def search(mart: Mart, query: str, country: str | None = None, limit: int | None = None) -> RowPage:
    """Return the organisations that a name, an LEI or EXCHANGE:TICKER finds, best match first.

    First those with the identifier, then with exactly this name, then with a name that begins
    with it, then with all its words in their names.
    """
    build = mart.build()
    country = None if country is None else country.upper()
    one_more = None if limit is None else limit + 1
    matches: dict[int, bytes] = {}
    for chunk in _chunks(_candidates(build, query, country, one_more), one_more):
        where = [one_of("row_number", chunk), *equal(country=country)]
        rows: dict[int, bytes] = dict(fetch_rows(build, "row_number, row", "entities", where))
        matches |= {number: rows[number] for number in chunk if number in rows}
        if one_more is not None and len(matches) >= one_more:
            break
    return page_of(build, list(matches.values()), limit)


def _record(build: Build, service_id: str) -> RowPage:
    statement = "SELECT row FROM {table} WHERE service_id = ?"
    rows = build.rows("entities", statement, storable(service_id))
    return page_of(build, [row for (row,) in rows], 1)


def _candidates(build: Build, query: str, country: str | None, limit: int | None) -> Iterator[int]:
    """Yield row numbers of ``entities``, best match first, with repeats."""
    for id_type in ("lei", "ticker"):
        for service_id in ids_with_identifier(build, id_type, query.strip()):
            rows = fetch_rows(build, "row_number", "entities", equal(service_id=service_id))
            yield from (number for (number,) in rows)
    name = " ".join(words(query))
    if not name:
        return
    in_country = "" if country is None else "AND country = ?"
    country_values = () if country is None else (country,)
    limited = "" if limit is None else f"LIMIT {_REPEATS * limit + MAX_MATCHES:d}"
    # Names and words lie in the file of the rows that they number.
    (file,) = build.files("entities")
    for condition, name_values in (
        ("= ?", (name,)),
        # A range instead of LIKE, so that both engines use the index.
        ("> ? AND folded < ?", (name, name + PREFIX_END)),
    ):
        statement = _ROWS_BY_NAME.format(
            prefix=file.prefix, condition=condition, in_country=in_country, limit=limited
        )
        rows = file.query(statement, *name_values, *country_values)
        yield from (number for (number,) in rows)
    yield from rows_with_words(file, "entity", query) or ()


def _chunks(row_numbers: Iterable[int], first_size: int | None) -> Iterator[list[int]]:
    """Yield distinct row numbers in order, in chunks; nothing is searched ahead of need."""
    chunk: list[int] = []
    seen: set[int] = set()
    # The first chunk is what the page needs; usually no other is read.
    size = min(first_size or _CHUNK, _CHUNK)
    for number in row_numbers:
        if number in seen:
            continue
        seen.add(number)
        chunk.append(number)
        if len(chunk) == size:
            yield chunk
            chunk, size = [], _CHUNK
    if chunk:
        yield chunk
