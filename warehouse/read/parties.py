"""Buyers, suppliers and other parties of releases: as they are known now, or on a past day."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Any, TypeVar

import msgspec

from warehouse.json_encoding import decode_object, encode, encode_object
from warehouse.mart.row_json import NEVER_DAY
from warehouse.read.conditions import Condition, Key
from warehouse.read.crosswalk import organisation_id
from warehouse.read.mart import Build, Mart
from warehouse.read.rows import (
    RowPage,
    equal,
    fetch_page,
    fetch_rows,
    make_page,
    published_by,
)

# A day, or its number since 1970.
Day = TypeVar("Day", date, int)
_EPOCH = date(1970, 1, 1)
# When a release became known, when it was superseded, its day, and the number of its process.
_KNOWN = msgspec.json.Decoder(list[tuple[int, int, int | None, int]])
_TEXT = msgspec.json.Decoder(str | None)


def parties(
    mart: Mart,
    country: str | None = None,
    role: str | None = None,
    service_id: str | None = None,
    as_of: date | None = None,
    from_: date | None = None,
    to: date | None = None,
    limit: int | None = None,
    after: Key | None = None,
) -> RowPage:
    """Return the parties of releases, those in most of them first within each role.

    With ``as_of`` only releases that were known on that day are counted, and names and sources are
    those of the first of them. Which organisation a party is does not depend on the day. ``from_``
    and ``to`` bound the day of the releases that are counted.
    """
    build = mart.build()
    where = _conditions(build, country, role, service_id)
    if as_of is None and from_ is None and to is None:
        return fetch_page(build, "tender_parties", where, limit, after=after)
    rows = sorted(_counted(build, where, as_of, (from_, to)))
    # The list is sorted by what the key has: what follows it begins after it.
    begin = 0 if after is None else [order[-1] for order, _ in rows].index(after[0]) + 1
    one_more = None if limit is None else begin + limit + 1
    return make_page(build, [((order[-1],), row) for order, row in rows[begin:one_more]], limit)


def _conditions(
    build: Build, country: str | None, role: str | None, service_id: str | None
) -> list[Condition]:
    owner = None if service_id is None else organisation_id(build, service_id)
    return equal(country=country, role=role, organisation=owner)


def _counted(
    build: Build,
    where: list[Condition],
    as_of: date | None,
    days: tuple[date | None, date | None],
) -> Iterator[tuple[tuple[Any, ...], bytes]]:
    """Yield the parties of releases that were known on a day, each with its place in the order."""
    day = (min(as_of or date.max, datetime.now(UTC).date()) - _EPOCH).days
    first, last = (None if bound is None else (bound - _EPOCH).days for bound in days)
    for (row,) in fetch_rows(build, "row", "party_history", [*where, *published_by(as_of)]):
        members = decode_object(row)
        known = [
            (released, process)
            for since, until, released, process in _KNOWN.decode(members.pop("known"))
            if since <= day < until and is_between(released, first, last)
        ]
        if not known:
            continue
        released_days = [released for released, _ in known if released is not None]
        counted = {
            "releases": encode(len(known)),
            "processes": encode(len({process for _, process in known})),
            "first_release": encode(_day(min(released_days, default=None))),
            "last_release": encode(_day(max(released_days, default=None))),
        }
        country, role, name, party_id = (
            _TEXT.decode(members[member]) or ""
            for member in ("country", "role", "name", "party_id")
        )
        yield (country, role, -len(known), name, party_id), _spliced(members, counted)


def is_between(day: Day | None, first: Day | None, last: Day | None) -> bool:
    """Return whether a day is within bounds, both included; no day is within no bounds only."""
    if day is None:
        return first is None and last is None
    return (first is None or first <= day) and (last is None or day <= last)


def _spliced(members: dict[str, bytes], counted: dict[str, bytes]) -> bytes:
    """Return a row with the counted members in the place that they have in every row."""
    names = list(members)
    place = names.index("identifier") + 1
    ordered = {name: members[name] for name in names[:place]} | counted
    return encode_object(ordered | {name: members[name] for name in names[place:]})


def _day(number: int | None) -> date | None:
    return None if number is None or number >= NEVER_DAY else _EPOCH + timedelta(number)
