"""The description is OpenAPI 3.1, says what is served, and its examples are true to it."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import falcon
import msgspec
import pytest
from falcon import testing
from jsonschema import Draft202012Validator, FormatChecker
from openapi_spec_validator import OpenAPIV31SpecValidator

from api.app import create_app
from api.endpoints.declarations import ENDPOINTS
from api.endpoints.endpoint import Deprecation, Endpoint
from api.endpoints.openapi import openapi_document
from warehouse.contract.parameter_types import Parameter, ParameterType
from warehouse.contract.problems import PROBLEMS
from warehouse.contract.schemas import BODY_SCHEMAS
from warehouse.control.keys import KeyStore
from warehouse.serve.build import Mart
from warehouse.serve.exports import Manifest
from warehouse.shared.json_encoding import encode

DOCUMENT: dict[str, Any] = json.loads(encode(openapi_document(ENDPOINTS)))
# Section 4 of the contract: the errors it lists for each endpoint; and those that came later.
LISTED = {
    "/v1/catalogue": (400, 401, 429, 503),
    "/v1/fundamentals": (400, 401, 402, 429, 503),
    "/v1/filings": (400, 401, 402, 429, 503),
    "/v1/tenders/{ocid}": (400, 401, 402, 404, 429, 503),
    "/v1/changes": (400, 401, 402, 429, 503),
    "/v1/versions": (400, 401, 429, 503),
    "/v1/claims": (400, 401, 404, 413, 429, 503),
    "/v1/usage": (400, 401, 429, 503),
    "/v1/fundamentals/{service_id}": (400, 401, 404, 429, 503),
    "/v1/tenders": (400, 401, 402, 429, 503),
    "/v1/shared/facts": (400, 401, 402, 429, 503),
    "/v1/tender-parties": (401, 429, 503),
    "/v1/macro": (400, 401, 402, 429, 503),
    "/v1/entities/{service_id}": (401, 404, 429, 503),
    "/v1/crosswalk/{service_id}": (401, 404, 429, 503),
    "/v1/crosswalk": (400, 401, 402, 429, 503),
    # Beyond the contract.
    "/v1/awards": (400, 401, 402, 429, 503),
    "/v1/elements/{service_id}": (400, 401, 402, 404, 429, 503),
    "/v1/universe": (400, 401, 402, 429, 503),
    "/v1/entities": (400, 401, 402, 429, 503),
    "/v1/match": (400, 401, 402, 413, 429, 503),
    "/v1/screen": (400, 401, 402, 429, 503),
    "/v1/metrics/{service_id}": (400, 401, 402, 429, 503),
    "/v1/signals/procurement-demand": (401, 402, 429, 503),
    "/v1/signals/{signal_key}": (400, 401, 404, 429, 503),
    "/v1/quality-metrics/{sku}": (401, 404, 429, 503),
    "/v1/search": (400, 401, 402, 429, 503),
    "/v1/export": (401, 429, 503),
    "/v1/status": (503,),
    "/health": (),
    "/openapi.json": (),
}


def checked(value: Any, schema: dict[str, Any]) -> None:
    whole = {**schema, "components": DOCUMENT["components"]}
    Draft202012Validator(whole, format_checker=FormatChecker()).validate(value)


def test_it_validates_as_openapi_3_1() -> None:
    assert list(OpenAPIV31SpecValidator(DOCUMENT).iter_errors()) == []


def test_every_endpoint_of_the_contract_is_described_with_its_errors() -> None:
    assert set(DOCUMENT["paths"]) == set(LISTED)
    for path, statuses in LISTED.items():
        (operation,) = DOCUMENT["paths"][path].values()
        described = operation["responses"]
        assert {str(status) for status in (200, *statuses)} <= set(described), path


def test_both_ways_to_send_a_key_are_described() -> None:
    schemes = DOCUMENT["components"]["securitySchemes"]
    assert schemes["ApiKey"] == {"type": "apiKey", "in": "header", "name": "X-API-Key"}
    assert schemes["Bearer"] == {"type": "http", "scheme": "bearer"}
    for endpoint in ENDPOINTS:
        security = DOCUMENT["paths"][endpoint.path][endpoint.method]["security"]
        assert security == ([{"ApiKey": []}, {"Bearer": []}] if endpoint.needs_key else [])


@pytest.mark.parametrize("path", LISTED)
def test_every_example_is_true_to_its_schema(path: str) -> None:
    (operation,) = DOCUMENT["paths"][path].values()
    if "requestBody" in operation:
        for content in operation["requestBody"]["content"].values():
            checked(content["example"], content["schema"])
    for response in operation["responses"].values():
        for content in response.get("content", {}).values():
            if "example" in content:
                checked(content["example"], content["schema"])
    for parameter in operation["parameters"]:
        if "example" in parameter:
            checked(parameter["example"], parameter["schema"])


def test_every_status_of_the_table_of_problems_is_described_somewhere() -> None:
    described = {
        int(status)
        for path in DOCUMENT["paths"].values()
        for operation in path.values()
        for status in operation["responses"]
        if int(status) >= 400
    }
    # Of files, of requests that no client of the description writes, and of our own failures.
    assert {kind.status for kind in PROBLEMS.values()} - described <= {416, 500}


def test_what_a_refusal_names_is_described() -> None:
    described = DOCUMENT["components"]["schemas"]["Problem"]["properties"]
    assert {"parameter", "received", "expected", "allowed", "nearest", "held"} <= set(described)


def test_every_list_is_described_in_every_form() -> None:
    for endpoint in ENDPOINTS:
        answered = DOCUMENT["paths"][endpoint.path][endpoint.method]["responses"]["200"]
        is_list = endpoint.listing is not None and not endpoint.in_body
        lines = {"text/csv", "application/x-ndjson"} if is_list else set()
        assert set(answered["content"]) == {"application/json", *lines}
        assert ("X-Next-Cursor" in answered["headers"]) is is_list


def test_several_values_are_sent_in_one_parameter() -> None:
    for endpoint in ENDPOINTS:
        for parameter in DOCUMENT["paths"][endpoint.path][endpoint.method]["parameters"]:
            if parameter.get("schema", {}).get("type") == "array":
                assert parameter["explode"] is False


def test_the_manifest_is_described_member_by_member() -> None:
    about = {"count", "_license"}
    assert set(BODY_SCHEMAS["Export"]["properties"]) - about == set(Manifest.__struct_fields__)
    assert msgspec.json.schema(Manifest)["$defs"].keys() - {"Manifest"} <= set(
        DOCUMENT["components"]["schemas"]
    )


@pytest.mark.parametrize(
    "parameter",
    [parameter for endpoint in ENDPOINTS for parameter in endpoint.parameters],
    ids=lambda parameter: parameter.name,
)
def test_what_is_described_is_what_is_read(parameter: Parameter) -> None:
    kind: ParameterType = parameter.kind
    schema = Draft202012Validator(dict(kind.schema), format_checker=FormatChecker())
    tried = ["", "a", "ZA", "ZAF", "DC1", "2024", "0000", "2024-02-30", "2024-02-29", "x" * 65]
    tried += [
        "20261114.3",
        "revenue,profit",
        "latest",
        "net_margin",
        "fx daily",
        "0",
        "1",
        "1000",
        "é",
        "lei",
        "AF-FUND",
    ]
    for text in tried:
        ceiling = kind.schema.get("maximum")
        if ceiling is not None and text.isdigit() and int(text) > ceiling:
            continue  # refused by the tier, with a code of its own
        value: object = (
            int(text) if kind.schema.get("type") == "integer" and text.isdigit() else text
        )
        value = text.split(",") if kind.of is not None else value
        try:
            read = bool(text) and kind.read(text) is not None
        except ValueError:
            read = False
        assert schema.is_valid(value) is read, (parameter.name, text)
    assert kind.expected


class DeprecatedOpenResource:
    """An endpoint of the tests that will be removed."""

    endpoint = Endpoint(
        "getGoing",
        "/v1/going",
        "Goes",
        "",
        "Health",
        "service",
        needs_key=False,
        deprecation=Deprecation(
            datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 7, 1, tzinfo=UTC), "/v1/next"
        ),
    )
    open = True

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        if req.params:
            raise falcon.HTTPNotFound
        resp.media = {"status": "ok"}


def test_what_is_being_removed_says_so_on_every_answer(tmp_path: Any) -> None:
    app = create_app(Mart(tmp_path), KeyStore(tmp_path / "control.sqlite"))
    app.add_route(DeprecatedOpenResource.endpoint.path, DeprecatedOpenResource())
    for query in ("", "?x=1"):
        headers = testing.TestClient(app).simulate_get(f"/v1/going{query}").headers
        assert headers["deprecation"] == "@1767225600"
        assert headers["sunset"] == "Wed, 01 Jul 2026 00:00:00 GMT"
        assert headers["link"] == '</v1/next>; rel="successor-version"'
    described = openapi_document([DeprecatedOpenResource.endpoint])["paths"]["/v1/going"]["get"]
    assert described["deprecated"] is True
    assert {"Deprecation", "Sunset", "Link"} <= set(described["responses"]["200"]["headers"])


def test_less_than_180_days_notice_is_refused() -> None:
    since = datetime(2026, 1, 1, tzinfo=UTC)
    with pytest.raises(ValueError, match="180 days"):
        Deprecation(since, since + timedelta(days=179), "/v1/next")
