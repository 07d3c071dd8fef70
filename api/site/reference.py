"""The reference of the API: every endpoint with a request that works and what it answers."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from importlib.metadata import version
from typing import Any
from urllib.parse import quote, urlencode

import falcon
import msgspec

from api.endpoints import declarations
from api.endpoints.declarations import ENDPOINTS
from api.endpoints.endpoint import Endpoint, read_values
from api.endpoints.openapi import openapi_document
from api.site.render import Page, Reply, Site, check_names
from api.site.sample import Sample
from api.site.texts import MCP_PAGE
from warehouse.contract.json_values import read
from warehouse.contract.problems import Problem
from warehouse.contract.schemas import body_example
from warehouse.serve.build import Build
from warehouse.serve.catalogue import export_body
from warehouse.serve.examples import examples
from warehouse.shared.errors import SankofaError
from warehouse.shared.json_encoding import encode

# Members of each list of an example answer that are shown.
_MOST_MEMBERS = 2
# Operations are made once for a build, which is served under several addresses.
_EXPORTS_URL = "{exports_url}"
_JSON = msgspec.json.Decoder(float_hook=Decimal)


@dataclass(frozen=True)
class Field:
    """A parameter as a field of a form; ``example`` is a value that the build has rows for."""

    name: str
    location: str
    required: bool
    description: str
    choices: tuple[str, ...]
    value: str
    example: str


@dataclass(frozen=True)
class Operation:
    """An endpoint as the reference shows it.

    ``answer`` is what ``request`` returns; not ``from_build``, it is what it could return.
    """

    endpoint: Endpoint
    request: str
    fields: tuple[Field, ...]
    columns: tuple[dict[str, str], ...]
    statuses: Mapping[str, str]
    answer: str
    from_build: bool

    @property
    def sent_body(self) -> str:
        """The JSON object that a POST sends."""
        return encode(self.endpoint.body_example).decode()


def reference_page(site: Site, req: falcon.Request) -> Reply:
    """Return the interactive reference; it loads nothing from other hosts."""
    check_names(req)
    return Page(
        "docs.html",
        sandbox_key=site.sandbox_key(),
        mcp_page=MCP_PAGE.lstrip("/") if site.mcp_url else None,
        base_url=req.context.base_url,
        exports_url=req.context.exports_url,
        groups=_groups(site.sample),
    )


def _groups(sample: Sample) -> dict[str, list[Operation]]:
    """Return the operations by subject; without a build their examples are the declared."""
    try:
        build = sample.mart.build()
        return build.made_once("reference", lambda: _by_tag(_operations(sample, build)))
    except SankofaError:
        return _by_tag(_operations(sample, None))


def _operations(sample: Sample, build: Build | None) -> Iterable[Operation]:
    document = openapi_document(ENDPOINTS, None if build is None else examples(build))
    for endpoint in ENDPOINTS:
        described = document["paths"][endpoint.path][endpoint.method]
        sent: dict[str, str] = described.get("x-example", {})
        body = None
        # An example that cannot be answered must not break the page.
        with suppress(Problem):
            body = None if build is None else _answer(sample, endpoint, sent, build)
        if endpoint is declarations.OPENAPI:
            body = encode({name: document[name] for name in ("openapi", "info", "servers")})
        yield Operation(
            endpoint,
            _address(endpoint, sent),
            tuple(_fields(described["parameters"], endpoint, sent)),
            tuple(_columns(document["components"]["schemas"], endpoint)),
            {code: response["description"] for code, response in described["responses"].items()},
            _shortened(encode(_example(sample, endpoint, build)) if body is None else body),
            body is not None and endpoint.needs_key,
        )


def _answer(
    sample: Sample, endpoint: Endpoint, sent: Mapping[str, str], build: Build
) -> bytes | None:
    """Return what a sample key gets; None if the answer is not from a build, or has no rows."""
    if endpoint is declarations.EXPORT:
        return export_body(build, _EXPORTS_URL)
    path = {name: value for name, value in sent.items() if name in endpoint.in_path}
    query = {name: value for name, value in sent.items() if name in endpoint.query}
    if endpoint.in_body and endpoint.listing is not None:
        body = read(endpoint.in_body, endpoint.body_example, "the body")
        return sample.list_body(endpoint.listing, endpoint.defaults | body)
    if any(name not in sent for name in endpoint.required):
        return None
    if endpoint.listing is None:
        return None
    return sample.list_body(endpoint.listing, read_values(endpoint, query, path))


def _example(sample: Sample, endpoint: Endpoint, build: Build | None) -> Any:
    """Return what an answer looks like now, to a sample key if it depends on the key."""
    example = body_example(endpoint.body)
    if endpoint is declarations.STATUS:
        data_version = None if build is None else build.data_version
        return {**example, "build": version("sankofa"), "data_version": data_version}
    if endpoint is declarations.USAGE:
        tier = sample.tier
        quotas = {"burst": tier.per_minute, "monthly": tier.per_month}
        limits = [
            {**limit, "quota": quotas[limit["name"]]}
            | {"remaining": quotas[limit["name"]] - limit["used"]}
            for limit in example["limits"]
        ]
        return {"tier": tier.name, "limits": limits}
    return example


def _by_tag(operations: Iterable[Operation]) -> dict[str, list[Operation]]:
    groups: dict[str, list[Operation]] = {}
    for operation in operations:
        groups.setdefault(operation.endpoint.tag, []).append(operation)
    return groups


def _address(endpoint: Endpoint, sent: Mapping[str, str]) -> str:
    """Return the path and query of a request."""
    path = endpoint.path
    for name in endpoint.in_path:
        path = path.replace(f"{{{name}}}", quote(sent.get(name, f"{{{name}}}"), safe="{}"))
    query = urlencode({name: value for name, value in sent.items() if name in endpoint.query})
    return f"{path}?{query}" if query else path


def _fields(
    described: Iterable[dict[str, Any]], endpoint: Endpoint, sent: Mapping[str, str]
) -> Iterable[Field]:
    by_name = {each["name"]: each for each in described if "name" in each}
    for parameter in endpoint.parameters:
        if parameter.location == "body":
            # What is sent is shown as it is, and can be changed.
            name, value = parameter.name, str(parameter.example)
            yield Field(name, "body", True, parameter.description, (), value, value)
            continue
        shown = by_name[parameter.name]
        example = shown.get("example", parameter.example)
        yield Field(
            parameter.name,
            parameter.location,
            parameter.required,
            parameter.description,
            tuple(shown["schema"].get("enum", ())),
            sent.get(parameter.name, ""),
            ",".join(example) if isinstance(example, list) else str(example or ""),
        )


def _columns(schemas: Mapping[str, Any], endpoint: Endpoint) -> Iterable[dict[str, str]]:
    """Yield name, type and description of the members of rows, of each kind that there can be."""
    names: set[str] = set()
    for member in schemas[endpoint.body].get("properties", {}).values():
        items = _resolved(schemas, member).get("items", {})
        for row in items.get("anyOf", [items]):
            for name, reference in _resolved(schemas, row).get("properties", {}).items():
                column = _resolved(schemas, reference)
                if name not in names:
                    description = column.get("description", "")
                    stated = column.get("type", "")
                    types = " or ".join(stated) if isinstance(stated, list) else str(stated)
                    yield {"name": name, "type": types, "description": description}
                names.add(name)


def _resolved(schemas: Mapping[str, Any], schema: Any) -> dict[str, Any]:
    while "$ref" in schema:
        schema = schemas[schema["$ref"].rsplit("/", 1)[1]]
    return dict(schema)


def _shortened(body: bytes) -> str:
    """Return JSON for people, with the first members of each list and every digit."""
    return msgspec.json.format(encode(_cut(_JSON.decode(body))), indent=2).decode()


def _cut(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _cut(member) for name, member in value.items()}
    return [_cut(member) for member in value[:_MOST_MEMBERS]] if isinstance(value, list) else value
