"""Who won what: the awards of an organisation with their totals, or the suppliers of a country."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

import msgspec

from warehouse.json_encoding import decode_object, encode, encode_object
from warehouse.read.conditions import Key
from warehouse.read.entities import entity
from warehouse.read.mart import Mart
from warehouse.read.parties import is_between, parties
from warehouse.read.rows import RowPage, page_of
from warehouse.read.shared_facts import shared_facts


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
