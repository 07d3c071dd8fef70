"""Facts of any dataset in one common row format, each with its provenance."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date

from warehouse.publish.row_json import PROVENANCE
from warehouse.serve.build import Build, Mart
from warehouse.serve.entities import organisation_id
from warehouse.serve.rows import (
    Condition,
    Key,
    KeyedRows,
    RowPage,
    equal,
    fetch_keyed,
    known_on,
    make_page,
)
from warehouse.shared.errors import BadParameters
from warehouse.shared.json_encoding import decode_object, encode, encode_object
from warehouse.shared.tiers import Dataset

# The members of a reported figure that become the measure and the value of a fact.
_FIGURE = ("line_item", "value_reported")
# Members of a JSON object as encoded bytes, taken over without parsing their values.
Members = Mapping[str, bytes]
Facts = list[tuple[Key, bytes]]

_NULL = b"null"


def shared_facts(
    mart: Mart,
    entity_id: str | None = None,
    country: str | None = None,
    dataset: Dataset | None = None,
    as_of: date | None = None,
    measure: str | None = None,
    limit: int | None = None,
    after: Key | None = None,
) -> RowPage:
    """Return facts of an issuer or a country, in the latest vintage known on ``as_of``.

    An issuer has its financials, or with AF-TENDER the awards it won. A country, by its alpha-3
    code, has its macro figures, or with AF-TENDER the value of each tender, newest first.
    """
    if (entity_id is None) == (country is None):
        raise BadParameters("give exactly one of entity_id and country", "country")
    if country is not None and dataset is None:
        raise BadParameters("country needs dataset: AF-TENDER or AF-MACRO", "dataset")
    read = _READS[check_dataset(entity_id, dataset)]
    build, one_more = mart.build(), None if limit is None else limit + 1
    asked = _Asked(str(entity_id or country), as_of, measure, one_more, after)
    return make_page(build, read(build, asked), limit)


@dataclass(frozen=True)
class _Asked:
    """What is asked of one kind of entity and dataset."""

    entity: str
    as_of: date | None
    measure: str | None
    limit: int | None
    after: Key | None


def check_dataset(entity_id: str | None, dataset: Dataset | None) -> tuple[str, Dataset | None]:
    """Return the kind of entity and the dataset; raise if the dataset has no facts of that kind."""
    combination = (_entity_kind(entity_id), dataset)
    if combination not in _READS:
        kind = _KIND_WORDS[combination[0]]
        raise BadParameters(f"{dataset} is not available for {kind}", "dataset")
    return combination


def dataset_of(entity_id: str | None, dataset: Dataset | None) -> Dataset | None:
    """Return the dataset that is asked for; None for a country without one, which is refused."""
    defaults: dict[str, Dataset] = {"issuer": "AF-FUND", "entity country": "AF-MACRO"}
    return dataset or defaults.get(_entity_kind(entity_id))


def asked_of(entity_id: str | None, dataset: Dataset | None) -> tuple[str, str, str]:
    """Return the table that answers, and its columns of the entity and of the measure.

    Macro figures lie in two tables; that of the series stands for both.
    """
    kind, dataset = check_dataset(entity_id, dataset)
    if kind == "issuer":
        is_awards = dataset == "AF-TENDER"
        table, measure = ("award_facts", "measure") if is_awards else ("fundamentals", "line_item")
        return table, "organisation", measure
    if dataset == "AF-TENDER":
        return "tender_facts", "country_iso3", "measure"
    return "macro_series", "country_iso3", "series"


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


def _financials(build: Build, asked: _Asked) -> Facts:
    owner = organisation_id(build, asked.entity)
    where = [*equal(organisation=owner, line_item=asked.measure), *known_on(asked.as_of)]
    rows = _read(build, "row, service_id", "fundamentals", where, asked)
    ids = {service_id for _, (_, service_id) in rows}
    issuers = {service_id: _issuer_members(build, service_id, owner) for service_id in ids}
    return [
        (key, _fact(row, None, issuers[service_id], b'"AF-FUND"', *_FIGURE))
        for key, (row, service_id) in rows
    ]


def _issuer_members(build: Build, service_id: str, owner: str) -> Members:
    """Return an issuer's name and country, from its own record or that of its organisation."""
    statement = "SELECT legal_name, country_iso3 FROM {table} WHERE service_id = ?"
    own = build.rows("entities", statement, service_id)
    rows = own or build.rows("entities", statement, owner) or [(None, None)]
    name, country = (encode(value or None) for value in rows[0])
    return {"entity_id": encode(service_id), "entity_name": name, "country_iso3": country}


def _awards(build: Build, asked: _Asked) -> Facts:
    owner = organisation_id(build, asked.entity)
    where = [*equal(organisation=owner, measure=asked.measure), *known_on(asked.as_of)]
    return [(key, row) for key, (row,) in _read(build, "row", "award_facts", where, asked)]


def _tender_values(build: Build, asked: _Asked) -> Facts:
    of_country = equal(country_iso3=asked.entity.upper(), measure=asked.measure)
    where = [*of_country, *known_on(asked.as_of)]
    return [(key, row) for key, (row,) in _read(build, "row", "tender_facts", where, asked)]


def _macro(build: Build, asked: _Asked) -> Facts:
    country = asked.entity.upper()
    code, name = encode(country), _country_name(build, country)
    entity = {"entity_id": code, "entity_name": name, "country_iso3": code}
    facts: Facts = []
    tables = [("macro_series", "series"), ("macro_annual", "indicator")]
    if asked.after is not None:
        # The table in which the last page ended comes first in the key.
        begin, *place = asked.after
        tables = tables[[table for table, _ in tables].index(begin) :]
        asked = replace(asked, after=tuple(place))
    # The second table is read only for the rows that the first one leaves to the limit.
    for table, column in tables:
        remaining = None if asked.limit is None else asked.limit - len(facts)
        where = [
            *equal(country_iso3=country, **{column: asked.measure}),
            *known_on(asked.as_of),
        ]
        wanted = replace(asked, limit=remaining)
        facts += [
            ((table, *key), _fact(row, fact_id, entity, b'"AF-MACRO"', column, "value"))
            for key, (row, fact_id) in _read(build, "row, row_id", table, where, wanted)
        ]
        asked = replace(asked, after=None)
    return facts


def _read(
    build: Build, columns: str, table: str, where: Sequence[Condition], asked: _Asked
) -> KeyedRows:
    return fetch_keyed(build, columns, table, where, None, asked.limit, asked.after)


def _country_name(build: Build, country: str) -> bytes:
    rows = build.rows("countries", "SELECT name FROM {table} WHERE country_iso3 = ?", country)
    return encode(rows[0][0]) if rows else _NULL


def _fact(
    row: bytes,
    fact_id: str | None,
    entity: Members,
    dataset: bytes,
    measure: str,
    value: str,
) -> bytes:
    members = decode_object(row)
    period_type = members.get("period_type") or members["frequency"]
    return encode_object(
        {
            "fact_id": members["fact_id"] if fact_id is None else encode(fact_id),
            **entity,
            "dataset": dataset,
            "measure": members[measure],
            "value": members[value],
            "unit": members["unit"],
            "base_period": members.get("base_period", _NULL),
            "period_end": members["period_end"],
            "period_type": period_type,
            "ocid": _NULL,
            **{name: members[name] for name in ("available_at", "vintage", *PROVENANCE)},
        }
    )


_Read = Callable[[Build, _Asked], Facts]
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
