"""Facts of any dataset in one common row format, each with its provenance."""

from collections.abc import Callable, Mapping
from datetime import date
from typing import Literal

import msgspec

from warehouse.errors import BadParameters
from warehouse.json_encoding import encode, encode_object
from warehouse.mart.row_json import PROVENANCE
from warehouse.read.conditions import Condition, Order
from warehouse.read.crosswalk import organisation_id
from warehouse.read.engines import SqlRows
from warehouse.read.mart import Build, Mart
from warehouse.read.rows import RowPage, equal, fetch_rows, known_on, make_page

Dataset = Literal["AF-FUND", "AF-TENDER", "AF-MACRO"]
# The members of a reported figure that become the measure and the value of a fact.
_FIGURE = ("line_item", "value_reported")
# Members of a JSON object as encoded bytes, taken over without parsing their values.
Members = Mapping[str, bytes]

_MEMBERS = msgspec.json.Decoder(dict[str, msgspec.Raw])
_NULL = b"null"
# The first schema version whose facts have a base_period, an ocid, and one tender value for each
# process. Answers of a build made before stay byte for byte as they were.
_WITH_BASE_AND_PROCESS = 8


def shared_facts(
    mart: Mart,
    entity_id: str | None = None,
    country: str | None = None,
    dataset: Dataset | None = None,
    as_of: date | None = None,
    measure: str | None = None,
    limit: int | None = None,
) -> RowPage:
    """Return facts of an issuer or a country, in the latest vintage known on ``as_of``.

    An issuer has its financials, or with AF-TENDER the awards it won. A country, by its alpha-3
    code, has its macro figures, or with AF-TENDER the value of each tender, newest first.
    """
    if (entity_id is None) == (country is None):
        raise BadParameters("give exactly one of entity_id and country")
    if country is not None and dataset is None:
        raise BadParameters("country needs dataset: AF-TENDER or AF-MACRO")
    read = _READS[check_dataset(entity_id, dataset)]
    build, one_more = mart.build(), None if limit is None else limit + 1
    return make_page(build, read(build, str(entity_id or country), as_of, measure, one_more), limit)


def check_dataset(entity_id: str | None, dataset: Dataset | None) -> tuple[str, Dataset | None]:
    """Return the kind of entity and the dataset; raise if the dataset has no facts of that kind."""
    combination = (_entity_kind(entity_id), dataset)
    if combination not in _READS:
        raise BadParameters(f"{dataset} is not available for {_KIND_WORDS[combination[0]]}")
    return combination


_KIND_WORDS = {
    "issuer": "an issuer",
    "country": "a country",
    "entity country": "the entity_id of a country",
}


def _entity_kind(entity_id: str | None) -> str:
    if entity_id is None:
        return "country"
    # Ids of organisations begin with DC; all others are alpha-3 codes of countries.
    return "issuer" if entity_id.startswith("DC") and len(entity_id) > 3 else "entity country"


def _financials(
    build: Build, issuer: str, as_of: date | None, measure: str | None, limit: int | None
) -> SqlRows:
    owner = organisation_id(build, issuer)
    where = [*equal(organisation=owner, line_item=measure), *known_on(as_of)]
    rows = fetch_rows(build, "row, service_id", "fundamentals", where, limit=limit)
    ids = {service_id for _, service_id in rows}
    issuers = {service_id: _issuer_members(build, service_id, owner) for service_id in ids}
    return [
        (_fact(build, row, None, issuers[service_id], b'"AF-FUND"', *_FIGURE),)
        for row, service_id in rows
    ]


def _issuer_members(build: Build, service_id: str, owner: str) -> Members:
    """Return an issuer's name and country, from its own record or that of its organisation."""
    statement = "SELECT legal_name, country_iso3 FROM {table} WHERE service_id = ?"
    own = build.rows("entities", statement, service_id)
    rows = own or build.rows("entities", statement, owner) or [(None, None)]
    name, country = (encode(value or None) for value in rows[0])
    return {"entity_id": encode(service_id), "entity_name": name, "country_iso3": country}


def _awards(
    build: Build, issuer: str, as_of: date | None, measure: str | None, limit: int | None
) -> SqlRows:
    owner = organisation_id(build, issuer)
    where = [*equal(organisation=owner, measure=measure), *known_on(as_of)]
    return fetch_rows(build, "row", "award_facts", where, limit=limit)


def _tender_values(
    build: Build, country: str, as_of: date | None, measure: str | None, limit: int | None
) -> SqlRows:
    if build.schema_version < _WITH_BASE_AND_PROCESS:
        return _values_of_releases(build, country, as_of, measure, limit)
    where = [*equal(country_iso3=country.upper(), measure=measure), *known_on(as_of)]
    return fetch_rows(build, "row", "tender_facts", where, limit=limit)


def _values_of_releases(
    build: Build, country: str, as_of: date | None, measure: str | None, limit: int | None
) -> SqlRows:
    """Read the tender values of a build that has them by release, as it answered then."""
    statement = "SELECT country FROM {table} WHERE country_iso3 = ?"
    codes = build.rows("countries", statement, country.upper())
    if not codes or measure not in (None, "tender_value"):
        return []
    where = [*equal(country=codes[0][0]), Condition("tender_value <> ''"), *known_on(as_of)]
    columns = "row, row_id, tender_value, tender_currency, buyer_id"
    order = Order("released_on DESC, row_number")
    rows = fetch_rows(build, columns, "tender_releases", where, order, limit)
    return [(_value_of_release(country.upper(), *row),) for row in rows]


def _macro(
    build: Build, country: str, as_of: date | None, measure: str | None, limit: int | None
) -> SqlRows:
    in_country = equal(country_iso3=country.upper())
    code, name = encode(country.upper()), _country_name(build, country.upper())
    entity = {"entity_id": code, "entity_name": name, "country_iso3": code}
    facts: SqlRows = []
    # The second table is read only for the rows that the first one leaves to the limit.
    for table, measure_column in (("macro_series", "series"), ("macro_annual", "indicator")):
        remaining = None if limit is None else limit - len(facts)
        where = [*in_country, *equal(**{measure_column: measure}), *known_on(as_of)]
        facts += [
            (_fact(build, row, fact_id, entity, b'"AF-MACRO"', measure_column, "value"),)
            for row, fact_id in fetch_rows(build, "row, row_id", table, where, limit=remaining)
        ]
    return facts


def _country_name(build: Build, country: str) -> bytes:
    rows = build.rows("countries", "SELECT name FROM {table} WHERE country_iso3 = ?", country)
    return encode(rows[0][0]) if rows else _NULL


def _fact(
    build: Build,
    row: bytes,
    fact_id: str | None,
    entity: Members,
    dataset: bytes,
    measure: str,
    value: str,
) -> bytes:
    members = {name: bytes(raw) for name, raw in _MEMBERS.decode(row).items()}
    period_type = members.get("period_type") or members["frequency"]
    is_current = build.schema_version >= _WITH_BASE_AND_PROCESS
    return encode_object(
        {
            "fact_id": members["fact_id"] if fact_id is None else encode(fact_id),
            **entity,
            "dataset": dataset,
            "measure": members[measure],
            "value": members[value],
            "unit": members["unit"],
            **({"base_period": members.get("base_period", _NULL)} if is_current else {}),
            "period_end": members["period_end"],
            "period_type": period_type,
            **({"ocid": _NULL} if is_current else {}),
            **{name: members[name] for name in ("available_at", "vintage", *PROVENANCE)},
        }
    )


def _value_of_release(
    country: str, row: bytes, fact_id: str, value: str, currency: str, buyer_id: str
) -> bytes:
    members = {name: bytes(raw) for name, raw in _MEMBERS.decode(row).items()}
    buyer = _MEMBERS.decode(members["buyer"]) if members["buyer"] != _NULL else {}
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
            "period_end": members["date"],
            "period_type": b'"INSTANT"',
            **{name: members[name] for name in ("available_at", "vintage", *PROVENANCE)},
        }
    )


_Read = Callable[[Build, str, date | None, str | None, int | None], SqlRows]
# Which datasets each kind of entity has; None is the default dataset.
_READS: Mapping[tuple[str, Dataset | None], _Read] = {
    ("issuer", None): _financials,
    ("issuer", "AF-FUND"): _financials,
    ("issuer", "AF-TENDER"): _awards,
    ("entity country", None): _macro,
    ("entity country", "AF-MACRO"): _macro,
    ("country", "AF-TENDER"): _tender_values,
    ("country", "AF-MACRO"): _macro,
}
