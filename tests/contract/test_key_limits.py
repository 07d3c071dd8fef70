"""Keys that expired or are for other networks or datasets: refused alike over REST and MCP."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from falcon import testing

from api.app import create_app
from tests.helpers.mcp_service import call
from tests.helpers.mcp_world import Agents
from warehouse.control.keys import KeyStore, create_key, revoke_key
from warehouse.serve.build import Mart
from warehouse.serve.exports import PublishedExports
from warehouse.serve.usage import Usage

LOCAL, ELSEWHERE = "127.0.0.0/8", "192.0.2.0/24"


@pytest.fixture
def keys(agents: Agents) -> KeyStore:
    return KeyStore(agents.world.keys)


def both(agents: Agents, key: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the status and the problem that each surface answers a key with."""
    rest = agents.rest.simulate_get("/v1/entities/DCA1", headers={"X-API-Key": key})
    yield rest.status_code, rest.json
    answer = call(agents.server, key, "get_entity", {"service_id": "DCA1"})
    yield answer.status, answer.json()["error"]["data"] if answer.status != 200 else {}


def test_an_expired_key_is_refused_like_a_revoked_one_with_a_sentence_of_its_own(
    agents: Agents, keys: KeyStore
) -> None:
    yesterday = datetime.now(UTC) - timedelta(days=1)
    expired = create_key(keys, "starter", expires_at=yesterday)
    revoked = create_key(keys, "starter")
    revoke_key(keys, revoked[:12])
    for key, how in ((expired, "expired"), (revoked, "was revoked or replaced")):
        for status, problem in both(agents, key):
            assert (status, problem["code"]) == (401, "key_invalid")
            assert problem["detail"].startswith(f"This API key {how} at 20")
            assert problem["detail"].endswith("Request a new one.")
    assert f"{yesterday:%Y-%m-%d}" in next(both(agents, expired))[1]["detail"]


def test_a_key_is_refused_outside_of_its_networks_and_the_address_is_named(
    agents: Agents, keys: KeyStore
) -> None:
    here = create_key(keys, "starter", networks=[ELSEWHERE, LOCAL])
    assert [status for status, _ in both(agents, here)] == [200, 200]
    for status, problem in both(agents, create_key(keys, "starter", networks=[ELSEWHERE])):
        assert (status, problem["code"]) == (403, "network_not_allowed")
        assert problem["detail"] == "This API key may not be sent from 127.0.0.1."


@pytest.mark.parametrize(
    ("path", "tool", "arguments", "dataset"),
    [
        ("/v1/fundamentals/DCA1", "get_fundamentals", {"service_id": "DCA1"}, "AF-FUND"),
        ("/v1/filings?service_id=DCA1", None, {}, "AF-FUND"),
        ("/v1/metrics/DCA1", "get_metrics", {"service_id": "DCA1"}, "AF-FUND"),
        ("/v1/screen?metric=operating_margin", None, {}, "AF-FUND"),
        ("/v1/tenders", "search_tenders", {"country": "ZA"}, "AF-TENDER"),
        ("/v1/awards?country=ZA", "get_awards", {"country": "ZA"}, "AF-TENDER"),
        ("/v1/signals/procurement-demand", "get_signal", None, "AF-TENDER"),
        ("/v1/macro?series=FX.EUR.ZAR", "get_macro", {"series": "FX.EUR.ZAR"}, "AF-MACRO"),
        ("/v1/shared/facts?entity_id=DCA1", None, {}, "AF-FUND"),
        ("/v1/shared/facts?entity_id=DCA1&dataset=AF-TENDER", None, {}, "AF-TENDER"),
        ("/v1/shared/facts?entity_id=ZAF", None, {}, "AF-MACRO"),
        (
            "/v1/shared/facts?country=ZAF&dataset=AF-MACRO",
            "check_claim",
            {"series": "FX.EUR.ZAR", "period": "2024-10", "value": 1},
            "AF-MACRO",
        ),
    ],
)
def test_a_key_gets_no_row_of_a_dataset_outside_of_its_own(
    agents: Agents,
    keys: KeyStore,
    path: str,
    tool: str | None,
    arguments: dict[str, Any] | None,
    dataset: str,
) -> None:
    if arguments is None:
        arguments = {"signal_key": "single-bid-rate", "country": "ZA"}
    others = sorted({"AF-FUND", "AF-TENDER", "AF-MACRO"} - {dataset})
    for datasets, allowed in ((others, False), ([dataset], True)):
        key = create_key(keys, "starter", datasets=datasets)
        rest = agents.rest.simulate_get(path, headers={"X-API-Key": key})
        answers = [(rest.status_code, rest.json)]
        if tool is not None:
            body = call(agents.server, key, tool, arguments).result["structuredContent"]
            answers.append((body.get("status", 200), body))
        for status, body in answers:
            if allowed:
                assert status == 200
            else:
                assert (status, body["code"]) == (403, "dataset_not_allowed")
                assert (body["received"], body["allowed"]) == (dataset, others)
                assert body["detail"].startswith(f"This is of {dataset}; your API key is only for ")


def test_what_all_datasets_share_is_for_every_key(agents: Agents, keys: KeyStore) -> None:
    key = create_key(keys, "starter", datasets=["AF-MACRO"])
    for path in ("/v1/entities/DCA1", "/v1/catalogue", "/v1/quality-metrics/AF-FUND", "/v1/usage"):
        assert agents.rest.simulate_get(path, headers={"X-API-Key": key}).status_code == 200


def test_a_licensed_file_of_another_dataset_is_refused_and_nothing_is_charged(
    agents: Agents, keys: KeyStore, tmp_path: Path
) -> None:
    usage, world = Usage(tmp_path / "usage.lmdb"), agents.world
    app = create_app(Mart(world.marts), keys, exports=PublishedExports(world.exports), usage=usage)
    key = create_key(keys, "starter", datasets=["AF-MACRO"])
    rest, headers = testing.TestClient(app), {"X-API-Key": key}
    refused = rest.simulate_get("/exports/latest/af-fund-facts.parquet", headers=headers)
    assert (refused.status_code, refused.json["code"]) == (403, "dataset_not_allowed")
    rows = rest.simulate_get("/v1/fundamentals/DCA1", headers=headers)
    assert rows.status_code == 403
    found = keys.look_up(key)
    assert found is not None and usage.used(found.key_id, usage._month.name) == 0
    allowed = rest.simulate_get("/exports/latest/af-macro-series.parquet", headers=headers)
    assert allowed.status_code == 200
