"""The declaration of an endpoint: validation, description and headers follow from it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from email.utils import format_datetime
from functools import cached_property, lru_cache
from typing import Any, Literal

import falcon
import msgspec

from warehouse.contract import problems
from warehouse.contract.json_values import read
from warehouse.contract.listing import Listing
from warehouse.contract.pagination import build_at
from warehouse.contract.parameter_types import Parameter, as_declared
from warehouse.serve.build import Build, Mart
from warehouse.shared.data_files import csv_rows
from warehouse.shared.tiers import Tier
from warehouse.shared.urls import as_reached

# What a resource answers; all other methods are refused. ``methods`` of one says otherwise.
METHODS = ("GET", "HEAD", "OPTIONS")
POSTED = ("POST", "OPTIONS")
DEPRECATION_NOTICE = timedelta(days=180)
# The headers of responses that are ours, with their meaning.
RESPONSE_HEADERS = csv_rows(__name__, "headers")


@dataclass(frozen=True)
class Deprecation:
    """An endpoint that will be removed: announced since, removed on, replaced by."""

    since: datetime
    sunset: datetime
    successor: str

    def __post_init__(self) -> None:
        """Refuse less notice than was promised."""
        if self.sunset - self.since < DEPRECATION_NOTICE:
            days = DEPRECATION_NOTICE.days
            raise ValueError(f"an endpoint is removed after at least {days} days' notice")

    def headers(self) -> dict[str, str]:
        """Return the headers of every response of the endpoint (RFC 9745, 8594, 8288)."""
        return {
            "Deprecation": f"@{int(self.since.timestamp())}",
            "Sunset": format_datetime(self.sunset.astimezone(UTC), usegmt=True),
            "Link": f'<{self.successor}>; rel="successor-version"',
        }


@dataclass(frozen=True)
class Endpoint:
    """One endpoint. ``body`` names the schema of its response, ``statuses`` its errors.

    A path identifier that does not match its pattern is answered with ``invalid_id_status``.
    An endpoint with a ``listing`` sends its rows, page by page.
    """

    name: str
    path: str
    summary: str
    description: str
    body: str
    tag: str
    parameters: tuple[Parameter, ...] = ()
    statuses: tuple[int, ...] = ()
    needs_key: bool = True
    invalid_id_status: Literal[400, 404] = 400
    deprecation: Deprecation | None = None
    listing: Listing | None = None

    @property
    def route(self) -> str:
        """The path as Falcon has it; an id of a process may contain slashes."""
        return self.path.replace("{ocid}", "{ocid:path}")

    @cached_property
    def query(self) -> Mapping[str, Parameter]:
        """Return the query parameters by name."""
        return self._located("query")

    @cached_property
    def in_body(self) -> tuple[Parameter, ...]:
        """Return the members of the JSON object that is sent as the body; none for a GET."""
        return tuple(each for each in self.parameters if each.location == "body")

    @property
    def body_example(self) -> dict[str, Any]:
        """Return a body that any build can answer."""
        return {each.name: msgspec.json.decode(str(each.example)) for each in self.in_body}

    @property
    def method(self) -> Literal["get", "post"]:
        """Return the HTTP method of its requests."""
        return "post" if self.in_body else "get"

    @cached_property
    def in_path(self) -> Mapping[str, Parameter]:
        """Return the path parameters by name."""
        return self._located("path")

    @cached_property
    def defaults(self) -> dict[str, Any]:
        """Return the values of query parameters that are not sent, None without a default."""
        return {
            name: None if parameter.default is None else parameter.kind.read(parameter.default)
            for name, parameter in self.query.items()
        }

    @property
    def required(self) -> list[str]:
        """The names of the parameters that a request must have."""
        return [parameter.name for parameter in self.parameters if parameter.required]

    def _located(self, location: str) -> dict[str, Parameter]:
        return {
            parameter.name: parameter
            for parameter in self.parameters
            if parameter.location == location
        }


# Reading of a request by the declaration of its endpoint.

Parameters = dict[str, Any]


def read_parameters(req: falcon.Request, endpoint: Endpoint, **path: str) -> Parameters:
    """Return every declared parameter as its type reads it, None if it was not sent.

    An unknown, repeated, empty, malformed or missing parameter is refused.
    """
    # Rows of a list can be sent in other forms as well.
    if endpoint.listing is None and not req.client_accepts(falcon.MEDIA_JSON):
        raise problems.Problem(
            "not_acceptable", "The response is application/json; let Accept allow it."
        )
    parameters = read_values(endpoint, req.params, path)
    if endpoint.needs_key:
        header = req.env.get("HTTP_X_DATA_VERSION")
        problems.check_data_version(header)
        if parameters.get("data_version") not in (None, header):
            detail = "The header X-Data-Version pins another version: send one of them."
            raise problems.conflicting_parameters("data_version", detail)
    return parameters


def read_values(
    endpoint: Endpoint, sent: Mapping[str, str | list[str]], path: Mapping[str, str]
) -> Parameters:
    """Return every declared parameter from what was sent in the query and in the path."""
    parameters = endpoint.defaults.copy()
    for name, text in path.items():
        parameters[name] = _path_value(endpoint, name, text)
    declared = endpoint.query
    sent = as_declared(sent, declared)
    # Ignoring a misspelt filter would return rows that were not requested.
    for name in sent:
        if name not in declared:
            raise problems.unknown_parameter(name, declared, "this endpoint")
    # In the order of the declaration: of several problems always the same one is reported.
    for name, parameter in declared.items():
        if name in sent:
            parameters[name] = _query_value(parameter, sent[name])
        elif parameter.required:
            raise problems.missing_parameter(name, parameter.kind.expected)
    return parameters


_BODY = msgspec.json.Decoder(dict[str, Any], float_hook=Decimal)


def read_body(req: falcon.Request, endpoint: Endpoint) -> Parameters:
    """Return what the body of a request declares, whatever its Content-Type."""
    names = ", ".join(each.name for each in endpoint.in_body)
    try:
        req.context.posted = req.bounded_stream.read()
        sent = _BODY.decode(req.context.posted)
    except (msgspec.DecodeError, RecursionError, ArithmeticError):
        expected = f"a JSON object with {names}"
        raise problems.invalid_parameter("body", "", expected) from None
    return read(endpoint.in_body, sent, "the body")


def tier_of(req: falcon.Request) -> Tier:
    """Return the tier of the key that was sent."""
    tier: Tier = req.context.key.tier
    return tier


def pinned_build(req: falcon.Request, mart: Mart) -> Build:
    """Return the build that the request pins, or the current one."""
    return build_at(mart, req.env.get("HTTP_X_DATA_VERSION"))


def mcp_url_for(req: falcon.Request, mcp_url: str) -> str:
    """Return the URL of the MCP server for the client of a request; empty if there is none."""
    return _reached(mcp_url, req.env.get("HTTP_HOST"))


@lru_cache(256)
def _reached(mcp_url: str, host: str | None) -> str:
    # Needed by every page.
    return as_reached(mcp_url, host).rstrip("/")


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
        raise problems.invalid_value(name, text, parameter.kind) from None


def _query_value(parameter: Parameter, sent: str | list[str]) -> object:
    name, kind = parameter.name, parameter.kind
    # Falcon makes a list of a parameter that is repeated; choosing one would be a guess.
    if isinstance(sent, list):
        raise problems.Problem(
            "parameter_repeated", f"{name} was sent more than once.", parameter=name
        )
    try:
        if not sent:
            raise ValueError
        return kind.read(sent)
    except ValueError:
        raise problems.invalid_value(name, sent, kind) from None
