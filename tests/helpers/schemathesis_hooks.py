"""Hooks of schemathesis: what the service says in words, since a schema cannot.

A generated request that is meant to be valid also has to keep the rules between parameters,
and can neither invent a cursor nor a data_version. Half of the ids are of someone.
"""

import os
from typing import Any

import schemathesis
from schemathesis import Case, GenerationMode, HookContext

_KNOWN = {
    "service_id": os.environ["KNOWN_IDS"].split(","),
    "signal_key": ["single-bid-rate", "award-concentration"],
    "sku": ["AF-FUND", "af-tender", "AF-MACRO"],
}
_FORGED = {"cursor", "X-Data-Version"}


@schemathesis.hook
def map_path_parameters(context: HookContext, path_parameters: dict[str, Any]) -> dict[str, Any]:
    """Put a known id in the place of every second that has its form."""
    for name, value in dict(path_parameters or {}).items():
        known = _KNOWN.get(name, [])
        if known and str(value).isascii() and str(value).isalnum() and len(str(value)) % 2:
            path_parameters[name] = known[len(str(value)) % len(known)]
    return path_parameters


@schemathesis.hook
def filter_case(context: HookContext, case: "Case[Any]") -> bool:
    """Keep what is meant to be invalid, and what keeps the rules."""
    meta = case.meta
    if meta is not None and meta.generation.mode == GenerationMode.NEGATIVE:
        return True
    query: dict[str, Any] = dict(case.query or {})
    if _FORGED & {*query, *(case.headers or {})}:
        return False
    if query.get("from") and query.get("to") and str(query["from"]) > str(query["to"]):
        return False
    kept = {"/v1/macro": _macro, "/v1/shared/facts": _shared}.get(case.operation.path)
    return kept is None or kept(query)


def _macro(query: dict[str, Any]) -> bool:
    """Keep to one of the two modes."""
    if "series" in query or "as_of" in query:
        years = (len(str(query.get(name, ""))) == 4 for name in ("from", "to"))
        return "indicator" not in query and not any(years)
    return not {"series_type", "frequency"} & set(query)


def _shared(query: dict[str, Any]) -> bool:
    """Ask of one subject, for a dataset that it has."""
    entity, country, dataset = (query.get(name) for name in ("entity_id", "country", "dataset"))
    if (entity is None) == (country is None):
        return False
    if entity is None:
        return dataset in ("AF-TENDER", "AF-MACRO")
    issuer = str(entity).startswith("DC") and len(str(entity)) > 3
    return dataset in ((None, "AF-FUND", "AF-TENDER") if issuer else (None, "AF-MACRO"))
