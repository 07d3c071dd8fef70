"""Who won what: the awards of an organisation with their totals, or the suppliers of a country."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

import msgspec

from warehouse.json_encoding import encode, encode_object
from warehouse.read.conditions import Key
from warehouse.read.entities import entity
from warehouse.read.mart import Mart
from warehouse.read.parties import parties
from warehouse.read.rows import RowPage, page_of
from warehouse.read.shared_facts import shared_facts

_MEMBERS = msgspec.json.Decoder(dict[str, msgspec.Raw])


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
        if not is_wanted or not _is_between(award.period_end, from_, to):
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
    ranked = sorted(_of_organisations(sorted(found, key=_order)), key=_order)
    page = page_of(build, ranked, limit, after)
    return page.with_rows([_with_listings(mart, row) for row in page.rows])


def _of_organisations(rows: Sequence[bytes]) -> Iterator[bytes]:
    """Yield one row for each organisation, and those that are not resolved as they are."""
    by_owner: dict[str, list[bytes]] = {}
    for row in rows:
        service_id = msgspec.json.decode(row, type=_Supplier).service_id
        if service_id is None:
            yield row
        else:
            by_owner.setdefault(service_id, []).append(row)
    for named in by_owner.values():
        yield named[0] if len(named) == 1 else _together(named)


def _together(named: Sequence[bytes]) -> bytes:
    """Return the first row of an organisation, with what is counted of all of them."""
    each = [msgspec.json.decode(row, type=_Supplier) for row in named]
    days = [day for one in each for day in (one.first_release, one.last_release) if day]
    counted = {
        "processes": sum(one.processes for one in each),
        "releases": sum(one.releases for one in each),
        "first_release": min(days, default=None),
        "last_release": max(days, default=None),
    }
    members = {name: bytes(raw) for name, raw in _MEMBERS.decode(named[0]).items()}
    return encode_object({**members, **{name: encode(value) for name, value in counted.items()}})


def _order(row: bytes) -> tuple[Any, ...]:
    supplier = msgspec.json.decode(row, type=_Supplier)
    return -supplier.processes, -supplier.releases, supplier.name or ""


def _with_listings(mart: Mart, row: bytes) -> bytes:
    """Return a supplier with the listings of its organisation, where that is resolved."""
    service_id = msgspec.json.decode(row, type=_Supplier).service_id
    members = {name: bytes(raw) for name, raw in _MEMBERS.decode(row).items()}
    record: Sequence[bytes] = ()
    if service_id is not None and (page := entity(mart, service_id)) is not None:
        record = page.rows
    listings = bytes(_MEMBERS.decode(record[0])["listings"]) if record else encode([])
    return encode_object({**members, "listings": listings})


def _is_between(day: date | None, from_: date | None, to: date | None) -> bool:
    if day is None:
        return from_ is None and to is None
    return (from_ is None or from_ <= day) and (to is None or day <= to)
