"""Sections 5, 7 and 8 of the contract: limits of rows, of requests and of texts."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from api.app import create_app
from tests.helpers.contract_client import Contract, WireResponse, example_url
from tests.helpers.every_list import OF_ONE_RECORD, READ
from tests.helpers.publishing import publish
from tests.helpers.record_rows import entity_row, load, sighting
from tests.helpers.rest_service import answering, served
from warehouse.control.keys import KeyStore, create_key
from warehouse.publish.builds import builds_at
from warehouse.record.store import Record
from warehouse.record.tables import ENTITIES, IDENTIFIERS
from warehouse.serve.build import Mart
from warehouse.shared.tiers import TIERS, TierName

KEYED = [endpoint.path for endpoint in READ if endpoint.needs_key]
# Rows that no licence restricts, and those of one record, have no ceiling here.
LIMITED = [
    endpoint.path
    for endpoint in READ
    if endpoint.listing is not None
    and endpoint.listing.row_rule != "uncapped"
    and endpoint.path not in OF_ONE_RECORD
]
OF_A_COUNTRY = [endpoint.path for endpoint in READ if "country" in endpoint.query]
NUMBERS: dict[TierName, tuple[int, int]] = {
    "sample": (30, 3_000),
    "starter": (120, 50_000),
    "professional": (600, 1_000_000),
}
STANDING = re.compile(r'"burst";r=(\d+);t=(\d+), "monthly";r=(\d+);t=(\d+)')


def used_up(api: Contract) -> str:
    """Return a sample key that has used up its minute.

    A usage store that is too slow for a moment does not count a request; then another key asks.
    """
    for _ in range(5):
        key = create_key(api.key_store, "sample")
        responses = [api.server.get("/v1/export", key) for _ in range(30)]
        assert [status for status, _, _ in responses] == [200] * 30
        if all(
            (match := STANDING.match(headers["RateLimit"] or "")) and int(match[3]) == 2999 - number
            for number, (_, headers, _) in enumerate(responses)
        ):
            return key
    raise AssertionError("the usage store counts no minute whole")


@pytest.mark.parametrize("tier", NUMBERS)
def test_5_3_and_8_a_minute_and_a_month_are_limited_by_the_tier_of_a_key(
    api: Contract, tier: TierName
) -> None:
    burst, month = NUMBERS[tier]
    answer = WireResponse(*api.server.get("/v1/export", create_key(api.key_store, tier)))
    assert answer.headers["RateLimit-Policy"].startswith(
        f'"burst";q={burst};w=60, "monthly";q={month};w='
    )
    standing = STANDING.fullmatch(answer.headers["RateLimit"])
    assert standing is not None
    assert (int(standing[1]), int(standing[3])) == (burst - 1, month - 1)
    assert int(standing[2]) <= 61 and int(standing[4]) <= 31 * 86_400


def test_7_429_the_burst_limit_is_named_with_when_to_come_back(api: Contract) -> None:
    key = used_up(api)
    body = api.problem("/v1/tenders", 429, "rate_limited", None, X_API_Key=key)
    assert (body["violated_policies"], body["retryable"]) == (["burst"], True)
    again = api.get("/v1/tenders", None, X_API_Key=key)
    assert again.headers["Retry-After"] == str(again.body["retry_after"])
    assert 1 <= again.body["retry_after"] <= 61
    assert again.headers["RateLimit"].startswith('"burst";r=0;t=')
    assert '"monthly";r=2970;' in again.headers["RateLimit"]
    assert api.get("/v1/tenders", "sample").status == 200


def test_7_429_is_answered_at_every_endpoint_that_needs_a_key(api: Contract) -> None:
    key = used_up(api)
    for path in KEYED:
        api.problem(example_url(path), 429, "rate_limited", None, X_API_Key=key)
    for path in ("/health", "/v1/status", "/openapi.json"):
        assert api.get(path, None, X_API_Key=key).status == 200


def test_7_limits_are_asked_after_the_key_and_before_the_parameters(api: Contract) -> None:
    key = used_up(api)
    api.problem("/v1/tenders?wrong=1", 429, "rate_limited", None, X_API_Key=key)
    api.problem("/v1/tenders?limit=26", 429, "rate_limited", None, X_API_Key=key)
    api.problem("/v1/tenders", 401, "key_invalid", None, X_API_Key=f"{key}x")
    api.problem("/v1/nothing", 404, "not_found", None, X_API_Key=key)


def test_7_429_the_monthly_cap_is_named_alone_and_ends_with_the_month(
    api: Contract, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tiers.json").write_text('{"starter": {"per_month": 2}}')
    monkeypatch.setenv("SANKOFA_TIERS", str(tmp_path / "tiers.json"))
    key = create_key(api.key_store, "starter")
    with served(api.world, *api.stores.options(), "--workers", "1") as server:
        first, second, third = (WireResponse(*server.get("/v1/export", key)) for _ in range(3))
        unchanged = WireResponse(
            *server.get("/v1/export", key, If_None_Match=first.headers["ETag"])
        )
    assert (first.status, second.status, third.status) == (200, 200, 429)
    assert third.body["violated_policies"] == ["monthly"]
    standing = STANDING.fullmatch(third.headers["RateLimit"])
    assert standing is not None and standing[3] == "0"
    assert abs(int(third.headers["Retry-After"]) - int(standing[4])) <= 1
    assert unchanged.status == 429


@pytest.mark.parametrize("path", LIMITED)
def test_8_limit_is_at_least_1_and_at_most_the_ceiling(api: Contract, path: str) -> None:
    assert api.get(example_url(path, "limit=1000")).body["limit"] == 1000
    wrong = api.problem(example_url(path, "limit=1001"), 400, "limit_above_ceiling")
    assert wrong["maximum"] == 1000
    api.problem(example_url(path, "limit=0"), 400, "parameter_invalid", "sample")


def test_8_a_sandbox_key_is_capped_as_a_sample_key_is(api: Contract) -> None:
    for path in LIMITED:
        url = example_url(path, "limit=26")
        body = api.problem(url, 402, "row_cap_exceeded", None, X_API_Key=api.world.sample)
        assert (body["maximum"], body["tier"]) == (TIERS["sample"].ceiling, "sample")


@pytest.mark.parametrize("path", OF_A_COUNTRY)
def test_8_country_codes_have_two_or_three_letters(api: Contract, path: str) -> None:
    shared = f"{path}?dataset=AF-MACRO"
    # Awards need a country or an organisation.
    example = example_url(path, "limit=1").replace("&country=ZA", "")
    url = shared if path == "/v1/shared/facts" else example
    for code in ("Z", "ZA", "ZAF", "ZAFR"):
        answer = api.get(f"{url}&country={code}")
        assert answer.status == (200 if len(code) in (2, 3) else 400), code
        assert answer.status == 200 or answer.body["parameter"] == "country"


@pytest.fixture(scope="module")
def crosswalk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Any]]:
    """Two builds, the later with 25 identifiers; the fixture returns both answers to a path."""
    root = tmp_path_factory.mktemp("crosswalk")
    record, keys = Record(str(root / "record")), KeyStore(root / "control.sqlite")
    load(record, ENTITIES, entity_row(service_id="DC1"))
    publish(record, root / "marts")
    named: dict[str, Any] = {"id_type": "registry", "id_value": "1/2", "status": None}
    rows = [sighting(service_id=f"DC{n:03}", issuer=f"RA{n:06}", **named) for n in range(25)]
    load(record, IDENTIFIERS, *rows)
    publish(record, root / "marts")
    key, versions = create_key(keys, "starter"), builds_at(root / "marts").names()
    with answering(create_app(Mart(root / "marts"), keys)) as server:

        def answers(path: str) -> list[dict[str, Any]]:
            found = [server.get(path, key, X_Data_Version=version) for version in versions]
            assert [status for status, _, _ in found] == [200, 200]
            return [json.loads(body) for _, _, body in found]

        yield answers


def test_8_a_lookup_gives_at_most_20_matches(crosswalk: Callable[[str], Any]) -> None:
    _, body = crosswalk("/v1/crosswalk?id_type=registry&id_value=1/2")
    assert (body["count"], body["truncated"], body["ambiguous"]) == (20, True, True)
    assert len(body["data"]) == 20


def test_4_crosswalk_loaded_is_false_until_the_table_is_loaded(
    crosswalk: Callable[[str], Any],
) -> None:
    before, after = crosswalk("/v1/crosswalk/DC1")
    assert (before["crosswalk_loaded"], before["identifiers"], before["count"]) == (False, [], 0)
    assert after["crosswalk_loaded"] is True
