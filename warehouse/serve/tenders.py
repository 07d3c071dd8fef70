"""Tender releases, newest first: of a country by many filters, or of one process."""

from dataclasses import replace
from datetime import date

from warehouse.serve.build import Build, Mart
from warehouse.serve.engines import FileReader
from warehouse.serve.entities import is_known_id, organisation_id
from warehouse.serve.rows import (
    IN_ORDER,
    Condition,
    Key,
    KeyedRows,
    Order,
    RowPage,
    between,
    equal,
    fetch_keyed,
    fetch_page,
    fetch_rows,
    files_for,
    known_on,
    latest_on,
    make_page,
)
from warehouse.serve.search import text_matches

_COLUMNS = "row"
# The files of a country follow each other, newest first.
_NEWEST_FIRST = Order("released_on DESC, row_number")
_TABLE = "tender_releases"


def releases(
    mart: Mart,
    country: str,
    from_: date | None = None,
    limit: int | None = None,
    after: Key | None = None,
    *,
    to: date | None = None,
    category: str | None = None,
    buyer: str | None = None,
    status: str | None = None,
    query: str | None = None,
    as_of: date | None = None,
) -> RowPage:
    """Return the releases of a country that come after the key ``after``.

    A release without a date comes last, and is left out if ``from_`` or ``to`` is given.
    ``category`` is as the portal publishes it, ``buyer`` a service_id or words of the buyer's name,
    ``status`` that of the tender in the release, ``query`` words of title, description or buyer;
    the last word may be a prefix. ``as_of`` leaves out what was published later.
    """
    build, country = mart.build(), country.upper()
    if all(value is None for value in (from_, to, category, buyer, status, query)):
        # Without a filter, whole runs of rows can be sent as they lie in the packs.
        return latest_on(build, _TABLE, "country", country, as_of, limit, after)
    dated = between("released_on", from_, to)
    files = list(files_for(build, _TABLE, [*equal(country=country), *dated]))
    if after is not None:
        # Where the last page ended: its file, and those that follow.
        files = files[[file.label for file in files].index(after[0]) :]
    where = [*equal(category=category, tender_status=status), *dated]
    # A release without a date has '', which sorts before every day.
    where += [Condition("released_on <> ''")] if to is not None else []
    if buyer is not None and is_known_id(build, buyer.upper()):
        # The first condition lets the planner use the partial index on buyer_id.
        buyer_id = equal(buyer_id=organisation_id(build, buyer.upper()))
        where, buyer = [*where, Condition("buyer_id <> ''"), *buyer_id], None
    one_more = None if limit is None else limit + 1
    rows: KeyedRows = []
    for file in files:
        remaining = None if one_more is None else one_more - len(rows)
        if remaining == 0:
            break
        rows += _matching(
            build, file, country, where, after, (buyer, query), known_on(as_of), remaining
        )
        # The key is of the first file; what follows comes after it as a whole.
        after = None
    return make_page(build, [(key, row[0]) for key, row in rows], limit)


def releases_of(
    mart: Mart,
    ocid: str,
    as_of: date | None = None,
    limit: int | None = None,
    after: Key | None = None,
) -> RowPage | None:
    """Return the releases of one contracting process, newest first; None if it is unknown."""
    build = mart.build()
    of_process = equal(ocid=ocid)
    page = fetch_page(build, _TABLE, [*of_process, *known_on(as_of)], limit, after=after)
    return page if page.rows or fetch_rows(build, "1", _TABLE, of_process, limit=1) else None


def _matching(
    build: Build,
    file: FileReader,
    country: str,
    where: list[Condition],
    after: Key | None,
    searched: tuple[str | None, str | None],
    known: list[Condition],
    limit: int | None,
) -> KeyedRows:
    """Return the releases of a file that match and come after a key, at most ``limit``."""
    if searched == (None, None):
        where = [*where, *known, *equal(country=country)]
        return fetch_keyed(build, _COLUMNS, _TABLE, where, _NEWEST_FIRST, limit, after, [file])
    # The unary + keeps SQLite from using an index on latest: the words are selective.
    unindexed = [
        replace(condition, sql=condition.sql.replace("latest = 1", "+latest = 1"))
        for condition in known
    ]
    where = [*where, *unindexed]
    with_words = [
        text_matches(text, only_names)
        for text, only_names in zip(searched, (True, False), strict=True)
        if text is not None
    ]
    # All rows of the file are of the country, newest first.
    where = [*with_words, *where]
    return fetch_keyed(build, _COLUMNS, _TABLE, where, Order(IN_ORDER), limit, after, [file])
