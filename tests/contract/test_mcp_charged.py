"""Only a call that ran is charged, and whatever runs was charged."""

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests.helpers.active_keys import find_key
from tests.helpers.mcp_service import MODERN, MODES, Posted, call, mcp_served, post, request
from tests.helpers.mcp_world import Agents
from tests.helpers.rest_service import Served, World
from warehouse.control.keys import KeyStore, create_key
from warehouse.serve.usage import Usage

ENTITY: tuple[str, dict[str, Any]] = ("get_entity", {"service_id": "DCA1"})
META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
}


@dataclass(frozen=True)
class Counting:
    """A server that counts, and what it counted."""

    world: World
    server: Served
    usage: Usage

    def key(self) -> str:
        return create_key(KeyStore(self.world.keys), "starter")

    def used(self, key: str) -> int:
        api_key = find_key(KeyStore(self.world.keys), key)
        assert api_key is not None
        return self.usage.used(api_key.key_id, self.usage._month.name)


@pytest.fixture(scope="module")
def counting(agents: Agents, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Counting]:
    root = tmp_path_factory.mktemp("counting")
    tiers = root / "tiers.json"
    tiers.write_text(json.dumps({"starter": {"per_minute": 1000, "per_month": 3}}))
    world, counts = World(root, "", ""), root / "usage.lmdb"
    shutil.copytree(agents.world.marts, world.marts)
    KeyStore(world.keys)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SANKOFA_TIERS", str(tiers))
        with mcp_served(world, "--usage", str(counts)) as server:
            yield Counting(world, server, Usage(counts))


def post_in_mode(counting: Counting, key: str, body: str, mode: str) -> Posted:
    headers = {"MCP_Protocol_Version": "2025-11-25"}
    if mode == MODERN:
        headers = {"MCP_Protocol_Version": MODERN, "Mcp_Method": "tools/call"}
        headers["Mcp_Name"] = "get_entity"
    return post(counting.server, body.encode(), key, **headers)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity", '"\\ud800"', "[" * 2000])
def test_what_is_no_json_is_never_run(counting: Counting, mode: str, value: str) -> None:
    meta = json.dumps({**META, "x": 1}).replace("1}", value + "}")
    arguments = json.dumps(ENTITY[1])
    params = f'{{"name":"get_entity","arguments":{arguments},"_meta":{meta}}}'
    body = f'{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}'
    key = counting.key()
    answer = post_in_mode(counting, key, body, mode)
    assert answer.status == 400 and answer.json()["error"]["code"] == -32700
    assert answer.json()["id"] is None and counting.used(key) == 0
    whole = post_in_mode(counting, key, body.replace(value, "1"), mode)
    assert not whole.result["isError"] and counting.used(key) == 1


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("arguments", "headers", "status"),
    [
        (ENTITY[1], {"Host": "evil.example"}, 421),
        (ENTITY[1], {"Origin": "https://evil.example"}, 403),
        (ENTITY[1], {"Accept": "text/html"}, 406),
        (ENTITY[1], {"Content_Type": "text/plain"}, 400),
        (ENTITY[1], {"X_Data_Version": "yesterday"}, 400),
        ("DCA1", {}, None),
    ],
)
def test_what_is_refused_before_a_tool_runs_is_not_charged(
    counting: Counting, mode: str, arguments: Any, headers: dict[str, str], status: int | None
) -> None:
    key = counting.key()
    answer = call(counting.server, key, "get_entity", arguments, mode, **headers)
    assert status is None or answer.status == status
    assert b'"result"' not in answer.body and counting.used(key) == 0
    assert '"monthly";r=3;' in answer.headers["RateLimit"]


def test_only_calls_of_a_tool_that_ran_are_charged(counting: Counting) -> None:
    key, server = counting.key(), counting.server
    assert call(server, key, "get_everything", {}).json()["error"]["code"] == -32602
    one = request("tools/call", {"name": ENTITY[0], "arguments": ENTITY[1]})
    assert post(server, json.dumps([one, one]).encode(), key).status == 400
    wrong_ids: list[Any] = [1.5, None, True, {}]
    for no_id in wrong_ids:
        assert b'"result"' not in post(server, {**one, "id": no_id}, key).body
    assert counting.used(key) == 0
    # An answer, a wrong parameter and a record that is not there count, as in REST.
    for arguments in (ENTITY[1], {"nothing": 1}, {"service_id": "NOBODY"}):
        assert "result" in call(server, key, "get_entity", arguments).json()
    assert counting.used(key) == 3


def test_lists_and_resources_are_given_when_the_month_is_used_up(counting: Counting) -> None:
    key, server = counting.key(), counting.server
    for _ in range(3):
        assert call(server, key, *ENTITY).status == 200
    over = call(server, key, *ENTITY)
    assert over.status == 429
    assert over.json()["error"]["data"]["violated_policies"] == ["monthly"]
    for method, params in (
        ("tools/list", {}),
        ("resources/list", {}),
        ("resources/read", {"uri": "sankofa://licence"}),
    ):
        answer = post(server, request(method, params), key)
        assert answer.status == 200 and "result" in answer.json()
        assert '"monthly";r=0;' in answer.headers["RateLimit"]


def test_a_resource_is_read_in_the_build_that_is_pinned(counting: Counting) -> None:
    key, server = counting.key(), counting.server
    first, second = counting.world.builds.names()
    uri = "sankofa://exports/manifest"

    def read(**headers: str) -> Posted:
        sent = request("resources/read", {"uri": uri, "_meta": META})
        headers |= {"MCP_Protocol_Version": MODERN, "Mcp_Method": "resources/read", "Mcp_Name": uri}
        return post(server, sent, key, **headers)

    for version in (first, second):
        pinned = read(X_Data_Version=version).result
        assert json.loads(pinned["contents"][0]["text"])["data_version"] == version
        # One URI has another text under another pin: no one else may get it.
        assert pinned["cacheScope"] == "private"
    gone = read(X_Data_Version="20200101.1").json()["error"]["data"]
    assert gone["code"] == "parameter_invalid" and gone["parameter"] == "X-Data-Version"
