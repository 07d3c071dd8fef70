"""Organisations: one by its id, or those that a name, an LEI or a ticker finds."""

from collections.abc import Iterable, Iterator

from warehouse.mart.words import PREFIX_END, words
from warehouse.read.crosswalk import MAX_MATCHES, ids_with_identifier, same_as_id
from warehouse.read.mart import Build, Mart
from warehouse.read.rows import RowPage, equal, fetch_rows, make_page, one_of, storable
from warehouse.read.word_index import rows_with_words

_AT_ONCE = 500
_BY_NAME = (
    "SELECT entity FROM names WHERE folded {} {} GROUP BY entity ORDER BY min(folded), entity {}"
)
# Who was found before by name or by identifier is found again, and must not use up the limit.
_AGAIN = 2


def entity(mart: Mart, service_id: str) -> RowPage | None:
    """Give the current record of an organisation, None if nobody has that id.

    An id that points to another keeps its own record, whose ``same_as`` names the other. Where
    no register describes it, the record of the one it points to answers, under that one's id.
    """
    build = mart.build()
    rows = _record(build, service_id)
    if not rows.rows and (other := same_as_id(build, service_id)):
        rows = _record(build, other)
    return rows if rows.rows else None


def search(mart: Mart, query: str, country: str | None = None, limit: int | None = None) -> RowPage:
    """Give the organisations that a name, an LEI or EXCHANGE:TICKER finds, the nearest first.

    First who bears the identifier, then who has exactly this name, then whose name begins with
    it, then whose names have all its words.
    """
    build = mart.build()
    place = None if country is None else country.upper()
    held: dict[int, bytes] = {}
    most = None if limit is None else limit + 1
    for some in _chunks(_candidates(build, query, place, most), most):
        asked = [one_of("place", some), *equal(country=place)]
        rows: dict[int, bytes] = dict(fetch_rows(build, "place, row", "entities", asked))
        held |= {each: rows[each] for each in some if each in rows}
        if most is not None and len(held) >= most:
            break
    return make_page(build, [(row,) for row in held.values()], limit)


def _record(build: Build, service_id: str) -> RowPage:
    held = build.rows("SELECT row FROM entities WHERE service_id = ?", storable(service_id))
    return make_page(build, held, 1)


def _candidates(build: Build, query: str, country: str | None, most: int | None) -> Iterator[int]:
    for id_type in ("lei", "ticker"):
        for service_id in ids_with_identifier(build, id_type, query.strip()):
            rows = fetch_rows(build, "place", "entities", equal(service_id=service_id))
            yield from (place for (place,) in rows)
    name = " ".join(words(query))
    if not name:
        return
    within = "" if country is None else "AND country = ?"
    values = () if country is None else (country,)
    cap = "" if most is None else f"LIMIT {_AGAIN * most + MAX_MATCHES:d}"
    for statement, asked in (
        (_BY_NAME.format("= ?", within, cap), (name,)),
        (_BY_NAME.format("> ? AND folded < ?", within, cap), (name, name + PREFIX_END)),
    ):
        yield from (place for (place,) in build.rows(statement, *asked, *values))
    yield from rows_with_words(build, "entity", query) or ()


def _chunks(found_places: Iterable[int], first: int | None) -> Iterator[list[int]]:
    """Give places in their order, each once, some at a time; none is looked for in advance."""
    some: list[int] = []
    seen: set[int] = set()
    most = min(first or _AT_ONCE, _AT_ONCE)
    for place in found_places:
        if place in seen:
            continue
        seen.add(place)
        some.append(place)
        if len(some) == most:
            yield some
            some, most = [], _AT_ONCE
    if some:
        yield some
