"""How the MCP server is started, and which hosts and origins it accepts."""

import json
import os
from typing import Any

import anyio
import pytest
import uvicorn
from click.testing import CliRunner
from mcp_server import guard, worker
from mcp_server.http import Options, create_app, security

from pipelines.commands.main import sankofa
from tests.helpers.mcp_service import call, mcp_served
from tests.helpers.mcp_world import Agents
from warehouse.contract.problems import Problem
from warehouse.shared.errors import SankofaError

# Servers give up on each other after some seconds, and a shared machine may halt for longer: a
# test that fails is run once more, and the summary names it.
pytestmark = pytest.mark.flaky(reruns=1)


async def never() -> Any:
    """Receive nothing."""
    await anyio.sleep_forever()


def test_the_command_becomes_the_server_and_hides_its_store_urls(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    became: list[Any] = []
    monkeypatch.setenv("SANKOFA_CONTROL", "redis://:secret@keys/0")
    monkeypatch.setenv("SANKOFA_MARTS", "unused")
    monkeypatch.setenv("SANKOFA_USAGE", "unused")
    monkeypatch.setattr(os, "execv", lambda path, command: became.extend(command[1:]))
    options = ["--port", "1234", "--allowed-host", "a", "--allowed-host", "b", "--workers", "2"]
    assert CliRunner().invoke(sankofa, ["mcp", *options]).exit_code == 0
    assert became[:2] == ["-m", "mcp_server"] and "secret" not in " ".join(became)
    assert os.environ["SANKOFA_CONTROL"] == "redis://:secret@keys/0"
    chosen = json.loads(became[2])
    assert (chosen["hosts"], chosen["workers"], chosen["port"]) == (["a", "b"], 2, 1234)
    became.clear()
    assert CliRunner().invoke(sankofa, ["mcp", "--stdio"]).exit_code == 0
    assert json.loads(became[2])["stdio"] is True


def test_several_processes_answer_at_one_port(agents: Agents) -> None:
    with mcp_served(agents.world, "--workers", "2") as server:
        seen = {call(server, agents.world.paid, "get_entity", {"service_id": "DCA1"}).status}
        assert seen == {200} and len(server.children()) >= 2
    assert server.process.returncode in (0, -15)


def test_only_local_and_configured_hosts_are_accepted() -> None:
    transport_security = security(
        Options("m", "k", bases=("https://mcp.example.com/",), hosts=("other:1",))
    )
    assert {"mcp.example.com", "other:1", "localhost:*"} <= set(transport_security.allowed_hosts)
    assert "https://mcp.example.com" in transport_security.allowed_origins
    with pytest.raises(SankofaError, match="is not the URL of a service"):
        security(Options("m", "k", bases=("mcp.example.com",)))


def test_a_page_of_an_allowed_origin_may_ask(agents: Agents) -> None:
    origin = "https://app.example.com"
    options = Options(str(agents.world.marts), str(agents.world.keys), origins=(origin,))

    async def preflight(from_: str) -> dict[bytes, bytes]:
        sent: list[Any] = []
        headers = {
            b"host": b"localhost",
            b"origin": from_.encode(),
            b"access-control-request-method": b"POST",
            b"access-control-request-headers": b"x-api-key,mcp-protocol-version",
        }
        scope = {"type": "http", "method": "OPTIONS", "path": "/mcp", "query_string": b""}

        async def send(message: Any) -> None:
            sent.append(message)

        app = create_app(options)
        await app({**scope, "headers": list(headers.items())}, never, send)
        return dict(sent[0]["headers"])

    allowed = anyio.run(preflight, origin)
    assert allowed[b"access-control-allow-origin"] == origin.encode()
    assert b"x-api-key" in allowed[b"access-control-allow-headers"]
    other = anyio.run(preflight, "https://evil.example")
    assert b"access-control-allow-origin" not in other


@pytest.mark.parametrize("begun", [b"", b"POST /mcp HTTP/1.1\r\nHost: a\r\nX-", b"GET "])
def test_a_head_that_never_ends_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch, begun: bytes
) -> None:
    # Long enough for the good requests, even if the machine pauses for a second.
    monkeypatch.setattr(worker, "HEAD_SECONDS", 2)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def ask() -> None:
        options: dict[str, Any] = {"lifespan": "off", "log_config": None}
        config = uvicorn.Config(app, http=worker.TimedConnection, port=0, **options)
        server, bound = uvicorn.Server(config), config.bind_socket()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(server.serve, [bound])
            # A good request first: between requests a connection may rest, here for longer than a
            # head may take.
            stream = await anyio.connect_tcp("127.0.0.1", bound.getsockname()[1])
            await stream.send(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            assert b"204" in await stream.receive()
            if not begun:
                await anyio.sleep(2.5)
            await stream.send(begun or b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            if begun:
                with pytest.raises(anyio.EndOfStream):
                    await stream.receive()
            else:
                assert b"204" in await stream.receive()
            await stream.aclose()
            server.should_exit = True

    anyio.run(ask)


def test_a_body_that_never_comes_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "_BODY_SECONDS", 0.01)

    async def wait() -> None:
        await guard._read_body({"content-length": "10"}, never)

    with pytest.raises(Problem, match="did not come whole"):
        anyio.run(wait)
