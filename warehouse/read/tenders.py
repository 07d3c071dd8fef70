"""Tender releases, newest first and paginated by cursor, and the parties they name."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

from warehouse.read.crosswalk import is_known_id, organisation_id
from warehouse.read.engines import SqlRows
from warehouse.read.mart import Build, Mart
from warehouse.read.packs import PackedRows
from warehouse.read.rows import (
    Condition,
    RowPage,
    between,
    equal,
    fetch_page,
    fetch_rows,
    latest_on,
    make_page,
    one_of,
)
from warehouse.read.word_index import rows_with_words

# The columns behind the row are the key of a cursor.
_COLUMNS = "row, released_on, row_number"
_NEWEST_FIRST = "released_on DESC, row_number"
# Rows per query: SQLite allows a limited number of placeholders.
_CHUNK = 500
_RELEASES_OF_COUNTRY = "SELECT row_number FROM tender_releases WHERE country = ?"


def releases(
    mart: Mart,
    country: str,
    from_: date | None = None,
    limit: int | None = None,
    after: tuple[str, ...] | None = None,
    *,
    to: date | None = None,
    category: str | None = None,
    buyer: str | None = None,
    query: str | None = None,
) -> RowPage:
    """Return the releases of a country that come after the cursor key ``after``.

    A key is valid for the data_version it came with. A release without a date comes last, and is
    left out if ``from_`` or ``to`` is given. ``category`` is as the portal publishes it, ``buyer``
    a service_id or words of the buyer's name, ``query`` words of title, description or buyer; the
    last word may be a prefix.
    """
    build, country = mart.build(), country.upper()
    after_row = 0 if after is None else int(after[1])
    if all(value is None for value in (from_, to, category, buyer, query)):
        return _unfiltered_page(build, country, limit, after_row)
    where = [*equal(category=category), *between("released_on", from_, to)]
    # A release without a date has '', which sorts before every day.
    where += [Condition("released_on <> ''")] if to is not None else []
    # The row number alone decides; the date lets the planner begin in the index.
    if after is not None:
        where.append(Condition("released_on <= ? AND row_number > ?", (after[0], after_row)))
    with_buyer = None
    if buyer is not None and is_known_id(build, buyer):
        # The first condition lets the planner use the partial index on buyer_id.
        buyer_id = equal(buyer_id=organisation_id(build, buyer))
        where += [Condition("buyer_id <> ''"), *buyer_id]
    elif buyer is not None:
        with_buyer = rows_with_words(build, "buyer", buyer)
    with_query = None if query is None else rows_with_words(build, "tender", query)
    one_more = None if limit is None else limit + 1
    candidates = _intersection(with_buyer, with_query)
    if candidates is None:
        where += [Condition("latest = 1"), *equal(country=country)]
        rows = fetch_rows(build, _COLUMNS, "tender_releases", where, _NEWEST_FIRST, one_more)
    else:
        in_country = _in_country(build, country, candidates)
        remaining = [number for number in in_country if number > after_row]
        # The unary + keeps SQLite from using an index on latest: the row numbers are selective.
        rows = _fetch_by_number(build, remaining, [Condition("+latest = 1"), *where], one_more)
    return make_page(build, rows, limit, keys=True)


def parties(
    mart: Mart,
    country: str | None = None,
    role: str | None = None,
    service_id: str | None = None,
    limit: int | None = None,
) -> RowPage:
    """Return buyers and suppliers as they are known now, those in most releases first."""
    build = mart.build()
    owner = None if service_id is None else organisation_id(build, service_id)
    country = None if country is None else country.upper()
    where = equal(country=country, role=role, organisation=owner)
    return fetch_page(build, "tender_parties", where, limit)


def _unfiltered_page(build: Build, country: str, limit: int | None, after: int) -> RowPage:
    """Return a page from the packs of a country; without a filter, whole runs can be sent."""
    page = latest_on(build, "tender_releases", country, None, limit, after)
    if not isinstance(page.rows, PackedRows) or not page.rows:
        return page
    row_keys = _LazyKeys(build, page.rows)
    _, released_on, row_number = row_keys[-1] if page.truncated else (b"", "", 0)
    last_key = (released_on, str(row_number)) if page.truncated else None
    return replace(page, row_keys=row_keys, last_key=last_key)


@dataclass(frozen=True)
class _LazyKeys(Sequence[tuple[Any, ...]]):
    """Cursor keys of rows, each read when it is needed: mostly only that of the last row is."""

    build: Build
    rows: PackedRows

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: Any) -> Any:
        row_number = self.rows.row_number(index)
        statement = "SELECT released_on FROM tender_releases WHERE row_number = ?"
        return b"", str(self.build.query(statement, row_number)[0][0]), row_number


def _intersection(first: list[int] | None, second: list[int] | None) -> list[int] | None:
    """Return the sorted numbers that both have; None stands for every row."""
    if first is None or second is None:
        return second if first is None else first
    return sorted(set(first) & set(second))


def _in_country(build: Build, country: str, candidates: list[int]) -> list[int]:
    """Return those of the sorted row numbers that belong to a country.

    The rows of a country are contiguous, newest first: its first and last row bound them.
    """
    ends = [
        build.query(f"{_RELEASES_OF_COUNTRY} ORDER BY {order} LIMIT 1", country)
        for order in ("released_on DESC, row_number ASC", "released_on ASC, row_number DESC")
    ]
    if not all(ends):
        return []
    first, last = (int(end[0][0]) for end in ends)
    return candidates[bisect_left(candidates, first) : bisect_right(candidates, last)]


def _fetch_by_number(
    build: Build, numbers: list[int], where: list[Condition], limit: int | None
) -> SqlRows:
    """Read rows by sorted numbers, in chunks, until there are enough."""
    rows: SqlRows = []
    for begin in range(0, len(numbers), _CHUNK):
        chunk = one_of("row_number", numbers[begin : begin + _CHUNK])
        rows += fetch_rows(build, _COLUMNS, "tender_releases", [chunk, *where], "row_number", limit)
        if limit is not None and len(rows) >= limit:
            break
    return rows
