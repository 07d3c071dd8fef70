"""A request that is answered without a session's streams is answered as the SDK answers it."""

import json
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from mcp.server import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp_server.app import create_server
from mcp_server.exchange import Exchange
from mcp_server.http import Options, security
from mcp_server.service import SCOPE_KEY, Call

from tests.helpers.mcp_service import ACCEPT, MODERN, request
from tests.helpers.mcp_world import Agents

META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
}
REQUESTS: list[tuple[str, dict[str, Any]]] = [
    ("tools/list", {}),
    ("resources/list", {}),
    ("resources/templates/list", {}),
    ("resources/read", {"uri": "sankofa://datasets/AF-FUND"}),
    ("resources/read", {"uri": "sankofa://none"}),
    ("resources/read", {"uri": 7}),
    ("tools/call", {"name": "none", "arguments": {}}),
    ("tools/call", {"name": "get_entity", "arguments": "DCA1"}),
    ("tools/call", {}),
    ("server/discover", {}),
    ("ping", {}),
    ("nothing/known", {}),
    ("prompts/list", {}),
    ("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}}),
]

WRONG = {
    b"host": b"evil",
    b"origin": b"http://evil",
    b"accept": b"x",
    b"mcp-protocol-version": b"1999-01-01",
}


def scope_of(method: str, params: dict[str, Any], version: str) -> dict[str, Any]:
    named = params.get("name", params.get("uri"))
    headers = {
        "host": "localhost",
        "accept": ACCEPT,
        "content-type": "application/json",
        "mcp-protocol-version": version,
        "mcp-method": method,
        **({"mcp-name": named} if isinstance(named, str) else {}),
    }
    raw = [(name.encode(), value.encode()) for name, value in headers.items()]
    base = {"type": "http", "method": "POST", "path": "/mcp", "query_string": b""}
    return {**base, "headers": raw, SCOPE_KEY: Call()}


async def by_us(exchange: Exchange, scope: dict[str, Any], body: bytes) -> tuple[int, bytes] | None:
    headers = {name.decode(): value.decode() for name, value in scope["headers"]}
    return await exchange.answer(scope, headers, body)


@asynccontextmanager
async def both(agents: Agents) -> AsyncIterator[tuple[Exchange, StreamableHTTPSessionManager]]:
    options = Options(marts=str(agents.world.marts), control=str(agents.world.keys))
    server = create_server(options.service())
    checked = security(options)
    sessions = StreamableHTTPSessionManager(
        server, json_response=True, stateless=True, security_settings=checked
    )
    async with sessions.run():
        yield Exchange(server, checked), sessions


async def by_sdk(
    sessions: StreamableHTTPSessionManager, scope: dict[str, Any], body: bytes
) -> tuple[int, bytes]:
    sent: list[Any] = []
    waiting = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Any:
        return waiting.pop() if waiting else await anyio.sleep_forever()

    async def send(message: Any) -> None:
        sent.append(message)

    await sessions.handle_request(scope, receive, send)
    return sent[0]["status"], b"".join(item.get("body", b"") for item in sent[1:])


@pytest.mark.parametrize(
    ("name", "arguments", "in_a_thread"),
    [
        ("search_tenders", {"category": "works"}, True),
        ("search_tenders", {"buyer": "Agency"}, True),
        ("get_entity", {"service_id": "DCA1"}, False),
    ],
)
def test_a_search_does_not_stop_the_others(
    agents: Agents,
    name: str,
    arguments: dict[str, Any],
    in_a_thread: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    options = Options(marts=str(agents.world.marts), control=str(agents.world.keys))
    service, ran = options.service(), []
    original_run = service.run

    def run(*arguments: Any) -> Any:
        ran.append(threading.current_thread() is not threading.main_thread())
        return original_run(*arguments)

    monkeypatch.setattr(service, "run", run)

    async def ask(is_tool: bool) -> Any:
        exchange = Exchange(create_server(service), security(options))
        params = {"name": name, "arguments": arguments}
        scope = scope_of("tools/call", params, "2025-11-25")
        scope[SCOPE_KEY].is_tool = is_tool
        service.admit(scope[SCOPE_KEY], agents.world.paid, "127.0.0.1")
        body = json.dumps(request("tools/call", params)).encode()
        response = await by_us(exchange, scope, body)
        assert response is not None
        return json.loads(response[1])

    assert not anyio.run(ask, True)["result"]["isError"]
    assert ran == [in_a_thread]
    # A request that was not counted as a tool call runs no tool.
    assert anyio.run(ask, False)["error"]["code"] == -32600 and len(ran) == 1


@pytest.mark.parametrize("version", ["2025-03-26", "2025-11-25", MODERN])
def test_the_short_way_answers_as_the_sdk_does(agents: Agents, version: str) -> None:
    async def compare() -> None:
        async with both(agents) as (exchange, sessions):
            for method, params in REQUESTS:
                sent = {**params, "_meta": META} if version == MODERN else params
                scope = scope_of(method, params, version)
                body = json.dumps(request(method, sent, "an id")).encode()
                short = await by_us(exchange, scope, body)
                status, response = await by_sdk(sessions, scope, body)
                if short is not None:
                    assert short[0] == status, method
                    assert json.loads(short[1]) == json.loads(response), method
                else:
                    assert status == 400, method

    anyio.run(compare)


@pytest.mark.parametrize("version", ["2024-11-05", "2025-11-25", MODERN])
def test_a_result_has_the_form_that_the_sdk_gives_it(agents: Agents, version: str) -> None:
    options = Options(marts=str(agents.world.marts), control=str(agents.world.keys))
    service = options.service()
    shaped_once, by_handler = create_server(service), create_server(service)
    by_handler.middleware.clear()

    async def ask(server: Server[Any], arguments: dict[str, Any]) -> bytes:
        params: dict[str, Any] = {"name": "search_tenders", "arguments": arguments}
        scope = scope_of("tools/call", params, version)
        call = scope[SCOPE_KEY] = Call(request_id="one", is_tool=True)
        service.admit(call, agents.world.paid, "127.0.0.1")
        sent = {**params, "_meta": META} if version == MODERN else params
        body = json.dumps(request("tools/call", sent)).encode()
        response = await by_us(Exchange(server, security(options)), scope, body)
        assert response is not None and response[0] == 200
        return call.exact.insert(response[1])

    # Whole, with a link to the file of all rows, and refused.
    for arguments, part in (
        ({"country": "ZA", "limit": 100}, b'"truncated":false'),
        ({"country": "ZA", "limit": 1}, b'"resource_link"'),
        ({"country": 7}, b'"isError":true'),
    ):
        shaped = anyio.run(ask, shaped_once, arguments)
        assert part in shaped and shaped == anyio.run(ask, by_handler, arguments)


def test_what_is_no_good_request_is_left_to_the_sdk(agents: Agents) -> None:
    good = json.dumps(request("tools/list")).encode()

    async def ask() -> None:
        async with both(agents) as (exchange, _):
            scope = scope_of("tools/list", {}, "2025-11-25")
            assert await by_us(exchange, scope, good) is not None
            for body in (
                b"",
                b"[]",
                b'{"jsonrpc":"2.0","method":"tools/list"}',
                b"[" + good + b"]",
            ):
                assert await by_us(exchange, scope, body) is None
            # A header that is sent twice is not remembered as right either.
            for name, value in WRONG.items():
                twice = {**scope, "headers": [*scope["headers"], (name, value)]}
                assert await by_us(exchange, twice, good) is None
                other = [pair for pair in scope["headers"] if pair[0] != name]
                wrong = {**scope, "headers": [*other, (name, value)]}
                assert await by_us(exchange, wrong, good) is None

    anyio.run(ask)
