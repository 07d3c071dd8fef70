"""A local agent that asks much and reads late gets every answer whole."""

import json
import threading
from collections.abc import Iterator
from queue import Queue
from typing import Any, cast

import pytest
from mcp_server.stdio_bridge import MAX_PENDING, Bridge

from tests.helpers.mcp_service import MODERN, MODES, request
from tests.helpers.mcp_world import Agents

MANY = 1_100
BEGUN = {"capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
}


class Lines:
    """A file whose lines are written when the test reads them."""

    def __init__(self) -> None:
        self.written = Queue[str](1)

    def write(self, line: str) -> None:
        self.written.put(line, timeout=60)

    def flush(self) -> None:
        """Nothing waits."""


class Counting(Bridge):
    """A bridge that counts what it has posted."""

    posted = 0

    def _post(self, body: bytes, message: Any) -> str:
        self.posted += 1
        return super()._post(body, message)


def messages(mode: str) -> Iterator[str]:
    meta = {"_meta": META} if mode == MODERN else {}
    if mode != MODERN:
        yield json.dumps(request("initialize", {**BEGUN, "protocolVersion": "2025-06-18"}, "a"))
        yield json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"})
    for number in range(MANY):
        name = "search_tenders" if number % 20 == 0 else "get_entity"
        arguments = {"query": "road"} if number % 20 == 0 else {"service_id": "DCA1"}
        params = {"name": name, "arguments": arguments, **meta}
        yield json.dumps(request("tools/call", params, number))


@pytest.mark.parametrize("mode", MODES)
def test_answers_that_are_read_late_are_whole(agents: Agents, mode: str) -> None:
    out = Lines()
    bridge = Counting(f"{agents.server.address}/mcp", agents.world.paid, cast(Any, out))
    running = threading.Thread(target=bridge.run, args=(messages(mode),))
    running.start()
    if mode != MODERN:
        assert json.loads(out.written.get(timeout=60))["id"] == "a"
    seen = set()
    for number in range(MANY):
        message = json.loads(out.written.get(timeout=60))
        # What waits is the requests, not their answers.
        assert bridge.posted <= number + MAX_PENDING + 4
        seen.add(message["id"])
        content = message["result"]["structuredContent"]
        assert content["count"] == len(content["data"]) and not message["result"]["isError"]
        assert json.loads(message["result"]["content"][0]["text"]) == content
    assert seen == set(range(MANY))
    running.join(60)
