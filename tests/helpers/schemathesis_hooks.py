"""Schemathesis hooks for the rules that a schema cannot express.

A generated request that is meant to be valid also has to keep the rules between parameters,
and can neither invent a cursor nor a data_version. Half of the ids exist.
"""

import os
from typing import Any

import schemathesis
from schemathesis import Case, GenerationMode, HookContext

from api.endpoints.declarations import ENDPOINTS
from api.endpoints.lines import columns_of
from warehouse.methodology.metrics import TRAILING, TRAILING_SET
from warehouse.names.search_words import terms
from warehouse.serve.search import MAX_SEARCH_WORDS

_EXISTING_IDS = {
    "service_id": os.environ["KNOWN_IDS"].split(","),
    "signal_key": ["single-bid-rate", "award-concentration"],
    "sku": ["AF-FUND", "af-tender", "AF-MACRO"],
}
_TRAILING = {formula.slug for formula in TRAILING}
_FORGED = {"cursor", "data_version", "X-Data-Version"}
# All members of a row by name: with fewer it is not that of the description. Where rows are of
# several kinds, which members there are depends on the other parameters.
_MEMBERS = {
    endpoint.path: ",".join(columns_of(endpoint.listing.row))
    for endpoint in ENDPOINTS
    if endpoint.listing is not None and len(endpoint.listing.row) == 1
}


@schemathesis.hook
def map_path_parameters(context: HookContext, path_parameters: dict[str, Any]) -> dict[str, Any]:
    """Replace every second well-formed id with one that exists."""
    for name, value in dict(path_parameters or {}).items():
        existing = _EXISTING_IDS.get(name, [])
        if existing and str(value).isascii() and str(value).isalnum() and len(str(value)) % 2:
            path_parameters[name] = existing[len(str(value)) % len(existing)]
    return path_parameters


@schemathesis.hook
def filter_case(context: HookContext, case: "Case[Any]") -> bool:
    """Keep requests that are meant to be invalid, and those that follow the rules."""
    meta = case.meta
    if meta is not None and meta.generation.mode == GenerationMode.NEGATIVE:
        return True
    query: dict[str, Any] = dict(case.query or {})
    if _FORGED & {*query, *(case.headers or {})}:
        return False
    if "fields" in query and case.operation.path not in _MEMBERS:
        return False
    if query.get("from") and query.get("to") and str(query["from"]) > str(query["to"]):
        return False
    rule = {
        "/v1/macro": _macro,
        "/v1/shared/facts": _shared,
        "/v1/crosswalk": _lookup,
        "/v1/awards": _winner,
        "/v1/search": _words,
        "/v1/tenders": _words,
        "/v1/screen": _of_set,
        "/v1/metrics/{service_id}": _of_set,
        "/v1/fundamentals": _figures,
        "/v1/fundamentals/{service_id}": _figures,
    }.get(case.operation.path)
    if case.operation.path == "/v1/match":
        return _named(case.body)
    return rule is None or rule(query)


@schemathesis.hook
def map_case(context: HookContext, case: "Case[Any]") -> "Case[Any]":
    """Name the members of a row in requests that are meant to be valid."""
    members = _MEMBERS.get(case.operation.path)
    is_valid = case.meta is None or case.meta.generation.mode == GenerationMode.POSITIVE
    if is_valid and members is not None and "fields" in (case.query or {}):
        case.query["fields"] = members
    return case


def _words(query: dict[str, Any]) -> bool:
    """Return whether what is searched for has words, and not too many."""
    searched = (str(query[name]) for name in ("query", "buyer", "supplier") if name in query)
    return all(map(_has_words, searched))


def _has_words(text: str) -> bool:
    return 1 <= len(terms(text)) <= MAX_SEARCH_WORDS


def _figures(query: dict[str, Any]) -> bool:
    """Return whether the query asks for lines or for a statement."""
    return not {"line_items", "statement"} <= set(query)


def _of_set(query: dict[str, Any]) -> bool:
    """Return whether the metric, if there is one, is of the set."""
    return query.get("metric_set") != TRAILING_SET or query.get("metric") in (None, *_TRAILING)


def _macro(query: dict[str, Any]) -> bool:
    """Return whether the query keeps to one of the two modes."""
    if "series" in query or "as_of" in query:
        years = (len(str(query.get(name, ""))) == 4 for name in ("from", "to"))
        return "indicator" not in query and not any(years)
    return not {"series_type", "frequency"} & set(query)


def _lookup(query: dict[str, Any]) -> bool:
    """Return whether the identifier is of a type that has no form of its own."""
    return query.get("id_type") in ("registry", "aggregator")


def _winner(query: dict[str, Any]) -> bool:
    """Return whether the query names a supplier or a country, and a buyer by words."""
    return bool({"service_id", "country"} & set(query)) and _words(query)


def _named(body: Any) -> bool:
    """Return whether each name of the rows has words, and not too many."""
    rows = body.get("rows") if isinstance(body, dict) else None
    names = [row.get("name") for row in rows or () if isinstance(row, dict)]
    return all(_has_words(name) for name in names if isinstance(name, str))


def _shared(query: dict[str, Any]) -> bool:
    """Return whether the query names one subject and a dataset that it has."""
    entity, country, dataset = (query.get(name) for name in ("entity_id", "country", "dataset"))
    if (entity is None) == (country is None):
        return False
    if entity is None:
        return dataset in ("AF-TENDER", "AF-MACRO")
    issuer = str(entity).startswith("DC") and len(str(entity)) > 3
    return dataset in ((None, "AF-FUND", "AF-TENDER") if issuer else (None, "AF-MACRO"))
