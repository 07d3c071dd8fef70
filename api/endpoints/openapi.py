"""The OpenAPI 3.1 description, generated from the declarations."""

from collections.abc import Mapping, Sequence
from typing import Any

from api.endpoints.endpoint import RESPONSE_HEADERS, Endpoint
from api.endpoints.response import MEDIA_TYPES
from warehouse.contract import API_VERSION
from warehouse.contract.agent_discovery import CARD_PATH, MCP_PATH
from warehouse.contract.parameter_types import Parameter, objects_schema
from warehouse.contract.problems import PROBLEMS
from warehouse.contract.schemas import (
    BODY_SCHEMAS,
    MANIFEST_SCHEMAS,
    PROBLEM_SCHEMA,
    ROW_SCHEMAS,
    body_example,
)
from warehouse.serve.examples import Example
from warehouse.shared.data_files import csv_rows

_DESCRIPTION = (
    "Point-in-time company fundamentals, public tenders, macroeconomic series, metrics and "
    "signals for African and emerging markets. For research and information only; not a "
    "regulated benchmark. Nothing is estimated: null means unknown. Restatements append vintages; "
    "`as_of` returns what was knowable on a day, `X-Data-Version` what had been loaded. "
    "HEAD works wherever GET does. No personal data is published."
)
_JSON, _PROBLEM = "application/json", "application/problem+json"
# Rows of a list without an envelope.
_LINES = (MEDIA_TYPES["csv"], MEDIA_TYPES["ndjson"])
# Alternatives: either scheme is enough.
_KEYED: list[dict[str, list[str]]] = [{"ApiKey": []}, {"Bearer": []}]
_TEXT = {"type": "string"}
_VERSION = {"type": "string", "pattern": r"^[0-9]{8}\.[0-9]{1,9}$"}

_HEADER_TYPES = {"text": _TEXT, "version": _VERSION, "seconds": {"type": "integer", "minimum": 0}}
_ALWAYS_HEADERS = ("X-Service-API-Version", "X-Request-Id")
_KEYED_HEADERS = ("X-Data-Version", "X-Service-Tier", "RateLimit-Policy", "RateLimit")
_DEPRECATION_HEADERS = ("Deprecation", "Sunset", "Link")
_LIST_HEADERS = ("Link", "X-Next-Cursor", "X-Empty-Reason")
# Parameters that are not required, and without which a request may return nothing.
_NEEDED = {
    "/v1/tenders": ("country",),
    "/v1/awards": ("service_id",),
    "/v1/shared/facts": ("entity_id", "dataset"),
    "/v1/macro": ("series",),
    "/v1/signals/procurement-demand": ("country",),
}
# Parameters whose examples do not depend on the build.
_OF_ANY_BUILD = ("limit", "format", "order")
_COMMON_STATUSES = (405, 414, 431)
_STATUSES = {int(row["status"]): row for row in csv_rows(__name__, "statuses")}


def openapi_document(
    endpoints: Sequence[Endpoint],
    examples: Mapping[str, Example] | None = None,
    mcp_url: str = "",
) -> dict[str, Any]:
    """Return the OpenAPI document of some endpoints.

    ``examples`` are parameters by the name of a list, in place of those that are declared.
    """
    mcp = {"x-mcp": {"url": f"{mcp_url}{MCP_PATH}", "server_card": f"{mcp_url}{CARD_PATH}"}}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Sankofa",
            "version": API_VERSION,
            "summary": "What was knowable on any past day.",
            "description": _DESCRIPTION,
        },
        **(mcp if mcp_url else {}),
        # Relative, so that one document is right at every public URL.
        "servers": [{"url": "/"}],
        "tags": [{"name": name} for name in dict.fromkeys(endpoint.tag for endpoint in endpoints)],
        "paths": {
            endpoint.path: {endpoint.method: _operation(endpoint, examples)}
            for endpoint in endpoints
        },
        "components": {
            "schemas": {
                **ROW_SCHEMAS,
                **MANIFEST_SCHEMAS,
                **BODY_SCHEMAS,
                "Problem": PROBLEM_SCHEMA,
            },
            "headers": {row["name"]: _header(row) for row in RESPONSE_HEADERS},
            "parameters": _request_headers(),
            "securitySchemes": {
                "ApiKey": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
                "Bearer": {"type": "http", "scheme": "bearer"},
            },
        },
    }


def _operation(endpoint: Endpoint, examples: Mapping[str, Example] | None) -> dict[str, Any]:
    name = "" if endpoint.listing is None else endpoint.listing.name
    example = None if examples is None else examples.get(name, {})
    parameters = [
        _parameter(parameter, example)
        for parameter in endpoint.parameters
        if parameter not in endpoint.in_body
    ]
    names = ["RequestId", *(("DataVersion", "IfNoneMatch") if endpoint.needs_key else ())]
    if endpoint.in_body:
        names.remove("IfNoneMatch")
    parameters += [{"$ref": f"#/components/parameters/{name}"} for name in names]
    operation = {
        "operationId": endpoint.name,
        "tags": [endpoint.tag],
        "summary": endpoint.summary,
        "description": endpoint.description,
        "parameters": parameters,
        "security": _KEYED if endpoint.needs_key else [],
        "responses": _responses(endpoint),
    }
    if endpoint.in_body:
        body = {"schema": objects_schema(endpoint.in_body), "example": endpoint.body_example}
        operation["requestBody"] = {"required": True, "content": {_JSON: body}}
    if example and endpoint.parameters:
        # The parameters that are enough to get rows.
        operation["x-example"] = {
            parameter.name: example[parameter.name]
            for parameter in endpoint.parameters
            if (parameter.required or parameter.name in _NEEDED.get(endpoint.path, ()))
            and parameter.name in example
        }
    return operation if endpoint.deprecation is None else {**operation, "deprecated": True}


def _parameter(parameter: Parameter, example: Example | None) -> dict[str, Any]:
    schema = dict(parameter.kind.schema)
    if parameter.default is not None:
        schema["default"] = parameter.default
    described = {
        "name": parameter.name,
        "in": parameter.location,
        "required": parameter.required,
        "description": parameter.description,
        "schema": schema,
    }
    if schema.get("type") == "array":
        # Separated by commas: a parameter that is repeated is refused.
        described["explode"] = False
    shown: object = parameter.example
    if example is not None and parameter.name not in _OF_ANY_BUILD:
        shown = example.get(parameter.name)
    if isinstance(shown, str) and schema.get("type") == "array":
        shown = shown.split(",")
    return described if shown is None else {**described, "example": shown}


def _responses(endpoint: Endpoint) -> dict[str, Any]:
    statuses = sorted(
        {*endpoint.statuses, *_COMMON_STATUSES, *((406,) if endpoint.statuses else ())}
    )
    responses = {"200": _success(endpoint, 200, _STATUSES[200]["meaning"])}
    if endpoint.needs_key and not endpoint.in_body:
        responses["304"] = {
            "description": "Unchanged since the ETag in If-None-Match.",
            "headers": _headers(endpoint, 200),
        }
    for status in statuses:
        # A degraded status is a complete report, not a problem.
        if status == 503 and endpoint.body == "Status":
            responses["503"] = _success(endpoint, 503, "Degraded; `degraded` lists what failed.")
        else:
            responses[str(status)] = _failure(endpoint, status)
    return responses


def _success(endpoint: Endpoint, status: int, meaning: str) -> dict[str, Any]:
    reference = {"$ref": f"#/components/schemas/{endpoint.body}"}
    body = {"schema": reference}
    if endpoint.body != "Description":
        body["example"] = body_example(endpoint.body)
    content = {_JSON: body}
    if endpoint.listing is not None and not endpoint.in_body:
        content |= {media_type: {"schema": _TEXT} for media_type in _LINES}
    return {
        "description": meaning,
        "headers": _headers(endpoint, status),
        "content": content,
    }


def _failure(endpoint: Endpoint, status: int) -> dict[str, Any]:
    codes = [code for code, problem in PROBLEMS.items() if problem.status == status]
    return {
        "description": f"{_STATUSES[status]['meaning']} Codes: {', '.join(codes)}.",
        "headers": _headers(endpoint, status),
        "content": {
            _PROBLEM: {
                "schema": {"$ref": "#/components/schemas/Problem"},
                "example": _problem_example(codes[0]),
            }
        },
    }


def _headers(endpoint: Endpoint, status: int) -> dict[str, Any]:
    names = [*_ALWAYS_HEADERS, *_STATUSES[status]["headers"].split()]
    # Without a valid key there is no tier, no quota and no version to report.
    if endpoint.needs_key and status != 401:
        names += _KEYED_HEADERS
    if endpoint.listing is not None and not endpoint.in_body and status == 200:
        names += _LIST_HEADERS
    if endpoint.deprecation is not None:
        names += _DEPRECATION_HEADERS
    return {name: {"$ref": f"#/components/headers/{name}"} for name in names}


def _header(row: Mapping[str, str]) -> dict[str, Any]:
    schema, required = _HEADER_TYPES[row["type"]], row["required"] == "yes"
    return {"description": row["meaning"], "schema": schema, "required": required}


def _request_headers() -> dict[str, Any]:
    headers = {
        "RequestId": ("X-Request-Id", "Your id for the request.", _TEXT),
        "DataVersion": (
            "X-Data-Version",
            "Answer from this version of the data.",
            _VERSION,
        ),
        "IfNoneMatch": ("If-None-Match", "ETag of an earlier response; 304 if unchanged.", _TEXT),
    }
    return {
        name: {
            "name": header,
            "in": "header",
            "required": False,
            "description": meaning,
            "schema": schema,
        }
        for name, (header, meaning, schema) in headers.items()
    }


def _problem_example(code: str) -> dict[str, Any]:
    problem = PROBLEMS[code]
    return {
        "type": f"/problems/{code}",
        "title": problem.title,
        "status": problem.status,
        "code": code,
        "detail": problem.advice,
        "instance": "mine-1",
    }
