"""Buyers, suppliers and other parties of releases on a day, and who won what."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any, TypeVar

import msgspec

from warehouse.publish.row_json import NEVER_DAY
from warehouse.serve.build import Build, Mart
from warehouse.serve.entities import entity, organisation_id
from warehouse.serve.rows import (
    Condition,
    Key,
    RowPage,
    equal,
    fetch_page,
    fetch_rows,
    make_page,
    page_of,
    published_by,
)
from warehouse.serve.shared_facts import shared_facts
from warehouse.shared.json_encoding import decode_object, encode, encode_object

# Buyers, suppliers and other parties of releases: as they are known now, or on a past day.

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


class _Award(msgspec.Struct):
    """What is summed up of an award."""

    value: msgspec.Raw
    unit: str | None = None
    country_iso3: str | None = None
    period_end: date | None = None


class _Supplier(msgspec.Struct):
    """What suppliers are sorted by, and how one is found."""

    processes: int = 0
    releases: int = 0
    name: str | None = None
    service_id: str | None = None
    first_release: date | None = None
    last_release: date | None = None


# A supplier, and the row that it was read from.
_Named = tuple[_Supplier, bytes]


@dataclass(frozen=True)
class Awards:
    """Awards of an organisation, newest first, and their sums by currency."""

    rows: RowPage
    totals: list[dict[str, Any]]


def awards_of(
    mart: Mart,
    service_id: str,
    as_of: date | None = None,
    from_: date | None = None,
    to: date | None = None,
    country_iso3: str | None = None,
    limit: int | None = None,
    after: Key | None = None,
) -> Awards:
    """Return the awards that an organisation was known to have won; days bound their dates."""
    build = mart.build()
    won = shared_facts(mart.at(build.data_version), service_id, None, "AF-TENDER", as_of)
    rows: list[bytes] = []
    sums: dict[str | None, list[Decimal]] = {}
    for row in won.rows:
        award = msgspec.json.decode(row, type=_Award)
        is_wanted = country_iso3 in (None, award.country_iso3)
        if not is_wanted or not is_between(award.period_end, from_, to):
            continue
        rows.append(row)
        sums.setdefault(award.unit, []).append(Decimal(bytes(award.value).decode()))
    totals = [
        {"currency": currency, "awards": len(values), "value": sum(values)}
        for currency, values in sorted(sums.items(), key=lambda item: item[0] or "")
    ]
    return Awards(page_of(build, rows, limit, after), totals)


def suppliers(
    mart: Mart,
    country: str | None,
    as_of: date | None = None,
    from_: date | None = None,
    to: date | None = None,
    limit: int | None = None,
    after: Key | None = None,
) -> RowPage:
    """Return the suppliers of a country, those of most processes first, each with its listings.

    Portals name one organisation in several ways: what is resolved to it is counted together.
    """
    build = mart.build()
    mart = mart.at(build.data_version)
    found = parties(mart, country, "supplier", None, as_of, from_, to).rows
    named = sorted(((msgspec.json.decode(row, type=_Supplier), row) for row in found), key=_order)
    ranked = sorted(_of_organisations(named), key=_order)
    page = page_of(build, [row for _, row in ranked], limit, after)
    return page.with_rows([_with_listings(mart, row) for row in page.rows])


def _of_organisations(named: Sequence[_Named]) -> Iterator[_Named]:
    """Yield one row for each organisation, and those that are not resolved as they are."""
    by_owner: dict[str, list[_Named]] = {}
    for supplier, row in named:
        if supplier.service_id is None:
            yield supplier, row
        else:
            by_owner.setdefault(supplier.service_id, []).append((supplier, row))
    for of_owner in by_owner.values():
        yield of_owner[0] if len(of_owner) == 1 else _together(of_owner)


def _together(named: Sequence[_Named]) -> _Named:
    """Return the first row of an organisation, with what is counted of all of them."""
    each = [supplier for supplier, _ in named]
    days = [day for one in each for day in (one.first_release, one.last_release) if day]
    counted = {
        "processes": sum(one.processes for one in each),
        "releases": sum(one.releases for one in each),
        "first_release": min(days, default=None),
        "last_release": max(days, default=None),
    }
    first, row = named[0]
    members = decode_object(row) | {name: encode(value) for name, value in counted.items()}
    return msgspec.structs.replace(first, **counted), encode_object(members)


def _order(named: _Named) -> tuple[Any, ...]:
    supplier, _ = named
    return -supplier.processes, -supplier.releases, supplier.name or ""


def _with_listings(mart: Mart, row: bytes) -> bytes:
    """Return a supplier with the listings of its organisation, where that is resolved."""
    service_id = msgspec.json.decode(row, type=_Supplier).service_id
    page = None if service_id is None else entity(mart, service_id)
    listings = b"[]" if page is None else decode_object(page.rows[0])["listings"]
    return encode_object({**decode_object(row), "listings": listings})
