"""Limits are those of REST, and builds change under agents without their noticing."""

import json
import shutil
import threading
from pathlib import Path
from typing import Any

import pytest
from falcon import testing

from api.app import create_app
from tests.helpers.active_keys import find_key
from tests.helpers.mcp_service import call, mcp_served, post, request
from tests.helpers.mcp_world import Agents
from tests.helpers.rest_service import World
from tests.helpers.stored_builds import nothing_published
from warehouse.control.keys import KeyStore, create_key
from warehouse.serve.build import Mart
from warehouse.serve.usage import Usage
from warehouse.shared.tiers import configured_tiers

ENTITY: tuple[str, dict[str, Any]] = ("get_entity", {"service_id": "DCA1"})


def test_a_call_here_and_a_call_there_count_together(
    agents: Agents, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiers = tmp_path / "tiers.json"
    tiers.write_text(json.dumps({"starter": {"per_minute": 9, "per_month": 6}}))
    monkeypatch.setenv("SANKOFA_TIERS", str(tiers))
    world = World(tmp_path, "", "")
    shutil.copytree(agents.world.marts, world.marts)
    store, counts = KeyStore(world.keys, configured_tiers(tiers)), tmp_path / "usage.lmdb"
    first, second = create_key(store, "starter"), create_key(store, "starter")
    usage = Usage(counts)
    rest = testing.TestClient(create_app(Mart(world.marts), store, usage=usage))

    def ask_rest(key: str) -> int:
        answer = rest.simulate_get("/v1/entities/DCA1", headers={"X-API-Key": key})
        return answer.status_code

    def used(key: str) -> int:
        api_key = find_key(store, key)
        assert api_key is not None
        return usage.used(api_key.key_id, usage._month.name)

    with mcp_served(world, "--usage", str(counts)) as server:
        # A call of a tool counts once, wherever; a problem of the caller's does too.
        assert call(server, first, *ENTITY).status == 200 and ask_rest(first) == 200
        assert call(server, first, "get_entity", {"service_id": "NOBODY"}).status == 200
        assert used(first) == 3
        # Lists and resources count against the minute only.
        listed = post(server, request("tools/list"), first)
        read = post(server, request("resources/read", {"uri": "sankofa://licence"}), first)
        assert listed.status == read.status == 200 and used(first) == 3
        assert listed.headers["RateLimit"].startswith('"burst";r=5;')
        # What we cannot answer is not charged.
        with nothing_published(world.marts):
            broken = call(server, first, *ENTITY)
            assert broken.result["structuredContent"]["code"] == "datastore_unavailable"
        assert used(first) == 3 and call(server, first, *ENTITY).result["isError"] is False
        assert [ask_rest(first), ask_rest(first)] == [200, 200] and used(first) == 6
        # Both limits are reached now, here as there.
        over = call(server, first, *ENTITY)
        assert over.status == 429 and ask_rest(first) == 429
        problem = over.json()["error"]["data"]
        assert problem["code"] == "rate_limited" and problem["retryable"] is True
        assert set(problem["violated_policies"]) == {"burst", "monthly"}
        assert over.headers["Retry-After"] == str(problem["retry_after"])
        # The month is over for tools, and lists are still given.
        for _ in range(6):
            assert ask_rest(second) == 200
        over = call(server, second, *ENTITY)
        assert over.status == 429
        assert over.json()["error"]["data"]["violated_policies"] == ["monthly"]
        listed = post(server, request("tools/list"), second)
        assert listed.status == 200 and '"monthly";r=0;' in listed.headers["RateLimit"]


def test_builds_change_under_agents_without_an_error_or_a_mixture(agents: Agents) -> None:
    world, stop = agents.world, threading.Event()
    first, second = world.builds.names()
    world.builds.switch(first)
    seen: dict[str, set[bytes]] = {}
    failed: list[str] = []

    def ask(mode: str) -> None:
        while not stop.is_set():
            answer = call(agents.server, world.paid, "search_tenders", {"country": "GH"}, mode)
            if answer.status != 200 or answer.result["isError"]:
                failed.append(answer.body.decode())
                return
            version = json.loads(answer.structured)["data_version"]
            seen.setdefault(version, set()).add(answer.structured)

    asking = [threading.Thread(target=ask, args=(mode,)) for mode in ("legacy", "2026-07-28")]
    for thread in asking:
        thread.start()
    for version in (first, second, first, second):
        world.builds.switch(version)
        while not failed and version not in seen:
            stop.wait(0.05)
    stop.set()
    for thread in asking:
        thread.join(30)
    assert not failed and seen.keys() == {first, second}
    # One version, one answer: no release of another build slipped in.
    for version, answers in seen.items():
        (answer,) = answers
        assert json.loads(answer)["data_version"] == version
    counts = [json.loads(next(iter(seen[version])))["count"] for version in (first, second)]
    assert counts[0] == 0 < counts[1]
