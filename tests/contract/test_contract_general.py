"""Sections 5 and 7 of the contract: a test for each row."""

from urllib.parse import unquote

import pytest

from tests.helpers.contract_client import (
    REQUIRED_QUERY,
    Contract,
    WireResponse,
    example_url,
)
from tests.helpers.every_list import OF_ONE_RECORD, READ
from tests.helpers.waiting import wait_until
from warehouse.shared.tiers import TIERS

OPEN = {"/health", "/v1/status", "/openapi.json"}
KEYED = [endpoint for endpoint in READ if endpoint.path not in OPEN]
LIMITED = [endpoint for endpoint in READ if "limit" in endpoint.query]


@pytest.mark.parametrize("name", ["X-API-Key", "x-api-key", "X-Api-KEY"])
def test_5_1_the_key_is_sent_in_a_header_whose_case_does_not_matter(
    api: Contract, name: str
) -> None:
    assert api.get("/v1/export", None, **{name: api.key()}).status == 200


@pytest.mark.parametrize("path", [endpoint.path for endpoint in READ])
@pytest.mark.every_store
def test_5_2_every_endpoint_requires_a_key_except_three(api: Contract, path: str) -> None:
    if path in OPEN:
        assert api.get(path, None).status == 200
    else:
        api.problem(example_url(path), 401, "key_missing", None)


@pytest.mark.parametrize("tier", ["sample", "starter", "professional"])
def test_5_3_keys_are_tier_scoped(api: Contract, tier: str) -> None:
    answer = api.get("/v1/macro", None, X_API_Key=api.key(tier))  # type: ignore[arg-type]
    assert answer.headers["X-Service-Tier"] == tier
    assert answer.body["limit"] == TIERS[tier].rows  # type: ignore[index]


@pytest.mark.every_store
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
        answer = api.get(example_url(endpoint.path, "limit=26"), "sample")
        assert answer.status == 402, endpoint.path
        assert answer.body["code"] == "row_cap_exceeded"
        assert answer.body["upgrade_url"] == answer.headers["X-Upgrade-URL"]
        assert answer.body["maximum"] == 25


@pytest.mark.parametrize(
    "path",
    [
        endpoint.path
        for endpoint in LIMITED
        if endpoint.path not in OF_ONE_RECORD
        # Those that no licence restricts have all rows then.
        and endpoint.listing is not None
        and endpoint.listing.row_rule != "uncapped"
    ],
)
def test_7_402_omitting_limit_gives_the_free_preview(api: Contract, path: str) -> None:
    body = api.get(example_url(path), "sample").body
    assert body["limit"] == 25 and body["count"] <= 25


@pytest.mark.parametrize("path", [endpoint.path for endpoint in KEYED])
def test_7_400_an_unknown_parameter_is_named_on_every_endpoint(api: Contract, path: str) -> None:
    for query in ("asof=2020-01-01", "AS_OF=2020-01-01", "=1", "%00=1"):
        name = unquote(query.partition("=")[0])
        body = api.problem(example_url(path, query), 400, "parameter_unknown")
        assert body["parameter"] == name


@pytest.mark.parametrize(
    ("path", "parameter", "value"),
    [
        (item.path, name, value)
        for item in KEYED
        for name, declared in item.query.items()
        for value in ("", "\x00", "€" * 70)
        if not (name in ("category", "cursor", "dimension_value") and value)
    ],
)
def test_7_400_a_malformed_parameter_is_named(
    api: Contract, path: str, parameter: str, value: str
) -> None:
    written = "".join(f"%{byte:02X}" for byte in value.encode())
    needed = "&".join(
        part
        for part in REQUIRED_QUERY.get(path, "").split("&")
        if part and not part.startswith(f"{parameter}=")
    )
    start = example_url(path).partition("?")[0]
    url = f"{start}?{needed}{needed and '&'}{parameter}={written}"
    assert api.problem(url, 400, "parameter_invalid")["parameter"] == parameter
    twice = f"{start}?{needed}{needed and '&'}{parameter}=A&{parameter}=A"
    assert api.problem(twice, 400, "parameter_repeated")["parameter"] == parameter


def test_7_400_an_altered_cursor_whatever_was_altered(api: Contract) -> None:
    cursor = api.get("/v1/tenders?limit=5").body["next_cursor"]
    token = bytes.fromhex(cursor)
    for position in range(0, len(token), 9):
        changed = bytearray(token)
        changed[position] ^= 1
        api.problem(f"/v1/tenders?limit=5&cursor={changed.hex()}", 400, "cursor_invalid")
    borrowed = f"/v1/tenders?country=KE&cursor={cursor}"
    assert api.problem(borrowed, 400, "cursor_invalid")["parameter"] == "cursor"


@pytest.mark.every_store
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


@pytest.mark.every_store
def test_7_503_each_store_that_is_away_is_named_and_comes_back(api: Contract) -> None:
    key = api.key()
    stores = vars(api.stores)

    def answered(status: int, path: str = "/v1/tenders") -> WireResponse:
        def matching_answer() -> WireResponse | None:
            answer = api.get(path, None, X_API_Key=key)
            return answer if answer.status == status else None

        return wait_until(matching_answer)

    for named, code in (
        ("datastore", "datastore_unavailable"),
        # Keys and limits that were read before go on.
        ("key_store", None),
        ("usage_store", None),
    ):
        stores[named].kill()
        try:
            answer = answered(503 if code else 200)
            if code:
                assert answer.body["code"] == code and answer.body["retryable"] is True
                assert int(answer.headers["Retry-After"]) > 0
            status = answered(503, "/v1/status").body
            assert (status["degraded"], status["checks"][named]["status"]) == ([named], "failed")
            assert api.get("/health", None).status == 200
        finally:
            stores[named].start()
        assert answered(200).rows
        assert answered(200, "/v1/status").body["degraded"] == []
