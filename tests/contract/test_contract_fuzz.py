"""Anything at all is answered by the contract: never a 500, never a row of another tier."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from falcon import testing
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from api.app import create_app
from api.endpoints.declarations import ENDPOINTS
from tests.helpers.random_world import publish_world
from warehouse.control.keys import KeyStore, create_key
from warehouse.read.mart import Mart

PATHS = [endpoint.path for endpoint in ENDPOINTS if endpoint.needs_key]
NAMES = sorted({name for endpoint in ENDPOINTS for name in endpoint.query})
EXAMPLES = sorted(
    {str(p.example) for endpoint in ENDPOINTS for p in endpoint.parameters if p.example}
)
FOUND = ("DCA1", "DCB2", "DCX9", "ZAF", "KE", "1", "25", "26", "1000", "2019-01-01", "2018", "all")
TEXTS = st.text(st.characters(codec="utf-8"), max_size=80)
VALUES = st.one_of(st.sampled_from([*EXAMPLES, *FOUND]), TEXTS)
EXPECTED = {200, 400, 402, 404}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[testing.TestClient, str]]:
    root: Path = tmp_path_factory.mktemp("fuzzed")
    publish_world(root / "record", root / "marts", 1)
    store = KeyStore(root / "control.sqlite")
    client = testing.TestClient(create_app(Mart(root / "marts"), store))
    yield client, create_key(store, "sample")


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    path=st.sampled_from(PATHS),
    named=VALUES,
    query=st.lists(st.tuples(st.one_of(st.sampled_from(NAMES), TEXTS), VALUES), max_size=4),
)
def test_any_parameters_of_a_sample_key_are_answered_within_its_tier(
    service: tuple[testing.TestClient, str], path: str, named: str, query: list[tuple[str, str]]
) -> None:
    client, key = service
    for placeholder in ("{service_id}", "{signal_key}", "{sku}", "{ocid}"):
        path = path.replace(placeholder, quote(named, safe=""))
    query_string = "&".join(
        f"{quote(name, safe='')}={quote(value, safe='')}" for name, value in query
    )

    answer = client.simulate_get(path, query_string=query_string, headers={"X-API-Key": key})

    assert answer.status_code in EXPECTED, answer.text
    if answer.status_code == 200:
        body = answer.json
        rows = body.get("data", body.get("observations", []))
        # No licence restricts what is held, and which versions of it.
        uncapped = ("/v1/quality", "/v1/catalogue", "/v1/versions")
        assert len(rows) <= 25 or path.startswith(uncapped)
        kinds = {item["id_type"] for item in body.get("identifiers", [])}
        assert kinds <= {"lei", "ticker"}


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cursor=st.one_of(TEXTS, st.binary(max_size=90).map(lambda content: content.hex())))
def test_no_invented_cursor_is_ever_taken(
    service: tuple[testing.TestClient, str], cursor: str
) -> None:
    client, key = service
    query_string = f"cursor={quote(cursor, safe='')}"
    answer = client.simulate_get(
        "/v1/tenders", query_string=query_string, headers={"X-API-Key": key}
    )
    assert answer.status_code == 400
    assert answer.json["parameter"] == "cursor"


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(key=st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=90))
def test_no_invented_key_is_ever_let_in(service: tuple[testing.TestClient, str], key: str) -> None:
    client, _ = service
    for headers in ({"X-API-Key": key}, {"Authorization": f"Bearer {key}"}):
        assert client.simulate_get("/v1/tenders", headers=headers).status_code == 401
