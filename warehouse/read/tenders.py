"""Tender releases, newest first and paginated by cursor, and the parties they name."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

from warehouse.mart.file_labels import may_have
from warehouse.mart.tables import SEARCH_SINCE
from warehouse.read.conditions import IN_ORDER, Condition, Order
from warehouse.read.crosswalk import is_known_id, organisation_id
from warehouse.read.engines import FileReader, SqlRows
from warehouse.read.full_text import text_matches
from warehouse.read.mart import Build, Mart
from warehouse.read.packs import PackedRows
from warehouse.read.rows import (
    RowPage,
    between,
    equal,
    fetch_page,
    fetch_rows,
    latest_on,
    make_page,
    one_of,
)
from warehouse.read.search_before import rows_with_words
from warehouse.read.several_files import files_for

# The columns behind the row are the key of a cursor.
_COLUMNS = "row, released_on, row_number"
# The files of a country follow each other, newest first.
_NEWEST_FIRST = Order("released_on DESC, row_number")
# Rows per query: SQLite allows a limited number of placeholders.
_CHUNK = 500
_TABLE = "tender_releases"


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
    dated = between("released_on", from_, to)
    files = list(files_for(build, _TABLE, [*equal(country=country), *dated]))
    if after is not None:
        # Where the last page ended: its file, and those that follow.
        files = files[_position(files, after[0]) :]
    if all(value is None for value in (from_, to, category, buyer, query)):
        return _unfiltered_page(build, country, limit, files, after)
    where = [*equal(category=category), *dated]
    # A release without a date has '', which sorts before every day.
    where += [Condition("released_on <> ''")] if to is not None else []
    if buyer is not None and is_known_id(build, buyer):
        # The first condition lets the planner use the partial index on buyer_id.
        buyer_id = equal(buyer_id=organisation_id(build, buyer))
        where, buyer = [*where, Condition("buyer_id <> ''"), *buyer_id], None
    one_more = None if limit is None else limit + 1
    rows: SqlRows = []
    for file in files:
        remaining = None if one_more is None else one_more - len(rows)
        if remaining == 0:
            break
        rows += _matching(build, file, country, where, after, (buyer, query), remaining)
        # The key is of the first file; what follows comes after it as a whole.
        after = None
    return make_page(build, rows, limit, keys=True)


def _matching(
    build: Build,
    file: FileReader,
    country: str,
    where: list[Condition],
    after: tuple[str, ...] | None,
    searched: tuple[str | None, str | None],
    limit: int | None,
) -> SqlRows:
    """Return the releases of a file that match and come after a key, at most ``limit``."""
    after_row = 0 if after is None else int(after[1])
    # The row number alone decides; the date lets the planner begin in the index.
    if after is not None:
        following = Condition("released_on <= ? AND row_number > ?", (after[0], after_row))
        where = [*where, following]
    if searched == (None, None):
        where = [*where, Condition("latest = 1"), *equal(country=country)]
        return fetch_rows(build, _COLUMNS, _TABLE, where, _NEWEST_FIRST, limit, [file])
    if build.schema_version < SEARCH_SINCE:
        return _matching_before(build, file, country, where, after_row, searched, limit)
    with_words = [
        text_matches(file, text, only_names)
        for text, only_names in zip(searched, (True, False), strict=True)
        if text is not None
    ]
    # The unary + keeps SQLite from using an index on latest: the words are selective. All rows of
    # the file are of the country, newest first.
    where = [*with_words, *where, Condition("+latest = 1")]
    return fetch_rows(build, _COLUMNS, _TABLE, where, Order(IN_ORDER), limit, [file])


def _matching_before(
    build: Build,
    file: FileReader,
    country: str,
    where: list[Condition],
    after_row: int,
    searched: tuple[str | None, str | None],
    limit: int | None,
) -> SqlRows:
    """Return the releases with such words in a build that has a table of words of its own."""
    candidates = _intersection(
        *(
            None if text is None else rows_with_words(file, field, text)
            for field, text in zip(("buyer", "tender"), searched, strict=True)
        )
    )
    in_country = _in_country(file, country, candidates)
    remaining = [number for number in in_country if number > after_row]
    # The unary + keeps SQLite from using an index on latest: the row numbers are selective.
    where = [Condition("+latest = 1"), *where]
    return _fetch_by_number(build, file, remaining, where, limit)


def _position(files: Sequence[FileReader], released_on: str) -> int:
    """Return the position of the file in which releases of a day lie."""
    for position, file in enumerate(files):
        if may_have(file.label, released_on, released_on):
            return position
    return len(files)


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


def _unfiltered_page(
    build: Build,
    country: str,
    limit: int | None,
    files: Sequence[FileReader],
    after: tuple[str, ...] | None,
) -> RowPage:
    """Return a page from the packs of a country; without a filter, whole runs can be sent."""
    begin = (files[0].label, int(after[1])) if after is not None and files else None
    page = latest_on(build, _TABLE, "country", country, None, limit, begin)
    if not isinstance(page.rows, PackedRows) or not page.rows:
        return page
    row_keys = _LazyKeys(page.rows)
    _, released_on, row_number = row_keys[-1] if page.truncated else (b"", "", 0)
    last_key = (released_on, str(row_number)) if page.truncated else None
    return replace(page, row_keys=row_keys, last_key=last_key)


@dataclass(frozen=True)
class _LazyKeys(Sequence[tuple[Any, ...]]):
    """Cursor keys of rows, each read when it is needed: mostly only that of the last row is."""

    rows: PackedRows

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: Any) -> Any:
        file, row_number = self.rows.place(index)
        statement = f"SELECT released_on FROM {file.prefix}{_TABLE} WHERE row_number = ?"
        return b"", str(file.query(statement, row_number)[0][0]), row_number


def _intersection(first: list[int] | None, second: list[int] | None) -> list[int]:
    """Return the sorted numbers that both have; None stands for every row."""
    if first is None or second is None:
        return (second if first is None else first) or []
    return sorted(set(first) & set(second))


def _in_country(file: FileReader, country: str, candidates: list[int]) -> list[int]:
    """Return those of the sorted row numbers that belong to a country.

    The rows of a country are contiguous, newest first: its first and last row bound them.
    """
    statement = f"SELECT row_number FROM {file.prefix}{_TABLE} WHERE country = ?"
    ends = [
        file.query(f"{statement} ORDER BY {order} LIMIT 1", country)
        for order in ("released_on DESC, row_number ASC", "released_on ASC, row_number DESC")
    ]
    if not all(ends):
        return []
    first, last = (int(end[0][0]) for end in ends)
    return candidates[bisect_left(candidates, first) : bisect_right(candidates, last)]


def _fetch_by_number(
    build: Build,
    file: FileReader,
    numbers: list[int],
    where: list[Condition],
    limit: int | None,
) -> SqlRows:
    """Read rows by sorted numbers, in chunks, until there are enough."""
    rows: SqlRows = []
    for begin in range(0, len(numbers), _CHUNK):
        chunk = one_of("row_number", numbers[begin : begin + _CHUNK])
        matching = [chunk, *where]
        rows += fetch_rows(build, _COLUMNS, _TABLE, matching, Order(IN_ORDER), limit, [file])
        if limit is not None and len(rows) >= limit:
            break
    return rows
