"""Tender releases, the newest first, walked by the key of the last one seen."""

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

_COLUMNS = "row, released_on, place"
_NEWEST_FIRST = "released_on DESC, place"
_AT_ONCE = 500
_ENDS = (("DESC", "ASC"), ("ASC", "DESC"))


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
    """Give the releases of a country that come after the key ``after``.

    A key is good for the data_version it came with. A release without a date comes last, and
    is left out where ``from_`` is given. ``category`` is as the portal publishes it, ``buyer``
    a service_id or words of the buyer's name, ``query`` words of its title, its description or
    its buyer; the last word may be the beginning of one.
    """
    build, country = mart.build(), country.upper()
    if all(each is None for each in (from_, to, category, buyer, query)):
        return _page(build, country, limit, 0 if after is None else int(after[1]))
    where = equal(category=category)
    where += between("released_on", from_, to)
    where += [Condition("released_on <> ''")] if to is not None else []
    if after is not None:
        newest, place = after
        where.append(Condition("released_on <= ? AND place > ?", (newest, int(place))))
    named = None
    if buyer is not None and is_known_id(build, buyer):
        where += [Condition("buyer_id <> ''"), *equal(buyer_id=organisation_id(build, buyer))]
    elif buyer is not None:
        named = rows_with_words(build, "buyer", buyer)
    said = None if query is None else rows_with_words(build, "tender", query)
    most = None if limit is None else limit + 1
    chosen = _both(named, said)
    if chosen is None:
        where += [Condition("latest = 1"), *equal(country=country)]
        held = fetch_rows(build, _COLUMNS, "tender_releases", where, _NEWEST_FIRST, most)
    else:
        seen = 0 if after is None else int(after[1])
        within = [place for place in _within(build, country, chosen) if place > seen]
        # By its place, and by no index: what is found lies within the country already.
        held = _among(build, within, [Condition("+latest = 1"), *where], most)
    return make_page(build, held, limit, keys=True)


def _page(build: Build, country: str, limit: int | None, after: int) -> RowPage:
    """Read on in the packs of a country, where no filter leaves anything out."""
    rows = latest_on(build, "tender_releases", country, None, limit, after)
    if not isinstance(rows.rows, PackedRows) or not rows.rows:
        return rows
    keyed = _Keyed(build, rows.rows)
    _, newest, place = keyed[-1] if rows.truncated else (b"", "", 0)
    return replace(rows, keyed=keyed, last_key=(newest, str(place)) if rows.truncated else None)


@dataclass(frozen=True)
class _Keyed(Sequence[tuple[Any, ...]]):
    """The keys of rows, each read when it is asked for: of a page only the last one is."""

    build: Build
    rows: PackedRows

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, at: Any) -> Any:
        place = self.rows.place(at)
        asked = "SELECT released_on FROM tender_releases WHERE place = ?"
        return b"", str(self.build.rows(asked, place)[0][0]), place


def _both(one: list[int] | None, other: list[int] | None) -> list[int] | None:
    if one is None or other is None:
        return other if one is None else one
    return sorted(set(one) & set(other))


def _within(build: Build, country: str, chosen: list[int]) -> list[int]:
    """Keep the places of a country, whose rows lie together."""
    asked = "SELECT place FROM tender_releases WHERE country = ? ORDER BY released_on {}, place {}"
    ends = [build.rows(f"{asked.format(*each)} LIMIT 1", country) for each in _ENDS]
    if not all(ends):
        return []
    first, last = (int(end[0][0]) for end in ends)
    return chosen[bisect_left(chosen, first) : bisect_right(chosen, last)]


def _among(build: Build, left: list[int], where: list[Condition], most: int | None) -> SqlRows:
    """Read rows of the places that were found, a few hundred at once; they lie in order."""
    held: SqlRows = []
    for begin in range(0, len(left), _AT_ONCE):
        some = one_of("place", left[begin : begin + _AT_ONCE])
        held += fetch_rows(build, _COLUMNS, "tender_releases", [some, *where], "place", most)
        if most is not None and len(held) >= most:
            break
    return held


def parties(
    mart: Mart,
    country: str | None = None,
    role: str | None = None,
    service_id: str | None = None,
    limit: int | None = None,
) -> RowPage:
    """Give parties that are organisations, those of the most releases first in each role."""
    build = mart.build()
    owner = None if service_id is None else organisation_id(build, service_id)
    within = None if country is None else country.upper()
    where = equal(country=within, role=role, organisation=owner)
    return fetch_page(build, "tender_parties", where, limit)
