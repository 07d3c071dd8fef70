"""The real MCP server over a published world, in a process of its own, and clients for it."""

import http.client
import json
from collections.abc import Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import anyio
import httpx2
from mcp.client.streamable_http import streamable_http_client

from mcp import Client
from tests.helpers.rest_service import RunningServer, Served, World, started

MODES = ("legacy", "2026-07-28")
MODERN = "2026-07-28"
ACCEPT = "application/json, text/event-stream"
_META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
}


@contextmanager
def mcp_served(world: World, *options: str) -> Iterator[Served]:
    """Run ``python -m mcp_server`` at a free port until the end of the block."""
    with started(world, "mcp_server", "--workers", "1", *options) as server:
        yield server


@asynccontextmanager
async def connected(address: str, key: str, mode: str) -> Any:
    """Connect the SDK's own client for one protocol generation."""
    async with httpx2.AsyncClient(headers={"x-api-key": key}, timeout=20) as http_client:
        transport = streamable_http_client(f"{address}/mcp", http_client=http_client)
        async with Client(transport, mode=mode) as client:
            yield client


def asking(
    server: Served, key: str, work: Callable[[Client], Awaitable[None]], mode: str = MODERN
) -> None:
    """Run ``work`` with the SDK's own client connected to the server."""

    async def session() -> None:
        async with connected(server.address, key, mode) as client:
            await work(client)

    anyio.run(session)


class Posted:
    """A response over bare HTTP."""

    def __init__(self, status: int, headers: http.client.HTTPMessage, body: bytes) -> None:
        self.status, self.headers, self.body = status, headers, body

    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def result(self) -> Any:
        return self.json()["result"]

    @property
    def structured(self) -> bytes:
        """The bytes of structuredContent as received."""
        begin = self.body.index(b'"structuredContent":') + len(b'"structuredContent":')
        text = self.body[begin:].decode()
        return text[: json.JSONDecoder().raw_decode(text)[1]].encode()


def post(
    server: RunningServer, body: bytes | dict[str, Any], key: str | None, **headers: str
) -> Posted:
    """Post a message unchanged, over a fresh connection."""
    sent = {
        "Content-Type": "application/json",
        "Accept": ACCEPT,
        **({"X-API-Key": key} if key else {}),
        **{name.replace("_", "-"): value for name, value in headers.items()},
    }
    payload = body if isinstance(body, bytes) else json.dumps(body).encode()
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    try:
        connection.request("POST", "/mcp", body=payload, headers=sent)
        answer = connection.getresponse()
        return Posted(answer.status, answer.headers, answer.read())
    finally:
        connection.close()


def request(method: str, params: dict[str, Any] | None = None, id_: Any = 1) -> dict[str, Any]:
    """Return a JSON-RPC request."""
    return {"jsonrpc": "2.0", "id": id_, "method": method, "params": params or {}}


def call(
    server: RunningServer,
    key: str | None,
    name: str,
    arguments: Any,
    mode: str = "legacy",
    **headers: str,
) -> Posted:
    """Call a tool over bare HTTP, as one generation of the protocol does."""
    params: dict[str, Any] = {"name": name, "arguments": arguments}
    if mode == MODERN:
        params["_meta"] = _META
        headers |= {"Mcp_Method": "tools/call", "Mcp_Name": name}
        headers["MCP_Protocol_Version"] = MODERN
    else:
        headers.setdefault("MCP_Protocol_Version", "2025-11-25")
    return post(server, request("tools/call", params), key, **headers)
