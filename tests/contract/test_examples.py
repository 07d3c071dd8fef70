"""The examples of the description can be sent to the build that is served, and return rows."""

import json
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from falcon import testing

from api.app import create_app
from tests.helpers.contract_client import Contract
from tests.helpers.every_list import READ
from tests.helpers.installation import settings_of, starter_home
from tests.helpers.rest_service import make_world
from tests.helpers.stored_builds import nothing_published
from warehouse.control.keys import KeyStore, create_key
from warehouse.serve.build import Mart

KEYED = [endpoint.path for endpoint in READ if endpoint.needs_key]


def url_of(path: str, operation: dict[str, Any], values: dict[str, Any]) -> str:
    """Return the URL of a request as the reference page writes it."""
    places = {parameter.get("name"): parameter.get("in") for parameter in operation["parameters"]}
    for name, value in values.items():
        if places[name] == "path":
            path = path.replace(f"{{{name}}}", quote(str(value), safe=""))
    query = urlencode(
        {
            name: ",".join(value) if isinstance(value, list) else value
            for name, value in values.items()
            if places[name] == "query"
        }
    )
    return f"{path}?{query}" if query else path


def rows_in(body: dict[str, Any]) -> list[Any]:
    members = ("data", "observations", "identifiers", "artifacts", "limits")
    return next(body[member] for member in members if member in body)


@pytest.mark.parametrize("path", KEYED)
def test_what_the_reference_page_sends_returns_rows_to_the_sandbox_key(
    api: Contract, path: str
) -> None:
    operation = api.document["paths"][path]["get"]
    answer = api.get(url_of(path, operation, operation.get("x-example", {})), "sample")
    assert answer.status == 200, answer.raw
    assert rows_in(answer.body)


@pytest.mark.parametrize("path", KEYED)
def test_all_examples_of_an_endpoint_can_be_sent_together_and_return_rows(
    api: Contract, path: str
) -> None:
    operation = api.document["paths"][path]["get"]
    values = {
        parameter["name"]: parameter["example"]
        for parameter in operation["parameters"]
        if "example" in parameter
    }
    answer = api.get(url_of(path, operation, values), "sample")
    assert answer.status == 200, answer.raw
    assert rows_in(answer.body)


def test_a_build_of_filings_alone_has_examples_of_searches_and_shared_facts(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    keys = KeyStore(str(tmp_path_factory.mktemp("examples") / "keys"))
    headers = {"X-API-Key": create_key(keys, "sample")}
    mart = Mart(settings_of(starter_home(tmp_path_factory)).marts)
    client = testing.TestClient(create_app(mart, keys))
    paths = client.simulate_get("/openapi.json").json["paths"]
    for path in ("/v1/search", "/v1/shared/facts"):
        operation = paths[path]["get"]
        url = url_of(path, operation, operation["x-example"])
        answer = client.simulate_get(url, headers=headers)
        assert answer.status_code == 200 and rows_in(answer.json), url


def test_examples_follow_the_build_and_are_gone_with_it(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    world = make_world(tmp_path_factory, "examples")
    mart = Mart(world.marts)
    client = testing.TestClient(create_app(mart, KeyStore(world.keys)))
    first = client.simulate_get("/openapi.json").json["paths"]
    assert first["/v1/entities/{service_id}"]["get"]["x-example"]["service_id"].startswith("DC")
    assert (
        client.simulate_get("/openapi.json").content == client.simulate_get("/openapi.json").content
    )
    with nothing_published(world.marts):
        nothing = client.simulate_get("/openapi.json")
        assert nothing.status_code == 200
        assert "x-example" not in json.dumps(nothing.json)
    assert client.simulate_get("/openapi.json").json["paths"] == first
