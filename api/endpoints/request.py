"""Reading of a request by the declaration of its endpoint."""

from collections.abc import Mapping
from typing import Any

import falcon

from api.endpoints.endpoint import Endpoint
from warehouse.contract.pagination import mart_at_version
from warehouse.contract.parameter_types import Parameter
from warehouse.contract.problems import (
    Problem,
    check_data_version,
    invalid_value,
    missing_parameter,
    unknown_parameter,
)
from warehouse.read.mart import Mart
from warehouse.tiers import Tier

Parameters = dict[str, Any]


def read_parameters(req: falcon.Request, endpoint: Endpoint, **path: str) -> Parameters:
    """Return every declared parameter as its type reads it, None if it was not sent.

    An unknown, repeated, empty, malformed or missing parameter is refused.
    """
    # Rows of a list can be sent in other forms as well.
    if endpoint.listing is None and not req.client_accepts(falcon.MEDIA_JSON):
        raise Problem("not_acceptable", "The response is application/json; let Accept allow it.")
    if endpoint.needs_key:
        check_data_version(req.env.get("HTTP_X_DATA_VERSION"))
    return read_values(endpoint, req.params, path)


def read_values(
    endpoint: Endpoint, sent: Mapping[str, str | list[str]], path: Mapping[str, str]
) -> Parameters:
    """Return every declared parameter from what was sent in the query and in the path."""
    parameters: Parameters = {
        name: _path_value(endpoint, name, text) for name, text in path.items()
    }
    declared = endpoint.query
    # Ignoring a misspelt filter would return rows that were not asked for.
    for name in sent:
        if name not in declared:
            raise unknown_parameter(name, declared, "this endpoint")
    for name, parameter in declared.items():
        parameters[name] = _query_value(parameter, sent.get(name))
    return parameters


def tier_of(req: falcon.Request) -> Tier:
    """Return the tier of the key that was sent."""
    tier: Tier = req.context.key.tier
    return tier


def pinned_mart(req: falcon.Request, mart: Mart) -> Mart:
    """Return the mart at the data_version that the request pins, or the current one."""
    return mart_at_version(mart, req.env.get("HTTP_X_DATA_VERSION"))


def etag_matches(if_none_match: str | None, etag: str) -> bool:
    """Return whether an If-None-Match header names the ETag (RFC 9110, weak comparison)."""
    if if_none_match is None:
        return False
    tags = (tag.strip().removeprefix("W/") for tag in if_none_match.split(","))
    return any(tag in ("*", etag) for tag in tags)


def _path_value(endpoint: Endpoint, name: str, text: str) -> object:
    parameter = endpoint.in_path[name]
    try:
        return parameter.kind.read(text)
    except ValueError:
        # Then it is an id that no record has: whoever looks for it says so.
        if endpoint.invalid_id_status == 404:
            return text
        raise invalid_value(name, text, parameter.kind) from None


def _query_value(parameter: Parameter, sent: str | list[str] | None) -> object:
    name, kind = parameter.name, parameter.kind
    # Falcon makes a list of a parameter that is repeated; choosing one would be a guess.
    if isinstance(sent, list):
        raise Problem("parameter_repeated", f"{name} was sent more than once.", parameter=name)
    if sent is None and parameter.required:
        raise missing_parameter(name, kind.expected)
    text = parameter.default if sent is None else sent
    if text is None:
        return None
    try:
        if not text:
            raise ValueError
        return kind.read(text)
    except ValueError:
        raise invalid_value(name, text, kind) from None
