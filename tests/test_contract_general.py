"""Sections 5, 7, 8 and 9 of the contract: a test for each row."""

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import pytest

from api.endpoints import ENDPOINTS
from tests.contract import Contract, asked_of
from tests.serving import World, served
from tests.test_mart import load, sighting
from warehouse.keys import KeyStore, create
from warehouse.mart.build import publish
from warehouse.record.store import Record
from warehouse.record.tables import IDENTIFIERS
from warehouse.tiers import TIERS

OPEN = {"/health", "/v1/status", "/openapi.json"}
KEYED = [each for each in ENDPOINTS if each.path not in OPEN]
LIMITED = [each for each in ENDPOINTS if "limit" in each.query]
NEEDED = {
    "/v1/shared/facts": "&entity_id=ZAF",
    "/v1/crosswalk": "&id_type=lei&id_value=X",
    "/v1/screen": "&metric=net_margin",
}


def address(path: str, query: str = "") -> str:
    """Fill the places of a path, and give what the endpoint needs beside a query."""
    filled = path.replace("{service_id}", "DCNOBODY").replace("{sku}", "AF-FUND")
    asked = f"{query}{NEEDED.get(path, '')}".lstrip("&")
    return filled.replace("{signal_key}", "single-bid-rate") + (f"?{asked}" if asked else "")


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Contract]:
    with asked_of(tmp_path_factory) as contract:
        yield contract


@pytest.mark.parametrize("name", ["X-API-Key", "x-api-key", "X-Api-KEY"])
def test_5_1_the_key_is_sent_in_a_header_whose_case_does_not_matter(
    api: Contract, name: str
) -> None:
    assert api.get("/v1/export", None, **{name: api.key()}).status == 200


@pytest.mark.parametrize("path", [each.path for each in ENDPOINTS])
def test_5_2_every_endpoint_requires_a_key_except_three(api: Contract, path: str) -> None:
    if path in OPEN:
        assert api.get(path, None).status == 200
    else:
        api.problem(address(path), 401, "key_missing", None)


@pytest.mark.parametrize("tier", ["sample", "starter", "professional"])
def test_5_3_keys_are_tier_scoped(api: Contract, tier: str) -> None:
    answer = api.get("/v1/macro", None, X_API_Key=api.key(tier))  # type: ignore[arg-type]
    assert answer.headers["X-Service-Tier"] == tier
    assert answer.body["limit"] == TIERS[tier].rows  # type: ignore[index]


def test_5_5_the_public_sandbox_key_is_a_real_key_of_the_sample_tier(api: Contract) -> None:
    answer = api.get("/v1/tenders", None, X_API_Key=api.world.sample)
    assert answer.headers["X-Service-Tier"] == "sample"
    assert answer.rows == api.get("/v1/tenders?limit=25").rows


@pytest.mark.parametrize("wrong", ["sk_live_wrong", "a", "sk_live_" + "é" * 8, "*"])
def test_5_6_an_invalid_key_gives_401(api: Contract, wrong: str) -> None:
    header = wrong.encode().decode("latin-1")
    api.problem("/v1/tenders", 401, "key_invalid", None, X_API_Key=header)


def test_5_8_and_7_402_more_rows_than_the_sample_cap_carries_the_upgrade_link(
    api: Contract,
) -> None:
    for endpoint in LIMITED:
        answer = api.get(address(endpoint.path, "limit=26"), "sample")
        assert answer.status == 402, endpoint.path
        assert answer.body["code"] == "row_cap_exceeded"
        assert answer.body["upgrade_url"] == answer.headers["X-Upgrade-URL"]
        assert answer.body["maximum"] == 25


@pytest.mark.parametrize("endpoint", LIMITED, ids=lambda each: each.path)
def test_7_402_omitting_limit_gives_the_free_preview(api: Contract, endpoint: object) -> None:
    path = endpoint.path  # type: ignore[attr-defined]
    body = api.get(address(path), "sample").body
    assert body["limit"] == 25 and body["count"] <= 25


@pytest.mark.parametrize("path", [each.path for each in KEYED])
def test_7_400_an_unknown_parameter_is_named_on_every_endpoint(api: Contract, path: str) -> None:
    for query in ("asof=2020-01-01", "AS_OF=2020-01-01", "=1", "%00=1"):
        name = unquote(query.partition("=")[0])
        body = api.problem(address(path, query), 400, "parameter_unknown")
        assert body["parameter"] == name


@pytest.mark.parametrize(
    ("path", "parameter", "value"),
    [
        (each.path, name, value)
        for each in KEYED
        for name, declared in each.query.items()
        for value in ("", "\x00", "€" * 70)
        if not (name in ("category", "cursor") and value)
    ],
)
def test_7_400_a_malformed_parameter_is_named(
    api: Contract, path: str, parameter: str, value: str
) -> None:
    written = "".join(f"%{byte:02X}" for byte in value.encode())
    needed = "&".join(
        each
        for each in NEEDED.get(path, "").split("&")
        if each and not each.startswith(f"{parameter}=")
    )
    start = address(path).partition("?")[0]
    if (parameter, value) == ("id_value", "\x00"):
        assert api.get(f"{start}?{needed}&{parameter}={written}").rows == []
        return
    asked = f"{start}?{needed}{needed and '&'}{parameter}={written}"
    assert api.problem(asked, 400, "parameter_invalid")["parameter"] == parameter
    twice = f"{start}?{needed}{needed and '&'}{parameter}=A&{parameter}=A"
    assert api.problem(twice, 400, "parameter_repeated")["parameter"] == parameter


def test_7_400_an_altered_cursor_whatever_was_altered(api: Contract) -> None:
    cursor = api.get("/v1/tenders?limit=5").body["next_cursor"]
    held = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
    for place in range(0, len(held), 9):
        changed = bytearray(held)
        changed[place] ^= 1
        text = base64.urlsafe_b64encode(bytes(changed)).rstrip(b"=").decode()
        api.problem(f"/v1/tenders?limit=5&cursor={text}", 400, "cursor_invalid")
    borrowed = f"/v1/tenders?country=KE&cursor={cursor}"
    assert api.problem(borrowed, 400, "cursor_invalid")["parameter"] == "cursor"


def test_7_404_no_record_with_that_identifier(api: Contract) -> None:
    for path in ("fundamentals/DCX", "entities/DCX", "crosswalk/DCX"):
        api.problem(f"/v1/{path}", 404, "not_found")
    api.problem("/v1/signals/none", 404, "not_found")
    api.problem("/v1/quality-metrics/NONE", 404, "not_found")
    api.problem("/v1/nothing", 404, "not_found", None)


def test_7_405_and_406_are_problems_too(api: Contract) -> None:
    status, headers, _ = api.server.get("/v1/tenders", api.key(), method="POST")
    assert (status, headers["Content-Type"]) == (405, "application/problem+json")
    assert "GET" in headers["Allow"]
    api.problem("/v1/tenders", 406, "not_acceptable", Accept="text/html")
    assert api.get("/v1/tenders", Accept="application/*;q=0.5").status == 200


def test_7_503_the_key_store_and_the_datastore_are_named_and_come_back(api: Contract) -> None:
    key = api.key()
    for place, code, named in (
        (api.world.keys, "key_store_unavailable", "key_store"),
        (api.world.marts, "datastore_unavailable", "datastore"),
    ):
        away = place.with_name("away")
        place.rename(away)
        try:
            answer = api.get("/v1/tenders", None, X_API_Key=key)
            assert (answer.status, answer.body["code"]) == (503, code)
            assert int(answer.headers["Retry-After"]) > 0
            status = api.get("/v1/status", None)
            assert (status.status, status.body["degraded"]) == (503, [named])
        finally:
            away.rename(place)
        assert api.get("/v1/tenders", None, X_API_Key=key).status == 200
        assert api.get("/v1/status", None).status == 200


@pytest.mark.parametrize("path", [each.path for each in LIMITED])
def test_8_limit_is_at_least_1_and_at_most_the_ceiling(api: Contract, path: str) -> None:
    assert api.get(address(path, "limit=1000")).body["limit"] == 1000
    wrong = api.problem(address(path, "limit=1001"), 400, "limit_above_ceiling")
    assert wrong["maximum"] == 1000
    api.problem(address(path, "limit=0"), 400, "parameter_invalid", "sample")


def test_9_1_everything_but_liveness_and_the_description_is_under_v1(api: Contract) -> None:
    outside = {path for path in api.document["paths"] if not path.startswith("/v1/")}
    assert outside == {"/health", "/openapi.json"}
    assert (api.document["openapi"], api.document["info"]["version"]) == ("3.1.0", "1.0.0")


def test_9_2_every_response_carries_the_version(api: Contract) -> None:
    asked = [("/health", 200), ("/nothing", 404), ("/v1/tenders", 401), ("/v1/tenders?x=1", 401)]
    for path, status in asked:
        answer = api.get(path, None)
        assert (answer.status, answer.headers["X-Service-API-Version"]) == (status, "1.0.0")
    status, headers, _ = api.server.get("/v1/tenders", method="DELETE")
    assert (status, headers["X-Service-API-Version"]) == (405, "1.0.0")


def test_9_3_nothing_is_deprecated(api: Contract) -> None:
    for path in (each.path for each in KEYED):
        answer = api.get(address(path))
        assert "Deprecation" not in answer.headers and "Sunset" not in answer.headers


def test_9_4_a_pinned_data_version_answers_and_an_unknown_one_is_named(api: Contract) -> None:
    version = api.mart.build().data_version
    for path in (each.path for each in KEYED if "service_id" not in each.path):
        pinned = api.get(address(path), X_Data_Version=version)
        assert pinned.headers["X-Data-Version"] == version
        assert pinned.raw == api.get(address(path)).raw
        wrong = api.problem(address(path), 400, "parameter_invalid", X_Data_Version="20000101.1")
        assert wrong["parameter"] == "X-Data-Version"


def test_9_4_a_malformed_data_version_is_400_before_the_tier_is_asked(api: Contract) -> None:
    path = "/v1/tenders?limit=26"
    for wrong in ("0", "latest", "../keys", "20261114"):
        body = api.problem(path, 400, "parameter_invalid", "sample", X_Data_Version=wrong)
        assert body["parameter"] == "X-Data-Version"


def test_9_5_pagination_is_by_keyset_only(api: Contract) -> None:
    for name in ("offset", "page", "skip"):
        api.problem(f"/v1/tenders?{name}=2", 400, "parameter_unknown")
    cursors = [each.path for each in ENDPOINTS if "cursor" in each.query]
    assert cursors == ["/v1/tenders"]


def test_8_a_lookup_gives_at_most_20_matches(tmp_path: Path) -> None:
    record = Record(str(tmp_path / "record"))
    for number in range(25):
        borne = {"id_type": "registry", "id_value": "1/2", "issuer": f"RA{number:06}"}
        row = {**sighting(service_id=f"DC{number:03}", status=None), **borne}
        load(record, IDENTIFIERS, row)
    publish(record, tmp_path / "marts")
    key = create(KeyStore(tmp_path / "keys.sqlite"), "starter")
    with served(World(tmp_path, "", key)) as server:
        _, _, body = server.get("/v1/crosswalk?id_type=registry&id_value=1/2", key)
    told = json.loads(body)
    assert (told["count"], told["truncated"], told["ambiguous"]) == (20, True, True)
    assert len(told["data"]) == 20


def test_an_error_of_a_keyed_request_names_the_data_version(api: Contract) -> None:
    version = api.mart.build().data_version
    for path in ("/v1/tenders?limit=x", "/v1/entities/DCNOBODY"):
        assert api.get(path).headers["X-Data-Version"] == version
