"""The OpenAPI 3.1 description, written from the declarations and from nothing else."""

from collections.abc import Sequence
from typing import Any

from api.endpoints.endpoint import Endpoint
from warehouse.contract import API_VERSION
from warehouse.contract.body_schemas import (
    BODY_SCHEMAS,
    MANIFEST_SCHEMAS,
    ROW_SCHEMAS,
    body_example,
)
from warehouse.contract.json_schema import member_schema, object_schema, type_schema
from warehouse.contract.parameter_types import Parameter
from warehouse.contract.problems import PROBLEMS

_ABOUT = (
    "Point-in-time company fundamentals, public tenders, macroeconomic series, metrics and "
    "signals for African and emerging markets. Research and information only; no regulated "
    "benchmark. Nothing is estimated: null means not known. Restatements append vintages; "
    "`as_of` answers with what was knowable on a day, `X-Data-Version` from what was loaded. "
    "HEAD is answered wherever GET is. No natural-person data is served."
)
_JSON, _PROBLEM = "application/json", "application/problem+json"
_KEYED: list[dict[str, list[str]]] = [{"ApiKey": []}, {"Bearer": []}]
_TEXT = {"type": "string"}
_VERSION = {"type": "string", "pattern": r"^[0-9]{8}\.[0-9]+$"}

_HEADERS: dict[str, tuple[str, dict[str, Any], bool]] = {
    "X-Service-API-Version": ("Version of this description.", _TEXT, True),
    "X-Request-Id": ("Id of the request; a valid one that was sent is kept.", _TEXT, True),
    "X-Data-Version": ("The data_version that answered.", _VERSION, False),
    "X-Service-Tier": ("Tier of the key.", _TEXT, False),
    "RateLimit-Policy": ("Both windows: per minute and per month.", _TEXT, False),
    "RateLimit": ("What is left of each window.", _TEXT, False),
    "ETag": ("Changes with the answer; send it back in If-None-Match.", _TEXT, False),
    "Deprecation": ("Since when the endpoint is deprecated (RFC 9745).", _TEXT, False),
    "Sunset": ("When it will be removed (RFC 8594).", _TEXT, False),
    "Link": ("Names the successor of a deprecated endpoint.", _TEXT, False),
    "Retry-After": ("Seconds to wait.", {"type": "integer", "minimum": 0}, True),
    "X-Upgrade-URL": ("Where to get a higher tier.", _TEXT, True),
    "WWW-Authenticate": ("How to authenticate.", _TEXT, True),
    "Allow": ("Methods that are allowed.", _TEXT, True),
}
_EVERY = ("X-Service-API-Version", "X-Request-Id")
_OF_KEYED = ("X-Data-Version", "X-Service-Tier", "RateLimit-Policy", "RateLimit")
_GOING = ("Deprecation", "Sunset", "Link")
_OF_STATUS = {
    200: ("ETag",),
    401: ("WWW-Authenticate",),
    402: ("X-Upgrade-URL",),
    405: ("Allow",),
    429: ("Retry-After",),
    503: ("Retry-After",),
}
_ANYWHERE = (405, 414, 431)
_MEANING = {
    400: "A parameter is malformed, missing, unknown, repeated or in conflict; the body names it.",
    401: "Missing or invalid API key.",
    402: "More than the tier serves; the body and X-Upgrade-URL carry the way up.",
    404: "No record with that identifier.",
    405: "The service is read with GET.",
    406: "Accept does not allow JSON.",
    414: "The address is longer than any that the service gives meaning to.",
    431: "The headers are too large.",
    429: "The per-minute or the monthly limit was reached.",
    503: "A store is temporarily unavailable; retry.",
}


def openapi_document(endpoints: Sequence[Endpoint]) -> dict[str, Any]:
    """Write the description of some endpoints."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Sankofa",
            "version": API_VERSION,
            "summary": "What was knowable on any past day.",
            "description": _ABOUT,
        },
        "servers": [{"url": "/"}],
        "tags": [{"name": name} for name in dict.fromkeys(each.tag for each in endpoints)],
        "paths": {each.path: {"get": _operation(each)} for each in endpoints},
        "components": {
            "schemas": {**ROW_SCHEMAS, **MANIFEST_SCHEMAS, **BODY_SCHEMAS, "Problem": _problem()},
            "headers": {name: _header(*said) for name, said in _HEADERS.items()},
            "parameters": _request_headers(),
            "securitySchemes": {
                "ApiKey": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
                "Bearer": {"type": "http", "scheme": "bearer"},
            },
        },
    }


def _operation(endpoint: Endpoint) -> dict[str, Any]:
    parameters = [_parameter(each) for each in endpoint.parameters]
    names = ("RequestId", "DataVersion", "IfNoneMatch") if endpoint.needs_key else ("RequestId",)
    parameters += [{"$ref": f"#/components/parameters/{name}"} for name in names]
    held = {
        "operationId": endpoint.name,
        "tags": [endpoint.tag],
        "summary": endpoint.summary,
        "description": endpoint.description,
        "parameters": parameters,
        "security": _KEYED if endpoint.needs_key else [],
        "responses": _responses(endpoint),
    }
    return held if endpoint.deprecation is None else {**held, "deprecated": True}


def _parameter(parameter: Parameter) -> dict[str, Any]:
    schema = dict(parameter.kind.schema())
    if parameter.default is not None:
        schema["default"] = parameter.default
    held = {
        "name": parameter.name,
        "in": parameter.location,
        "required": parameter.required,
        "description": parameter.description,
        "schema": schema,
    }
    return held if parameter.example is None else {**held, "example": parameter.example}


def _responses(endpoint: Endpoint) -> dict[str, Any]:
    statuses = sorted({*endpoint.statuses, *_ANYWHERE, *((406,) if endpoint.statuses else ())})
    responses = {"200": _success(endpoint, 200, "Answered.")}
    if endpoint.needs_key:
        responses["304"] = {
            "description": "Unchanged since the ETag that was sent.",
            "headers": _headers(endpoint, 200),
        }
    for status in statuses:
        if status == 503 and endpoint.body == "Status":
            responses["503"] = _success(endpoint, 200, "Degraded; `degraded` names what failed.")
        else:
            responses[str(status)] = _failure(endpoint, status)
    return responses


def _success(endpoint: Endpoint, status: int, meaning: str) -> dict[str, Any]:
    reference = {"$ref": f"#/components/schemas/{endpoint.body}"}
    body = {"schema": reference}
    if endpoint.body != "Description":
        body["example"] = body_example(endpoint.body)
    return {
        "description": meaning,
        "headers": _headers(endpoint, status),
        "content": {_JSON: body},
    }


def _failure(endpoint: Endpoint, status: int) -> dict[str, Any]:
    codes = [code for code, kind in PROBLEMS.items() if kind.status == status]
    return {
        "description": f"{_MEANING[status]} Codes: {', '.join(codes)}.",
        "headers": _headers(endpoint, status),
        "content": {
            _PROBLEM: {
                "schema": {"$ref": "#/components/schemas/Problem"},
                "example": _problem_example(codes[0]),
            }
        },
    }


def _headers(endpoint: Endpoint, status: int) -> dict[str, Any]:
    names = [*_EVERY, *_OF_STATUS.get(status, ())]
    if endpoint.needs_key and status != 401:
        names += _OF_KEYED
    if endpoint.deprecation is not None:
        names += _GOING
    return {name: {"$ref": f"#/components/headers/{name}"} for name in names}


def _header(meaning: str, schema: dict[str, Any], required: bool) -> dict[str, Any]:
    return {"description": meaning, "schema": schema, "required": required}


def _request_headers() -> dict[str, Any]:
    said = {
        "RequestId": ("X-Request-Id", "Your id of the request.", _TEXT),
        "DataVersion": ("X-Data-Version", "Answer from what was loaded by then.", _VERSION),
        "IfNoneMatch": ("If-None-Match", "An ETag that you hold; unchanged is 304.", _TEXT),
    }
    return {
        name: {
            "name": header,
            "in": "header",
            "required": False,
            "description": meaning,
            "schema": schema,
        }
        for name, (header, meaning, schema) in said.items()
    }


def _problem() -> dict[str, Any]:
    always = object_schema(
        {
            "type": member_schema(str, "A page that explains the code.", "/problems/key_missing"),
            "title": member_schema(str, "The code in words.", "No API key was sent"),
            "status": member_schema(int, "Status of the answer.", 401),
            "code": {"type": "string", "enum": list(PROBLEMS)},
            "detail": member_schema(str, "What was wrong with this request.", "Send your API key."),
            "instance": member_schema(str, "Id of the request.", "mine-1"),
        },
        "What went wrong, in words and as a code (RFC 9457).",
    )
    always["properties"] |= {
        "parameter": type_schema(str),
        "received": type_schema(str),
        "expected": type_schema(str),
        "allowed": {"type": "array", "items": _TEXT},
        "maximum": type_schema(int),
        "upgrade_url": type_schema(str),
        "tier": type_schema(str),
        "required_tier": type_schema(str),
        "retry_after": type_schema(int),
        "retryable": type_schema(bool),
        "violated_policies": {"type": "array", "items": _TEXT},
    }
    return always


def _problem_example(code: str) -> dict[str, Any]:
    kind = PROBLEMS[code]
    return {
        "type": f"/problems/{code}",
        "title": kind.title,
        "status": kind.status,
        "code": code,
        "detail": kind.advice,
        "instance": "mine-1",
    }
