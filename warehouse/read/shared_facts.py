"""Any dataset as facts of entities, each with its provenance, in one form."""

from collections.abc import Callable, Mapping
from datetime import date
from typing import Literal

import msgspec

from warehouse.errors import BadParameters
from warehouse.json_encoding import encode, encode_object
from warehouse.mart.row_json import PROVENANCE
from warehouse.read.crosswalk import organisation_id
from warehouse.read.engines import SqlRows
from warehouse.read.mart import Build, Mart
from warehouse.read.rows import Condition, RowPage, equal, fetch_rows, known_on, make_page

Dataset = Literal["AF-FUND", "AF-TENDER", "AF-MACRO"]
Members = Mapping[str, bytes]

_RAW = msgspec.json.Decoder(dict[str, msgspec.Raw])
_NULL = b"null"


def shared_facts(
    mart: Mart,
    entity_id: str | None = None,
    country: str | None = None,
    dataset: Dataset | None = None,
    as_of: date | None = None,
    measure: str | None = None,
    limit: int | None = None,
) -> RowPage:
    """Give facts of an issuer, or of a country, in the latest vintage known on ``as_of``.

    An issuer has its financials, or with AF-TENDER the awards it won. A country, by its three
    letters, has its macro figures, or with AF-TENDER the values of its tenders, newest first.
    """
    if (entity_id is None) == (country is None):
        raise BadParameters("give exactly one of entity_id and country")
    if country is not None and dataset is None:
        raise BadParameters("country needs dataset: AF-TENDER or AF-MACRO")
    read = _READS[check_dataset(entity_id, dataset)]
    build, most = mart.build(), None if limit is None else limit + 1
    asked = str(entity_id or country)
    return make_page(build, read(build, asked, as_of, measure, most), limit)


def check_dataset(entity_id: str | None, dataset: Dataset | None) -> tuple[str, Dataset | None]:
    """Give who is asked for what; a dataset that such an entity has not is refused."""
    asked = (_subject(entity_id), dataset)
    if asked not in _READS:
        raise BadParameters(f"{dataset} is not held by {asked[0]}")
    return asked


def _subject(entity_id: str | None) -> str:
    if entity_id is None:
        return "country"
    return "issuer" if entity_id.startswith("DC") and len(entity_id) > 3 else "entity country"


def _financials(
    build: Build, issuer: str, as_of: date | None, measure: str | None, most: int | None
) -> SqlRows:
    owner = organisation_id(build, issuer)
    where = [*equal(organisation=owner, line_item=measure), *known_on(as_of)]
    held = fetch_rows(build, "row, service_id", "fundamentals", where, limit=most)
    who = {each: _issuer(build, each, owner) for each in {service_id for _, service_id in held}}
    return [
        (_fact(row, None, who[service_id], b'"AF-FUND"', "line_item", "value_reported"),)
        for row, service_id in held
    ]


def _issuer(build: Build, service_id: str, owner: str) -> Members:
    """Name who has an id, as a register does of that id or else of the organisation."""
    asked = "SELECT legal_name, country_iso3 FROM entities WHERE service_id = ?"
    named = build.rows(asked, service_id) or build.rows(asked, owner) or [(None, None)]
    name, country = (encode(each or None) for each in named[0])
    return {"entity_id": encode(service_id), "entity_name": name, "country_iso3": country}


def _awards(
    build: Build, issuer: str, as_of: date | None, measure: str | None, most: int | None
) -> SqlRows:
    owner = organisation_id(build, issuer)
    where = [*equal(organisation=owner, measure=measure), *known_on(as_of)]
    return fetch_rows(build, "row", "award_facts", where, limit=most)


def _tender_values(
    build: Build, country: str, as_of: date | None, measure: str | None, most: int | None
) -> SqlRows:
    known = build.rows("SELECT country FROM countries WHERE country_iso3 = ?", country.upper())
    if not known or measure not in (None, "tender_value"):
        return []
    where = [*equal(country=known[0][0]), Condition("tender_value <> ''"), *known_on(as_of)]
    columns = "row, row_id, tender_value, tender_currency, buyer_id"
    held = fetch_rows(build, columns, "tender_releases", where, "released_on DESC, place", most)
    return [(_tender_fact(country.upper(), *each),) for each in held]


def _macro(
    build: Build, country: str, as_of: date | None, measure: str | None, most: int | None
) -> SqlRows:
    within = equal(country_iso3=country.upper())
    held: SqlRows = []
    code, name = encode(country.upper()), _called(build, country.upper())
    entity = {"entity_id": code, "entity_name": name, "country_iso3": code}
    for table, named in (("macro_series", "series"), ("macro_annual", "indicator")):
        left = None if most is None else most - len(held)
        where = [*within, *equal(**{named: measure}), *known_on(as_of)]
        held += [
            (_fact(row, fact_id, entity, b'"AF-MACRO"', named, "value"),)
            for row, fact_id in fetch_rows(build, "row, row_id", table, where, limit=left)
        ]
    return held


def _called(build: Build, country: str) -> bytes:
    held = build.rows("SELECT name FROM countries WHERE country_iso3 = ?", country)
    return encode(held[0][0]) if held else _NULL


def _fact(
    row: bytes, fact_id: str | None, entity: Members, dataset: bytes, measure: str, value: str
) -> bytes:
    held = {name: bytes(each) for name, each in _RAW.decode(row).items()}
    period_type = held.get("period_type") or held["frequency"]
    return encode_object(
        {
            "fact_id": held["fact_id"] if fact_id is None else encode(fact_id),
            **entity,
            "dataset": dataset,
            "measure": held[measure],
            "value": held[value],
            **{name: held[name] for name in ("unit", "period_end")},
            "period_type": period_type,
            **{name: held[name] for name in ("available_at", "vintage", *PROVENANCE)},
        }
    )


def _tender_fact(
    country: str, row: bytes, fact_id: str, value: str, currency: str, buyer_id: str
) -> bytes:
    held = {name: bytes(each) for name, each in _RAW.decode(row).items()}
    buyer = _RAW.decode(held["buyer"]) if held["buyer"] != _NULL else {}
    return encode_object(
        {
            "fact_id": encode(fact_id),
            "entity_id": encode(buyer_id or None),
            "entity_name": bytes(buyer.get("name", _NULL)),
            "country_iso3": encode(country),
            "dataset": b'"AF-TENDER"',
            "measure": b'"tender_value"',
            "value": value.encode(),
            "unit": encode(currency or None),
            "period_end": held["date"],
            "period_type": b'"INSTANT"',
            **{name: held[name] for name in ("available_at", "vintage", *PROVENANCE)},
        }
    )


_Read = Callable[[Build, str, date | None, str | None, int | None], SqlRows]
_READS: Mapping[tuple[str, Dataset | None], _Read] = {
    ("issuer", None): _financials,
    ("issuer", "AF-FUND"): _financials,
    ("issuer", "AF-TENDER"): _awards,
    ("entity country", None): _macro,
    ("entity country", "AF-MACRO"): _macro,
    ("country", "AF-TENDER"): _tender_values,
    ("country", "AF-MACRO"): _macro,
}
