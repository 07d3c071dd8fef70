"""Every list that is served, declared once: how its rows are read, and why it is empty."""

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from typing import Any

from msgspec import json, structs

from warehouse.contract.identifier_forms import check_identifier, has_form_of_isin
from warehouse.contract.limits import check_search_words
from warehouse.contract.listing import Listing, ListRows, Parameters, Question
from warehouse.contract.parameters import is_series_mode, macro_bounds, macro_rows
from warehouse.contract.problems import (
    Problem,
    check_date_order,
    conflicting_parameters,
    missing_parameter,
    unknown_id,
    unknown_word,
)
from warehouse.methodology.line_items import LINE_ITEMS
from warehouse.methodology.metrics import ABSENT_REASONS
from warehouse.names.search_words import terms
from warehouse.serve.build import Build
from warehouse.serve.catalogue import catalogue, changes, quality_metrics, skus, versions
from warehouse.serve.entities import (
    FREE_ID_TYPES,
    entities_found,
    identifiers,
    is_known_id,
    lookup,
    organisation_id,
)
from warehouse.serve.fundamentals import facts_known, facts_of_issuers, filings_known
from warehouse.serve.metrics import (
    PROCUREMENT_DEMAND,
    absent_reasons,
    closed_by,
    metrics,
    panel,
    screen,
    signal_keys,
)
from warehouse.serve.parties import awards_of, parties, suppliers
from warehouse.serve.rows import (
    Condition,
    alpha_2,
    alpha_3,
    equal,
    fetch_rows,
    in_country,
    known_on,
    one_of,
    page_of,
)
from warehouse.serve.search import search
from warehouse.serve.shared_facts import asked_of, check_dataset, dataset_of, shared_facts
from warehouse.serve.tenders import releases, releases_of
from warehouse.serve.why_empty import Asked, Empty, Filter, filters_of, why_empty
from warehouse.shared.texts import nearest
from warehouse.shared.tiers import Dataset
from warehouse.tables.entities import IdType

# Matches nothing.
_NO_ROW = Condition("1 = 0")


def _reason(make: Callable[[Build, Question], Asked]) -> Callable[[Question], Empty]:
    """Return the reason of a list whose rows come from one table."""

    def why(question: Question) -> Empty:
        build = question.mart.build()
        return why_empty(build, make(build, question))

    return why


def _country(question: Question) -> str | None:
    return alpha_2(question.mart.build(), question.parameters["country"])


def _days(question: Question) -> tuple[date | None, date | None]:
    from_, to = question.parameters["from"], question.parameters.get("to")
    check_date_order(from_, to)
    return from_, to


# Fundamentals.


def _lines(question: Question) -> tuple[str, ...]:
    """Return the line items that are asked for; none stand for all."""
    named, statement = question.parameters["line_items"], question.parameters["statement"]
    if statement is None:
        return tuple(named or ())
    lines = [item.name for item in LINE_ITEMS if item.statement == statement]
    both = tuple(name for name in lines if named is None or name in named)
    if not both:
        detail = f"None of line_items is a line of the {statement} statement."
        raise conflicting_parameters("statement", detail)
    return both


def _fundamentals(question: Question) -> ListRows:
    names = ("service_id", "as_of", "period_type", "vintages")
    service_id, lines = question.parameters["service_id"], _lines(question)
    rows = facts_known(question.mart, **question.values(*names), line_items=lines, **question.page)
    if rows is None:
        raise unknown_id(service_id)
    return ListRows(rows)


def _fundamentals_of_several(question: Question) -> ListRows:
    names = ("service_ids", "as_of", "period_type", "vintages")
    found = facts_of_issuers(
        question.mart, **question.values(*names), line_items=_lines(question), **question.page
    )
    return ListRows(found.rows, extra={"unknown_ids": found.unknown})


def _figures_asked(build: Build, question: Question) -> Asked:
    parameters, lines = question.parameters, _lines(question)
    ids = parameters.get("service_ids") or [parameters["service_id"]]
    owners = [organisation_id(build, service_id) for service_id in ids]
    parameter = "service_ids" if parameters.get("service_ids") else "service_id"
    filters = [Filter(parameter, ", ".join(ids[:5]), [one_of("organisation", owners)])]
    if lines:
        items = [one_of("line_item", lines)]
        filters.append(Filter("line_items", ", ".join(lines[:5]), items, "line_item"))
    filters += filters_of(period_type=parameters["period_type"])
    as_of = parameters["as_of"]
    known = known_on(as_of, parameters["vintages"])
    return Asked("fundamentals", "reported figures", filters, known, as_of, "period_end")


# Filings.


def _filings(question: Question) -> ListRows:
    from_, to = _days(question)
    filters = question.values("service_id", "form", "as_of")
    return ListRows(filings_known(question.mart, **filters, from_=from_, to=to, **question.page))


def _filings_asked(build: Build, question: Question) -> Asked:
    parameters = question.parameters
    service_id, as_of = parameters["service_id"], parameters["as_of"]
    owner = organisation_id(build, service_id)
    filters = [Filter("service_id", service_id, equal(organisation=owner))]
    filters += filters_of(form=parameters["form"])
    days = (parameters["from"], parameters["to"])
    return Asked("filings", "filings", filters, known_on(as_of), as_of, "received_on", days)


# Tenders and their parties.


def _tenders(question: Question) -> ListRows:
    from_, to = _days(question)
    for name in ("buyer", "query"):
        check_search_words(name, question.parameters[name])
    filters = question.values("category", "buyer", "status", "query", "as_of")
    country = _country(question) or ""
    rows = releases(question.mart, country, from_, **question.page, to=to, **filters)
    return ListRows(rows)


def _releases_asked(build: Build, question: Question) -> Asked:
    parameters = question.parameters
    filters = filters_of(
        country=alpha_2(build, parameters["country"]),
        category=parameters["category"],
    )
    if (status := parameters["status"]) is not None:
        of_status = equal(tender_status=status)
        filters.append(Filter("status", status, of_status, "tender_status"))
    as_of = parameters["as_of"]
    days = (parameters["from"], parameters["to"])
    known = known_on(as_of)
    return Asked("tender_releases", "releases", filters, known, as_of, "released_on", days)


def _why_no_releases(question: Question) -> Empty:
    empty = _reason(_releases_asked)(question)
    words = {name: question.parameters[name] for name in ("query", "buyer")}
    sought = {name: value for name, value in words.items() if value is not None}
    if empty.code != "no_match" or not sought:
        return empty
    stated = " and ".join(f"{name} {value!r}" for name, value in sought.items())
    detail = f"No releases have all the words of {stated}: try fewer words."
    return replace(empty, detail=detail, parameter=next(iter(sought)))


def _tender(question: Question) -> ListRows:
    ocid = question.parameters["ocid"]
    rows = releases_of(question.mart, ocid, question.parameters["as_of"], **question.page)
    if rows is None:
        raise unknown_id(ocid)
    return ListRows(rows)


def _process_asked(build: Build, question: Question) -> Asked:
    as_of = question.parameters["as_of"]
    filters = filters_of(ocid=question.parameters["ocid"])
    return Asked("tender_releases", "releases", filters, known_on(as_of), as_of, "released_on")


def _parties(question: Question) -> ListRows:
    from_, to = _days(question)
    filters = {**question.values("role", "service_id", "as_of"), "from_": from_, "to": to}
    rows = parties(question.mart, _country(question), **filters, **question.page)
    return ListRows(rows)


def _why_no_parties(question: Question) -> Empty:
    build, parameters = question.mart.build(), question.parameters
    country, role = alpha_2(build, parameters["country"]), parameters["role"]
    filters = filters_of(country=country, role=role)
    if parameters["service_id"] is not None:
        owner = organisation_id(build, parameters["service_id"])
        filters.append(Filter("service_id", parameters["service_id"], equal(organisation=owner)))
    as_of, days = parameters["as_of"], (parameters["from"], parameters["to"])
    if as_of is None:
        empty = why_empty(build, Asked("tender_parties", "parties", filters))
    else:
        # The read found none that was known: what was public by then was withdrawn.
        asked = Asked("party_history", "parties", filters, [_NO_ROW], as_of)
        empty = why_empty(build, asked)
    if empty.code in ("no_match", "withdrawn") and days != (None, None):
        known = "" if as_of is None else f" of those that were known on {as_of}"
        detail = f"No release of a day between the bounds{known} names such a party."
        return Empty("out_of_range", detail, "from" if days[0] else "to")
    return empty


# Macro figures, and facts of any dataset.

_RATE = re.compile(r"FX\.(?P<base>[A-Z]{3})\.(?P<quote>[A-Z]{3})")


def _macro(question: Question) -> ListRows:
    return ListRows(macro_rows(question.mart, question.parameters, **question.page))


def _macro_asked(build: Build, question: Question) -> Asked:
    parameters = question.parameters
    is_series = is_series_mode(parameters)
    names = ("series", "series_type", "frequency") if is_series else ("indicator",)
    filters = _in_country(parameters["country"])
    filters += filters_of(**{name: parameters[name] for name in names})
    return Asked(
        "macro_series" if is_series else "macro_annual",
        "observations of series" if is_series else "annual figures",
        filters,
        known_on(parameters["as_of"]),
        parameters["as_of"],
        "period_end",
        macro_bounds(parameters),
    )


def _why_no_macro(question: Question) -> Empty:
    empty = _reason(_macro_asked)(question)
    rate = _RATE.fullmatch((question.parameters["series"] or "").upper())
    if empty.code != "value_not_held" or rate is None:
        return empty
    # Rates are held in one direction, and against few currencies.
    turned = f"FX.{rate['quote']}.{rate['base']}"
    (series,) = filters_of(series=turned)
    if not fetch_rows(question.mart.build(), "1", "macro_series", series.where, limit=1):
        return empty
    detail = (
        f"{rate[0]} is not held, but {turned}: {rate['base']} per {rate['quote']}, which is its "
        "inverse."
    )
    return Empty("value_not_held", detail, "series", [turned])


def _in_country(country: str | None) -> list[Filter]:
    if country is None:
        return []
    column = "country" if len(country) == 2 else "country_iso3"
    return [Filter("country", country, in_country(country), column)]


def _facts(question: Question) -> ListRows:
    entity_id, country = question.parameters["entity_id"], question.parameters["country"]
    # The read checks this too; here the error can name the parameter.
    if entity_id is None and country is None:
        raise missing_parameter("entity_id", "exactly one of entity_id and country")
    if entity_id is not None and country is not None:
        raise conflicting_parameters("country", "Send exactly one of entity_id and country.")
    if country is not None and question.parameters["dataset"] is None:
        raise missing_parameter("dataset", "with country it is AF-TENDER or AF-MACRO")
    check_dataset(entity_id, question.parameters["dataset"])
    filters = question.values("entity_id", "dataset", "as_of", "measure")
    code = None if country is None else alpha_3(question.mart.build(), country)
    return ListRows(shared_facts(question.mart, country=code, **filters, **question.page))


def _why_no_facts(question: Question) -> Empty:
    build, parameters = question.mart.build(), question.parameters
    entity_id, country = parameters["entity_id"], parameters["country"]
    entity = entity_id or alpha_3(build, country)
    table, column, measure_column = asked_of(entity_id, parameters["dataset"])
    value = organisation_id(build, entity) if column == "organisation" else entity.upper()
    parameter = "country" if entity_id is None else "entity_id"
    of_entity = equal(**{column: value})
    # Ids of organisations are no words that could be near each other.
    near = "" if column == "organisation" else column
    filters = [Filter(parameter, entity, of_entity, near)]
    if parameters["measure"] is not None:
        of_measure = equal(**{measure_column: parameters["measure"]})
        filters.append(Filter("measure", parameters["measure"], of_measure, measure_column))
    as_of = parameters["as_of"]
    reason = why_empty(build, Asked(table, "facts", filters, known_on(as_of), as_of))
    if table == "macro_series" and reason.code != "not_known_then" and as_of is not None:
        return _annual_instead(question) or reason
    if table == "fundamentals" and reason.code == "value_not_held":
        return _awards_instead(question, reason)
    return reason


def _awards_instead(question: Question, reason: Empty) -> Empty:
    """Return the reason of figures that are not held, with the awards that are, if any."""
    measure = question.parameters["measure"]
    asked = {**question.parameters, "dataset": "AF-TENDER", "measure": None}
    won = _facts(structs.replace(question, parameters=asked, limit=1)).rows.rows
    held = [json.decode(row)["measure"] for row in won]
    near = held if measure is None or not held else nearest(measure, held)
    if not near:
        return reason
    detail = f"{reason.detail} With dataset AF-TENDER it has {near[0]}: the awards that it won."
    return replace(reason, detail=detail, nearest=near if reason.parameter == "measure" else ())


def _annual_instead(question: Question) -> Empty | None:
    """Return the reason of figures that are held, but of which no day is known."""
    undated = structs.replace(question, parameters={**question.parameters, "as_of": None}, limit=1)
    if not _facts(undated).rows.rows:
        return None
    as_of = question.parameters["as_of"]
    detail = (
        f"The facts that match are not known to have been public by {as_of}: their source "
        "documents no release dates."
    )
    return Empty("not_known_then", detail, "as_of")


# Derived data.


def _metrics(question: Question) -> ListRows:
    filters = question.values("service_id", "metric", "as_of")
    return ListRows(metrics(question.mart, **filters, **question.page))


def _why_no_metrics(question: Question) -> Empty:
    build, parameters = question.mart.build(), question.parameters
    service_id, metric, as_of = (parameters[name] for name in ("service_id", "metric", "as_of"))
    owner = organisation_id(build, service_id)
    reasons = absent_reasons(build, owner, metric, as_of)
    if reasons:
        stated = ", ".join(f"{slug}: {reason}" for slug, reason in reasons.items())
        meanings = "; ".join(
            f"{reason}: {words}"
            for reason, words in ABSENT_REASONS.items()
            if reason in reasons.values()
        )
        on_day = "" if as_of is None else f" on {as_of}"
        detail = (
            f"Nothing is exactly computable{on_day}; the reasons: {stated} ({meanings}). The "
            "reported figures that were known then are in the fundamentals."
        )
        return Empty("not_computable", detail, "metric")
    filters = [Filter("service_id", service_id, equal(organisation=owner))]
    asked = Asked("fundamentals", "reported figures", filters, known_on(as_of), as_of)
    reason = why_empty(build, asked)
    if reason.code != "no_match":
        return reason
    detail = "Figures of this issuer are held, but none of a full year that a metric can be of."
    return Empty("not_computable", detail, "service_id")


def _screen(question: Question) -> ListRows:
    filters = question.values("metric", "order", "as_of")
    ranking = screen(question.mart, **filters, country=_country(question), **question.page)
    return ListRows(ranking.rows, extra={"universe": ranking.universe})


def _why_no_issuers(question: Question) -> Empty:
    build, parameters = question.mart.build(), question.parameters
    metric, as_of = parameters["metric"], parameters["as_of"]
    country = alpha_2(build, parameters["country"])
    reasons = screen(question.mart, metric, "desc", as_of, country, 1).universe["left_out"]
    if stated := ", ".join(f"{reason} {count}" for reason, count in reasons.items() if count):
        detail = f"No issuer has an exactly computable {metric}; left out are: {stated}."
        return Empty("not_computable", detail, "metric")
    filters = filters_of(metric=metric, country=country)
    since = ("answers_from",)
    asked = Asked("screens", "values", filters, [_NO_ROW], as_of, public_since=since)
    return why_empty(build, asked)


def _procurement_demand(question: Question) -> ListRows:
    category = question.parameters["category"]
    names = ("dimension", "dimension_value", "measure")
    dimension, value, measure = (question.parameters[name] for name in names)
    if category is not None:
        if (dimension or "category", value or category) != ("category", category):
            # No row is of two dimensions, or of two categories.
            return ListRows(page_of(question.mart.build(), (), question.limit))
        dimension, value = "category", category
    return _panel(question, PROCUREMENT_DEMAND, dimension, value, measure)


def _signal(question: Question) -> ListRows:
    names = ("signal_key", "dimension", "dimension_value", "measure")
    return _panel(question, *(question.parameters[name] for name in names))


def _panel(
    question: Question,
    signal_key: str,
    dimension: str | None,
    dimension_value: str | None,
    measure: str | None,
) -> ListRows:
    from_, to = _days(question)
    rows = panel(
        question.mart,
        signal_key,
        _country(question),
        dimension,
        dimension_value,
        measure,
        question.parameters["as_of"],
        from_,
        to,
        **question.page,
    )
    if rows is None:
        raise unknown_word("signal_key", signal_key, signal_keys(question.mart.build()))
    return ListRows(rows)


def _panel_asked(build: Build, question: Question) -> Asked:
    parameters = question.parameters
    names = ("dimension", "dimension_value", "measure")
    values = {name: parameters.get(name) for name in names}
    key = parameters.get("signal_key", PROCUREMENT_DEMAND)
    filters = filters_of(signal_key=key, country=alpha_2(build, parameters["country"]), **values)
    if (category := parameters.get("category")) is not None:
        among = equal(signal_key=key, dimension="category")
        of_category = [*equal(dimension="category"), *equal(dimension_value=category)]
        filters.append(Filter("category", category, of_category, "dimension_value", among))
    as_of, from_ = parameters["as_of"], parameters["from"]
    days = (None if from_ is None else from_.replace(day=1), parameters["to"])
    since = ("available_at", "closed_at")
    return Asked("signals", "observations", filters, closed_by(as_of), as_of, "month", days, since)


def _quality(question: Question) -> ListRows:
    sku = question.parameters["sku"]
    rows = quality_metrics(question.mart, sku, **question.page)
    if rows is None:
        raise unknown_word("sku", sku, skus(question.mart.build()))
    return ListRows(rows)


# Organisations.


def _crosswalk(question: Question) -> ListRows:
    service_id = question.parameters["service_id"]
    crosswalk = identifiers(question.mart, service_id, question.tier.paid, **question.page)
    if crosswalk is None:
        raise unknown_id(service_id)
    before: dict[str, object] = {
        "service_id": crosswalk.service_id,
        "legal_name": crosswalk.legal_name,
        "crosswalk_loaded": crosswalk.crosswalk_loaded,
    }
    extra: dict[str, object] = {"withheld_id_types": crosswalk.withheld_id_types}
    return ListRows(crosswalk.identifiers, before, extra)


def _why_no_identifiers(question: Question) -> Empty:
    detail = "No identifier of this organisation is held that the tier of the key may see."
    return Empty("nothing_held", detail, "service_id")


def _lookup(question: Question) -> ListRows:
    id_type, id_value = question.parameters["id_type"], question.parameters["id_value"]
    # Before the lookup: the answer must not depend on whether there is a match.
    _check_paid(question, id_type, "id_type", id_type, f"Lookups by {id_type}")
    check_identifier(id_type, id_value)
    matches = lookup(question.mart, id_type, id_value, **question.page)
    before = {"id_type": id_type, "id_value": id_value, "ambiguous": matches.ambiguous}
    return ListRows(matches.rows, before)


def _check_paid(
    question: Question, id_type: IdType, parameter: str, received: str, what: str
) -> None:
    """Refuse what finds an organisation by an identifier of the paid crosswalk to other keys."""
    if id_type in FREE_ID_TYPES or question.tier.paid:
        return
    raise Problem(
        "paid_crosswalk",
        f"{what} need the starter tier or above.",
        parameter=parameter,
        received=received,
        tier=question.tier.name,
        required_tier="starter",
    )


def _why_no_match(question: Question) -> Empty:
    id_type, id_value = question.parameters["id_type"], question.parameters["id_value"]
    detail = f"No organisation that is held has the {id_type} {id_value!r}."
    if id_type == "registry":
        detail += " The search finds names, and tickers without an exchange."
    return Empty("value_not_held", detail, "id_value")


def _checked_query(question: Question) -> str:
    """Return what is searched for; refuse an ISIN, which a search finds, to a key of no paid tier.

    Its form decides, before anything is read: the answer does not tell whether an ISIN is known.
    """
    query: str = question.parameters["query"]
    check_search_words("query", query)
    for word in filter(has_form_of_isin, terms(query)):
        what = f"{word.upper()} has the form of an ISIN. Leave it out: searches by ISIN"
        _check_paid(question, "isin", "query", query, what)
    return query


def _entities(question: Question) -> ListRows:
    query, country = _checked_query(question), question.parameters["country"]
    return ListRows(entities_found(question.mart, query, country, **question.page))


def _search(question: Question) -> ListRows:
    query, kind = _checked_query(question), question.parameters["kind"]
    kinds = None if kind is None else (kind,)
    return ListRows(
        search(question.mart, query, kinds, question.parameters["country"], **question.page)
    )


def _why_none_found(question: Question) -> Empty:
    query, country = question.parameters["query"], question.parameters["country"]
    where = "" if country is None else f" in {country}"
    detail = (
        f"Nothing that is held{where} has a name or identifier like {query!r}: try fewer words, "
        "and do not guess an id."
    )
    return Empty("no_match", detail, "query")


# Awards.


def _awards(question: Question) -> ListRows:
    from_, to = _days(question)
    service_id, as_of = question.parameters["service_id"], question.parameters["as_of"]
    days: dict[str, Any] = {"as_of": as_of, "from_": from_, "to": to}
    if service_id is not None:
        build = question.mart.build()
        if not is_known_id(build, service_id):
            raise unknown_id(service_id)
        country = question.parameters["country"]
        days["country_iso3"] = None if country is None else alpha_3(build, country)
        won = awards_of(question.mart, service_id, **days, **question.page)
        return ListRows(won.rows, extra={"totals": won.totals})
    if question.parameters["country"] is None:
        raise missing_parameter("service_id", "an organisation, or a country for its suppliers")
    return ListRows(suppliers(question.mart, _country(question), **days, **question.page))


def _why_no_awards(question: Question) -> Empty:
    parameters = question.parameters
    if parameters["service_id"] is None:
        asked = {**parameters, "role": "supplier"}
        return _why_no_parties(structs.replace(question, parameters=asked))
    asked = {**parameters, "entity_id": parameters["service_id"], "dataset": "AF-TENDER"}
    asked |= {"measure": None, "country": None}
    empty = _why_no_facts(structs.replace(question, parameters=asked))
    if empty.code == "value_not_held":
        detail = "No award with a stated value is known that this organisation won."
        return Empty("value_not_held", detail, "service_id")
    if empty.code != "no_match":
        return empty
    if parameters["country"] is not None:
        detail = f"It won awards, but none in {parameters['country']} within the bounds."
        return Empty("no_match", detail, "country")
    detail = "It won awards, but none of a day between the bounds."
    return Empty("out_of_range", detail, "from" if parameters["from"] else "to")


# What is held.


def _catalogue(question: Question) -> ListRows:
    filters = question.values("section", "dataset", "country")
    return ListRows(catalogue(question.mart, **filters, **question.page))


def _catalogue_asked(build: Build, question: Question) -> Asked:
    parameters = question.parameters
    filters = filters_of(section=parameters["section"], dataset=parameters["dataset"])
    filters += _in_country(parameters["country"])
    return Asked("catalogue", "entries", filters)


def _why_no_entries(question: Question) -> Empty:
    section = question.parameters["section"]
    if question.parameters["country"] is not None and section in _OF_ALL_COUNTRIES:
        detail = f"Entries of section {section!r} are of all countries together: leave country out."
        return Empty("not_held_together", detail, "country")
    return _reason(_catalogue_asked)(question)


_OF_ALL_COUNTRIES = ("indicator", "line_item", "metric")


def _changes(question: Question) -> ListRows:
    filters = question.values("since", "dataset", "id")
    rows = changes(question.mart, **filters, country=_country(question), **question.page)
    return ListRows(rows)


def _changes_asked(build: Build, question: Question) -> Asked:
    parameters = question.parameters
    country = alpha_2(build, parameters["country"])
    filters = filters_of(dataset=parameters["dataset"], id=parameters["id"], country=country)
    days = (parameters["since"], None)
    return Asked("changes", "changes", filters, (), None, "changed_on", days, (), ("since", ""))


def _versions(question: Question) -> ListRows:
    return ListRows(versions(question.mart, **question.page))


def _never_empty(question: Question) -> Empty:
    return Empty("nothing_held", "Nothing is held.")


def _of(dataset: Dataset) -> Callable[[Parameters], tuple[str, ...]]:
    """Return the datasets of a list whose rows are all of one."""
    return lambda _: (dataset,)


def _datasets_of_facts(parameters: Parameters) -> tuple[str, ...]:
    dataset = dataset_of(parameters["entity_id"], parameters["dataset"])
    return () if dataset is None else (dataset,)


_FIGURES: dict[str, Any] = {
    "row": ("Fact",),
    "why_empty": _reason(_figures_asked),
    "datasets": _of("AF-FUND"),
}
_OBSERVATIONS: dict[str, Any] = {
    "row": ("Observation",),
    "why_empty": _reason(_panel_asked),
    "member": "observations",
    "datasets": _of("AF-TENDER"),
}
FUNDAMENTALS = Listing("fundamentals", read=_fundamentals, row_rule="paid_unlimited", **_FIGURES)
FUNDAMENTALS_OF_SEVERAL = Listing(
    "fundamentals of several",
    read=_fundamentals_of_several,
    row_rule="paid_unlimited",
    **_FIGURES,
)
FILINGS = Listing(
    "filings",
    ("Filing",),
    _filings,
    _reason(_filings_asked),
    datasets=_of("AF-FUND"),
)
TENDERS = Listing("tenders", ("Release",), _tenders, _why_no_releases, datasets=_of("AF-TENDER"))
TENDER = Listing(
    "tender", ("Release",), _tender, _reason(_process_asked), datasets=_of("AF-TENDER")
)
TENDER_PARTIES = Listing(
    "tender parties", ("TenderParty",), _parties, _why_no_parties, datasets=_of("AF-TENDER")
)
MACRO = Listing(
    "macro",
    ("SeriesObservation", "AnnualObservation"),
    _macro,
    _why_no_macro,
    datasets=_of("AF-MACRO"),
)
SHARED_FACTS = Listing(
    "shared facts", ("SharedFact",), _facts, _why_no_facts, datasets=_datasets_of_facts
)
METRICS = Listing("metrics", ("Metric",), _metrics, _why_no_metrics, datasets=_of("AF-FUND"))
SCREEN = Listing("screen", ("RankedMetric",), _screen, _why_no_issuers, datasets=_of("AF-FUND"))
DEMAND = Listing("procurement demand", read=_procurement_demand, **_OBSERVATIONS)
SIGNAL = Listing("signal", read=_signal, **_OBSERVATIONS)
QUALITY = Listing("quality", ("QualityRecord",), _quality, _never_empty, "uncapped")
CROSSWALK = Listing(
    "crosswalk", ("Identifier",), _crosswalk, _why_no_identifiers, "uncapped", "identifiers"
)
SEARCH = Listing("search", ("SearchResult",), _search, _why_none_found)
ENTITY_SEARCH = Listing("search of entities", ("EntityMatch",), _entities, _why_none_found)
AWARDS = Listing(
    "awards",
    ("SharedFact", "TenderParty"),
    _awards,
    _why_no_awards,
    datasets=_of("AF-TENDER"),
)
LOOKUP = Listing("lookup", ("Match",), _lookup, _why_no_match, "uncapped")
CATALOGUE = Listing("catalogue", ("CatalogueEntry",), _catalogue, _why_no_entries, "uncapped")
CHANGES = Listing("changes", ("Change",), _changes, _reason(_changes_asked))
VERSIONS = Listing("versions", ("Version",), _versions, _never_empty, "uncapped")
