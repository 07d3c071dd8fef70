"""A local agent that asks much and reads late gets every answer whole."""

import json
import math
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, cast

import anyio
import pytest
from anyio import AsyncFile
from mcp_server.http import Options
from mcp_server.stdio import MAX_PENDING, serve

from tests.helpers.mcp_service import MODERN, MODES, request
from tests.helpers.mcp_world import Agents

MANY = 1_100
BEGUN = {"capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
}


class Pipe:
    """A server whose answers are read when the test likes."""

    def __init__(self, mode: str, send: Any, receive: Any, ran: list[str]) -> None:
        self.ran, self._mode, self._send, self._receive = ran, mode, send, receive

    async def say(self, message: dict[str, Any]) -> None:
        await self._send.send(json.dumps(message))

    async def ask(self, number: int, name: str, arguments: dict[str, Any]) -> None:
        meta = {"_meta": META} if self._mode == MODERN else {}
        params = {"name": name, "arguments": arguments, **meta}
        await self.say(request("tools/call", params, number))

    async def read(self) -> dict[str, Any]:
        with anyio.fail_after(30):
            message: dict[str, Any] = json.loads(await self._receive.receive())
        return message


class Lines:
    """A file whose lines are written when the test reads them."""

    def __init__(self, send: Any) -> None:
        self._send = send

    async def write(self, line: str) -> None:
        await self._send.send(line)

    async def flush(self) -> None:
        """Nothing waits."""


@asynccontextmanager
async def piped(agents: Agents, mode: str) -> AsyncIterator[Pipe]:
    service = Options(str(agents.world.marts), str(agents.world.keys)).service()
    ran: list[str] = []
    run: Callable[..., Any] = service.run

    def noted(tool: Any, *arguments: Any) -> Any:
        ran.append(tool.name)
        return run(tool, *arguments)

    setattr(service, "run", noted)  # noqa: B010
    send, read = anyio.create_memory_object_stream[str](math.inf)
    write, receive = anyio.create_memory_object_stream[str](0)
    async with anyio.create_task_group() as tasks, send, read, write, receive:
        stdin, stdout = cast(AsyncFile[str], read), cast(AsyncFile[str], Lines(write))
        tasks.start_soon(serve, service, agents.world.paid, stdin, stdout)
        pipe = Pipe(mode, send, receive, ran)
        if mode != MODERN:
            await pipe.say(request("initialize", {**BEGUN, "protocolVersion": "2025-06-18"}, "a"))
            await pipe.read()
            await pipe.say({"jsonrpc": "2.0", "method": "notifications/initialized"})
        yield pipe
        tasks.cancel_scope.cancel()


async def settled(pipe: Pipe) -> None:
    """Wait until no more calls are run."""
    before = -1
    while before != len(pipe.ran) or not pipe.ran:
        before = len(pipe.ran)
        # That nothing more happens is no event: it is looked at for a while.
        await anyio.sleep(0.2)


@pytest.mark.parametrize("mode", MODES)
def test_answers_that_are_read_late_are_whole(agents: Agents, mode: str) -> None:
    async def work() -> None:
        async with piped(agents, mode) as pipe:
            for number in range(MANY):
                name = "search_tenders" if number % 20 == 0 else "get_entity"
                arguments = {"query": "road"} if number % 20 == 0 else {"service_id": "DCA1"}
                await pipe.ask(number, name, arguments)
            await settled(pipe)
            # What waits is the requests, not their answers.
            assert len(pipe.ran) == MAX_PENDING
            seen = set()
            for _ in range(MANY):
                message = await pipe.read()
                seen.add(message["id"])
                content = message["result"]["structuredContent"]
                assert content["count"] == len(content["data"]) and not message["result"]["isError"]
                assert json.loads(message["result"]["content"][0]["text"]) == content
            assert seen == set(range(MANY))

    anyio.run(work)


@pytest.mark.parametrize("mode", MODES)
def test_calls_that_are_given_up_leave_room_for_others(agents: Agents, mode: str) -> None:
    async def work() -> None:
        async with piped(agents, mode) as pipe:
            for number in range(1, 2 * MAX_PENDING):
                await pipe.ask(number, "search_tenders", {"query": "road"})
                # Calls are given up at different stages of their work.
                await anyio.sleep(0.001 * (number % 4))
                gone = {"requestId": number, "reason": "no longer wanted"}
                cancelled = {"method": "notifications/cancelled", "params": gone}
                await pipe.say({"jsonrpc": "2.0", **cancelled})
                if number % 2:
                    await pipe.ask(-number, "get_everything", {})
                    while (await pipe.read())["id"] != -number:
                        pass
            for number_item in range(1000, 1000 + 2 * MAX_PENDING):
                await pipe.ask(number_item, "get_entity", {"service_id": "DCA1"})
            left = set(range(1000, 1000 + 2 * MAX_PENDING))
            while left:
                message = await pipe.read()
                assert "data" in message["result"]["structuredContent"]
                left.discard(message["id"])

    anyio.run(work)
