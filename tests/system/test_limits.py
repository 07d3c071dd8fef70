"""Keys and limits over HTTP, with counters in a file and in a real Redis server."""

import logging
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from falcon import testing

from api.app import create_app
from tests.helpers.full_disk import no_room_for_files
from tests.helpers.redis_server import Redis
from tests.helpers.rest_service import make_world
from warehouse.control.keys import (
    KeyStore,
    create_key,
    list_keys,
    revoke_key,
    rotate_key,
    sandbox,
    signing_secret,
)
from warehouse.serve.build import Mart
from warehouse.serve.counters import month_at
from warehouse.serve.usage import Usage
from warehouse.shared.tiers import TIERS, Tier, TierName, configured_tiers

ENTITY = "/v1/entities/DCA1"
POLICY = re.compile(r'"burst";q=(\d+);w=60, "monthly";q=(\d+);w=(\d+)')
STANDING = re.compile(r'"burst";r=(\d+);t=(\d+)(?:, "monthly";r=(\d+);t=(\d+))?')


@dataclass(frozen=True)
class LimitStores:
    """The file of the keys, and the file or URL of the counters."""

    keys: str
    usage: str


@pytest.fixture(scope="module")
def mart(tmp_path_factory: pytest.TempPathFactory) -> Mart:
    return Mart(make_world(tmp_path_factory, "limits").marts)


@pytest.fixture(params=["files", "redis"])
def stores(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[LimitStores]:
    if request.param == "files":
        yield LimitStores(str(tmp_path / "control.sqlite"), str(tmp_path / "usage.lmdb"))
        return
    server = Redis(tmp_path)
    server.start()
    try:
        yield LimitStores(str(tmp_path / "control.sqlite"), server.url)
    finally:
        server.kill()


class LimitedService:
    """The app over stores, with a key of each kind."""

    def __init__(
        self, mart: Mart, stores: LimitStores, tiers: Mapping[TierName, Tier] = TIERS
    ) -> None:
        self.keys, self.usage = KeyStore(stores.keys, tiers), Usage(stores.usage)
        self.client = testing.TestClient(create_app(mart, self.keys, usage=self.usage))
        self.public = sandbox(self.keys)
        self.sample, self.starter = (
            create_key(self.keys, "sample"),
            create_key(self.keys, "starter"),
        )

    def get(
        self, path: str, key: str, address: str | None = None, **headers: str
    ) -> testing.Result:
        sent = {"X-API-Key": key, **{k.replace("_", "-"): v for k, v in headers.items()}}
        return self.client.simulate_get(path, headers=sent, remote_addr=address)


@pytest.fixture
def service(mart: Mart, stores: LimitStores) -> LimitedService:
    return LimitedService(mart, stores)


def monthly(result: testing.Result) -> int:
    """Return the remaining requests of the month."""
    match = STANDING.fullmatch(result.headers["ratelimit"])
    assert match is not None
    return int(match[3])


def test_every_keyed_response_states_both_limits_and_the_remaining_quota(
    service: LimitedService,
) -> None:
    first = service.get(ENTITY, service.starter)
    second = service.get("/v1/entities/DCNOBODY", service.starter)

    policy = POLICY.fullmatch(first.headers["ratelimit-policy"])
    assert policy is not None
    assert policy.groups() == ("120", "50000", str(month_at(time.time()).seconds))
    match = STANDING.fullmatch(first.headers["ratelimit"])
    assert match is not None
    assert (match[1], match[3]) == ("119", "49999") and 1 <= int(match[2]) <= 61
    assert second.status_code == 404 and second.headers["ratelimit"].startswith('"burst";r=118')
    assert "ratelimit" not in service.client.simulate_get("/health").headers


@pytest.mark.parametrize(
    ("status", "path"),
    [
        (200, ENTITY),
        (400, f"{ENTITY}?as=1"),
        (402, "/v1/tenders?limit=26"),
        (404, "/v1/entities/DCNOBODY"),
    ],
)
def test_200_400_402_and_404_count_once_against_the_month(
    service: LimitedService, status: int, path: str
) -> None:
    before = monthly(service.get(ENTITY, service.sample))
    answer = service.get(path, service.sample)
    assert answer.status_code == status, answer.text
    assert monthly(answer) == before - 1
    assert monthly(service.get(ENTITY, service.sample)) == before - 2


def test_304_does_not_count_against_the_month_but_against_the_minute(
    service: LimitedService,
) -> None:
    whole = service.get(ENTITY, service.sample)
    unchanged = service.get(ENTITY, service.sample, If_None_Match=whole.headers["etag"])

    assert unchanged.status_code == 304
    assert monthly(unchanged) == monthly(whole)
    assert unchanged.headers["ratelimit"].startswith('"burst";r=28;')
    assert service.usage.used(key_id(service, service.sample), this_month()) == 1


def test_401_counts_against_nobody(service: LimitedService) -> None:
    for key in ("", "sk_live_wrong"):
        refused = service.get(ENTITY, key)
        assert refused.status_code == 401 and "ratelimit" not in refused.headers
    assert monthly(service.get(ENTITY, service.sample)) == 2_999


def test_503_of_the_datastore_does_not_count_against_the_month(
    stores: LimitStores, tmp_path: Path
) -> None:
    empty = LimitedService(Mart(tmp_path / "none"), stores)
    answer = empty.get(ENTITY, empty.sample)
    assert answer.status_code == 503 and monthly(answer) == 3_000


def test_a_server_error_does_not_count_against_the_month(
    service: LimitedService, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("inside")

    monkeypatch.setattr("api.resources.declared.answer", broken)
    answer = service.get(ENTITY, service.sample)
    assert answer.status_code == 500 and monthly(answer) == 3_000


def test_429_names_the_policy_and_when_to_retry(service: LimitedService) -> None:
    answers = [service.get(ENTITY, service.sample) for _ in range(32)]

    assert [answer.status_code for answer in answers] == [200] * 30 + [429] * 2
    refused = answers[-1]
    assert refused.headers["content-type"] == "application/problem+json"
    body = refused.json
    assert (body["code"], body["violated_policies"]) == ("rate_limited", ["burst"])
    assert refused.headers["retry-after"] == str(body["retry_after"])
    assert 1 <= body["retry_after"] <= 61 and body["retryable"] is True
    assert "30 requests a minute" in body["detail"]
    assert monthly(refused) == 2_970
    assert service.get(ENTITY, service.starter).status_code == 200


def test_the_monthly_cap_is_429_too(mart: Mart, stores: LimitStores, tmp_path: Path) -> None:
    tiers = tmp_path / "tiers.json"
    tiers.write_text('{"sample": {"per_month": 2}}')
    service = LimitedService(mart, stores, configured_tiers(tiers))

    answers = [service.get(ENTITY, service.sample) for _ in range(3)]

    assert [answer.status_code for answer in answers] == [200, 200, 429]
    body = answers[-1].json
    assert body["violated_policies"] == ["monthly"]
    assert abs(body["retry_after"] - (month_at(time.time()).ends - time.time())) < 60


def test_limits_are_checked_before_parameters_and_after_the_key(service: LimitedService) -> None:
    for _ in range(30):
        service.get(ENTITY, service.sample)
    assert service.get(f"{ENTITY}?wrong=1", service.sample).status_code == 429
    assert service.get("/v1/nothing", service.sample).status_code == 404
    assert service.get(ENTITY, service.sample + "x").status_code == 401


def test_one_sandbox_visitor_does_not_use_up_the_quota_of_another(service: LimitedService) -> None:
    mine = [service.get(ENTITY, service.public, "198.51.100.7") for _ in range(31)]
    assert mine[-1].status_code == 429
    assert service.get(ENTITY, service.public, "198.51.100.8").status_code == 429
    assert service.get(ENTITY, service.public, "203.0.113.7").status_code == 200
    assert service.get(ENTITY, service.public, "2001:db8::1").status_code == 200


def test_a_revoked_or_rotated_key_is_401_within_a_second(service: LimitedService) -> None:
    assert service.get(ENTITY, service.sample).status_code == 200
    assert service.get(ENTITY, service.starter).status_code == 200
    revoke_key(service.keys, service.sample[:12])
    fresh = rotate_key(service.keys, service.starter[:12])
    # The second for which a key may be cached is what is tested.
    time.sleep(0.95)

    assert service.get(ENTITY, service.sample).json["code"] == "key_invalid"
    assert service.get(ENTITY, service.starter).json["code"] == "key_invalid"
    assert monthly(service.get(ENTITY, fresh)) == 49_998


def test_a_preflight_needs_no_key_and_counts_for_nobody(service: LimitedService) -> None:
    preflight = service.client.simulate_options(ENTITY, headers={"X-API-Key": service.sample})
    assert preflight.status_code == 200 and "ratelimit" not in preflight.headers
    assert monthly(service.get(ENTITY, service.sample)) == 2_999


def test_no_key_is_in_a_log_or_an_answer(
    service: LimitedService, stores: LimitStores, caplog: pytest.LogCaptureFixture
) -> None:
    texts = []
    with caplog.at_level(logging.DEBUG):
        for path in (ENTITY, f"{ENTITY}?x={service.sample}", f"/v1/{service.sample}"):
            texts.append(service.get(path, service.starter).text)
        Path(stores.keys).unlink()
        # A lost database is noticed and logged within a second.
        time.sleep(0.85)
        texts.append(service.get(ENTITY, service.starter).text)
        answer = service.get(ENTITY, service.starter, X_Request_Id=service.sample)
    text = caplog.text + "".join(texts) + str(answer.headers)
    assert service.starter[12:] not in text and service.sample[12:] not in text
    assert service.sample[:12] in text


def key_id(service: LimitedService, key: str) -> str:
    return next(row.key_id for row in list_keys(service.keys) if row.prefix == key[:12])


def this_month() -> str:
    return month_at(time.time()).name


def test_a_usage_store_that_cannot_be_written_is_named_and_locks_nobody_out(
    mart: Mart, tmp_path: Path
) -> None:
    service = LimitedService(mart, LimitStores(str(tmp_path / "k.lmdb"), str(tmp_path / "u.lmdb")))
    # As a service has it that was started once.
    signing_secret(service.keys, "cursor")

    with no_room_for_files():
        full = service.client.simulate_get("/v1/status")
        answer = service.get(ENTITY, service.starter)

    assert full.json["degraded"] == ["usage_store"]
    assert answer.status_code == 200 and "monthly" not in answer.headers["ratelimit"]
    assert service.client.simulate_get("/v1/status").json["degraded"] == []
