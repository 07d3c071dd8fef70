"""Macroeconomic figures, and facts of any dataset in one common row format.

Macro figures have two modes: series as they were known on a day, or annual indicators.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import Any

from msgspec import json, structs

from warehouse.contract import problems
from warehouse.contract.listing import ListRows, Parameters, Question
from warehouse.contract.parameter_types import DAY, year_as_day
from warehouse.publish.row_json import PROVENANCE
from warehouse.serve.build import Build
from warehouse.serve.entities import organisation_id
from warehouse.serve.rows import (
    Key,
    alpha_3,
    distinct_values,
    equal,
    fetch_keyed,
    fetch_rows,
    in_country,
    known_on,
    make_page,
)
from warehouse.serve.table_query import Empty, Filter, TableQuery, filters_of, query_rows, why_empty
from warehouse.shared.json_encoding import decode_object, encode, encode_object
from warehouse.shared.texts import nearest
from warehouse.shared.tiers import Dataset

_RATE = re.compile(r"FX\.(?P<base>[A-Z]{3})\.(?P<quote>[A-Z]{3})")
_SERIES_ONLY = ("series_type", "frequency")
# How many series a refusal suggests instead.
_SERIES_NAMED = 10


def is_series_mode(parameters: Parameters) -> bool:
    """Return whether series are requested: ``series`` or ``as_of`` was sent."""
    return parameters["series"] is not None or parameters["as_of"] is not None


def macro(question: Question) -> ListRows:
    """Return the rows of the requested mode, newest period first."""
    parameters = question.parameters
    if is_series_mode(parameters):
        _refuse_indicator(question.build, parameters)
    else:
        for name in _SERIES_ONLY:
            # It would otherwise be ignored silently.
            if parameters[name] is not None:
                mode = "series mode: send series, or as_of (today, for what is known now)"
                raise problems.conflicting_parameters(name, f"{name} belongs to {mode}.")
    query = _macro_query(parameters)
    problems.check_date_order(*query.days)
    return ListRows(query_rows(question.build, query, **question.page))


def why_no_macro(question: Question) -> Empty:
    """Return why there are no such figures."""
    empty = why_empty(question.build, _macro_query(question.parameters))
    rate = _RATE.fullmatch((question.parameters["series"] or "").upper())
    if empty.code != "value_not_held" or rate is None:
        return empty
    # Rates are in one direction, and against few currencies.
    turned = f"FX.{rate['quote']}.{rate['base']}"
    if not fetch_rows(question.build, "1", "macro_series", equal(series=turned), limit=1):
        return empty
    detail = (
        f"There is no {rate[0]}, but {turned}: {rate['base']} per {rate['quote']}, which is its "
        "inverse."
    )
    return Empty("value_not_held", detail, "series", [turned])


def _macro_query(parameters: Parameters) -> TableQuery:
    is_series = is_series_mode(parameters)
    names = ("series", "series_type", "frequency") if is_series else ("indicator",)
    filters = of_country(parameters["country"])
    filters += filters_of(**{name: parameters[name] for name in names})
    return TableQuery(
        "macro_series" if is_series else "macro_annual",
        "observations of series" if is_series else "annual figures",
        filters,
        # The source of annual figures does not say when a value became public.
        known_on(parameters["as_of"]),
        parameters["as_of"],
        "period_end",
        _bounds(parameters, is_series),
    )


def _bounds(parameters: Parameters, is_series: bool) -> tuple[date | None, date | None]:
    """Return the first and the last requested day; a year counts as its first or last day."""
    from_, to = parameters["from"], parameters["to"]
    if is_series:
        return _day("from", from_), _day("to", to)
    return (
        None if from_ is None else year_as_day(from_, "01-01"),
        None if to is None else year_as_day(to, "12-31"),
    )


def _day(name: str, text: str | None) -> date | None:
    """Parse a date; a bare year belongs to annual mode."""
    try:
        return None if text is None else DAY.read(text)
    except ValueError:
        raise problems.invalid_parameter(name, str(text), DAY.expected) from None


def _refuse_indicator(build: Build, parameters: Parameters) -> None:
    """Refuse an annual indicator: it is not known what was public on a given day."""
    indicator, as_of, country = (parameters[name] for name in ("indicator", "as_of", "country"))
    if indicator is None:
        return
    if as_of is None:
        detail = "indicator names an annual indicator and series a series: ask for one of them."
        raise problems.conflicting_parameters("indicator", detail)
    where = [*in_country(country), *known_on(as_of)]
    series = distinct_values(build, "series", "macro_series", where, _SERIES_NAMED)
    raise problems.unanswerable_as_of(indicator, as_of, country, series)


def of_country(country: str | None) -> list[Filter]:
    """Return the filter of a country, given as alpha-2 or alpha-3; none if it was not sent."""
    if country is None:
        return []
    column = "country" if len(country) == 2 else "country_iso3"
    return [Filter("country", country, in_country(country), column)]


# Facts: of an issuer its financials, or with AF-TENDER the awards it won; of a country its macro
# figures, or with AF-TENDER the value of each tender, newest first. Each is in the latest vintage
# known on ``as_of``, with its provenance.

# The table and its columns of the entity and of the measure; None is the default dataset. Macro
# figures are in two tables, and that of the series represents both.
_FINANCIALS = ("fundamentals", "service_id", "line_item")
_AWARDS = ("award_facts", "organisation", "measure")
_TENDERS = ("tender_facts", "country_iso3", "measure")
_MACRO = ("macro_series", "country_iso3", "series")
_TABLES: Mapping[tuple[str, Dataset | None], tuple[str, str, str]] = {
    ("an issuer", None): _FINANCIALS,
    ("an issuer", "AF-FUND"): _FINANCIALS,
    ("an issuer", "AF-TENDER"): _AWARDS,
    ("the entity_id of a country", None): _MACRO,
    ("the entity_id of a country", "AF-MACRO"): _MACRO,
    ("a country", "AF-TENDER"): _TENDERS,
    ("a country", "AF-MACRO"): _MACRO,
}
# Members of a JSON object as encoded bytes, taken over without parsing their values.
Members = Mapping[str, bytes]
Facts = list[tuple[Key, bytes]]
_NULL = b"null"


def facts(question: Question) -> ListRows:
    """Return facts of an issuer or a country."""
    parameters, build = question.parameters, question.build
    entity_id, country = parameters["entity_id"], parameters["country"]
    if entity_id is None and country is None:
        raise problems.missing_parameter("entity_id", "exactly one of entity_id and country")
    if entity_id is not None and country is not None:
        raise problems.conflicting_parameters(
            "country", "Send exactly one of entity_id and country."
        )
    if country is not None and parameters["dataset"] is None:
        raise problems.missing_parameter("dataset", "with country it is AF-TENDER or AF-MACRO")
    table, column, measure = _table_of(parameters)
    entity = entity_id or alpha_3(build, country)
    one_more = None if question.limit is None else question.limit + 1
    if table == "macro_series":
        found = _macro_facts(build, entity.upper(), parameters, one_more, question.after)
    else:
        of_owner = column != "country_iso3"
        value = organisation_id(build, entity) if of_owner else entity.upper()
        of = {column: value, measure: parameters["measure"]}
        where = [*equal(**of), *known_on(parameters["as_of"])]
        rows = fetch_keyed(build, "row", table, where, None, one_more, question.after)
        found = [(key, row[0]) for key, row in rows]
        if table == "fundamentals":
            found = _financials(build, value, found)
    return ListRows(make_page(build, found, question.limit))


def datasets_of_facts(parameters: Parameters) -> tuple[str, ...]:
    """Return the requested dataset; none for a country without one, which is refused."""
    defaults = {"an issuer": "AF-FUND", "the entity_id of a country": "AF-MACRO"}
    dataset = parameters["dataset"] or defaults.get(_entity_kind(parameters["entity_id"]))
    return () if dataset is None else (dataset,)


def _table_of(parameters: Parameters) -> tuple[str, str, str]:
    """Return the table and its columns; refuse a dataset that has no facts of the entity."""
    kind, dataset = _entity_kind(parameters["entity_id"]), parameters["dataset"]
    if (kind, dataset) not in _TABLES:
        raise problems.conflicting_parameters("dataset", f"{dataset} is not available for {kind}.")
    return _TABLES[kind, dataset]


def _entity_kind(entity_id: str | None) -> str:
    if entity_id is None:
        return "a country"
    # A code of a country has three letters, an id of an organisation or a party more.
    return "an issuer" if len(entity_id) > 3 else "the entity_id of a country"


def _financials(build: Build, owner: str, rows: Facts) -> Facts:
    statement = "SELECT legal_name, country_iso3 FROM {table} WHERE service_id = ?"
    records = build.rows("entities", statement, owner) or [(None, None)]
    name, country = (encode(value or None) for value in records[0])
    issuer = {"entity_id": encode(owner), "entity_name": name, "country_iso3": country}
    return [
        (key, _fact(row, None, issuer, b'"AF-FUND"', "line_item", "value_reported"))
        for key, row in rows
    ]


def _macro_facts(
    build: Build, country: str, parameters: Parameters, limit: int | None, after: Key | None
) -> Facts:
    named = build.rows("countries", "SELECT name FROM {table} WHERE country_iso3 = ?", country)
    code, name = encode(country), encode(named[0][0]) if named else _NULL
    entity = {"entity_id": code, "entity_name": name, "country_iso3": code}
    found: Facts = []
    tables = [("macro_series", "series"), ("macro_annual", "indicator")]
    if after is not None:
        # The table in which the last page ended comes first in the key.
        begin, *place = after
        tables = tables[[table for table, _ in tables].index(begin) :]
        after = tuple(place)
    # The second table is read only for the rows that the first one leaves to the limit.
    for table, column in tables:
        remaining = None if limit is None else limit - len(found)
        of = {"country_iso3": country, column: parameters["measure"]}
        where = [*equal(**of), *known_on(parameters["as_of"])]
        rows = fetch_keyed(build, "row, row_id", table, where, None, remaining, after)
        found += [
            ((table, *key), _fact(row, fact_id, entity, b'"AF-MACRO"', column, "value"))
            for key, (row, fact_id) in rows
        ]
        after = None
    return found


def _fact(
    row: bytes, fact_id: str | None, entity: Members, dataset: bytes, measure: str, value: str
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
            **dict.fromkeys(("ocid", "buyer", "buyer_id", "title", "category"), _NULL),
            **{name: members[name] for name in ("available_at", "vintage", *PROVENANCE)},
        }
    )


def why_no_facts(question: Question) -> Empty:
    """Return why there are no such facts."""
    build, parameters = question.build, question.parameters
    entity_id, country, measure, as_of = (
        parameters[name] for name in ("entity_id", "country", "measure", "as_of")
    )
    entity = entity_id or alpha_3(build, country)
    table, column, measure_column = _table_of(parameters)
    of_owner = column != "country_iso3"
    value = organisation_id(build, entity) if of_owner else entity.upper()
    # Ids of organisations are no words that could be near each other.
    near = "" if of_owner else column
    parameter = "country" if entity_id is None else "entity_id"
    filters = [Filter(parameter, entity, equal(**{column: value}), near)]
    if measure is not None:
        of_measure = equal(**{measure_column: measure})
        filters.append(Filter("measure", measure, of_measure, measure_column))
    reason = why_empty(build, TableQuery(table, "facts", filters, known_on(as_of), as_of))
    may_be_annual = table == "macro_series" and as_of is not None
    if may_be_annual and reason.code != "not_known_then" and _first_fact(question, as_of=None):
        detail = (
            f"The facts that match are not known to have been public by {as_of}: their source "
            "documents no release dates."
        )
        return Empty("not_known_then", detail, "as_of")
    if table == "fundamentals" and reason.code == "value_not_held":
        return _awards_instead(question, reason)
    return reason


def _awards_instead(question: Question, reason: Empty) -> Empty:
    """Return the reason for missing figures, along with the awards that there are, if any."""
    measure = question.parameters["measure"]
    won = _first_fact(question, dataset="AF-TENDER", measure=None)
    awarded = [json.decode(row)["measure"] for row in won]
    near = awarded if measure is None or not awarded else nearest(measure, awarded)
    if not near:
        return reason
    detail = f"{reason.detail} With dataset AF-TENDER it has {near[0]}: the awards that it won."
    return replace(reason, detail=detail, nearest=near if reason.parameter == "measure" else ())


def _first_fact(question: Question, **others: Any) -> Sequence[bytes]:
    """Return the first fact that the question finds with other parameters."""
    parameters = {**question.parameters, **others}
    return facts(structs.replace(question, parameters=parameters, limit=1)).rows.rows
