"""Calls of tools beside a server with the same SDK and transport whose one tool is a constant.

Rounds of both servers alternate, and each has one process: read the ratios. ``cpu`` is what the
server's process itself used for a call, which a busy machine does not change.
"""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import uvicorn
from mcp.server import Server
from mcp_types import CallToolResult, ListToolsResult, PaginatedRequestParams, TextContent, Tool

from tests.helpers.facts import fact
from tests.helpers.mcp_service import ACCEPT, MODERN, call, mcp_served, request
from tests.helpers.record_rows import load, release_row
from tests.helpers.rest_service import World, publish_invented, world_of
from warehouse.control.keys import KeyStore, create_key
from warehouse.record.store import Record
from warehouse.record.tables import FUNDAMENTALS

_AT_ONCE, _ROUNDS, _CALLS = 8, 5, 400
ASKED: dict[str, dict[str, Any]] = {
    "get_fundamentals": {"service_id": "DCBENCH", "as_of": "2024-06-30", "limit": 25},
    "search_tenders": {"country": "NA", "limit": 10},
}


@dataclass(frozen=True)
class Round:
    """What one server did in one round."""

    per_second: float
    p99: float
    cpu: float


def report() -> None:
    """Print calls per second, p99 and CPU of both, and the ratios of the medians."""
    with tempfile.TemporaryDirectory() as folder:
        world = _world(Path(folder))
        # A tier that no benchmark exhausts: limits are counted all the same.
        tiers = Path(folder) / "tiers.json"
        tiers.write_text('{"professional": {"per_minute": 100000000, "per_month": 100000000}}')
        os.environ["SANKOFA_TIERS"] = str(tiers)
        key = create_key(KeyStore(world.keys), "professional")
        with mcp_served(world, "--usage", str(world.root / "usage.lmdb")) as ours:
            for tool, arguments in ASKED.items():
                size = len(call(ours, key, tool, arguments).body)
                with _constant(size) as (port, pid):
                    for mode in ("2025-11-25", MODERN):
                        ends = ((ours.port, ours.process.pid), (port, pid))
                        rounds = _alternate(ends, tool, arguments, mode, key)
                        _say(f"{tool} {mode}, {size:,} bytes", *rounds)


def _world(root: Path) -> World:
    publish_invented(root)
    made = world_of(root)
    record = Record(str(root / "record"))
    facts = [
        fact(f"{n}.50", item=f"item{n:03}", issuer="DCBENCH", year=year)
        for n in range(30)
        for year in range(2014, 2020)
    ]
    load(record, FUNDAMENTALS, *facts)
    made.publish(*(release_row(n, country="NA") for n in range(1000, 2000)))
    return made


@contextmanager
def _constant(size: int) -> Iterator[tuple[int, int]]:
    """Run the other server in a process of its own."""
    command = [sys.executable, "-m", "tests.bench.mcp", str(size)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        port = int(process.stdout.readline())
        try:
            yield port, process.pid
        finally:
            os.kill(process.pid, signal.SIGTERM)


def _serve_constant(size: int) -> None:
    result = CallToolResult(content=[TextContent(type="text", text="x" * (size - 120))])
    listed = [Tool(name="constant", input_schema={"type": "object"})]

    async def list_tools(ctx: Any, params: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=listed)

    async def call_tool(ctx: Any, params: Any) -> CallToolResult:
        return result

    server = Server[Any]("constant", on_list_tools=list_tools, on_call_tool=call_tool)
    app = server.streamable_http_app(json_response=True, stateless_http=True)
    config = uvicorn.Config(app, port=0, log_level="critical", access_log=False)
    bound = config.bind_socket()
    print(bound.getsockname()[1], flush=True)
    uvicorn.Server(config).run(sockets=[bound])


def _alternate(
    ends: tuple[tuple[int, int], tuple[int, int]],
    tool: str,
    arguments: dict[str, Any],
    mode: str,
    key: str,
) -> tuple[list[Round], list[Round]]:
    rounds: tuple[list[Round], list[Round]] = ([], [])
    for number in range(_ROUNDS + 1):
        for answers, (port, pid), name in zip(rounds, ends, (tool, "constant"), strict=True):
            sent = _request(port, name, arguments, mode, key)
            done = asyncio.run(_round(port, pid, sent))
            if number:
                answers.append(done)
    return rounds


def _request(port: int, tool: str, arguments: dict[str, Any], mode: str, key: str) -> bytes:
    params: dict[str, Any] = {"name": tool, "arguments": arguments}
    more = ""
    if mode == MODERN:
        prefix = "io.modelcontextprotocol/"
        params["_meta"] = {f"{prefix}protocolVersion": MODERN, f"{prefix}clientCapabilities": {}}
        more = f"Mcp-Method: tools/call\r\nMcp-Name: {tool}\r\n"
    body = json.dumps(request("tools/call", params))
    return (
        f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nX-API-Key: {key}\r\n{more}"
        f"MCP-Protocol-Version: {mode}\r\nAccept: {ACCEPT}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n{body}"
    ).encode()


async def _round(port: int, pid: int, sent: bytes) -> Round:
    took: list[float] = []
    left = iter(range(_CALLS))

    async def ask() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for _ in left:
            start = time.perf_counter()
            writer.write(sent)
            head = await reader.readuntil(b"\r\n\r\n")
            assert b" 200 " in head.split(b"\r\n", 1)[0], head
            length = re.search(rb"content-length: (\d+)", head)
            assert length is not None
            body = await reader.readexactly(int(length[1]))
            took.append(time.perf_counter() - start)
            assert b'"error"' not in body
        writer.close()

    used, start = _cpu(pid), time.perf_counter()
    await asyncio.gather(*(ask() for _ in range(_AT_ONCE)))
    seconds, cpu = time.perf_counter() - start, _cpu(pid) - used
    return Round(_CALLS / seconds, sorted(took)[int(len(took) * 0.99)] * 1000, cpu / _CALLS * 1000)


def _cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _say(what: str, ours: list[Round], theirs: list[Round]) -> None:
    def middle(rounds: list[Round], name: str) -> float:
        return float(median(getattr(round_item, name) for round_item in rounds))

    per_second, p99, cpu = (
        (middle(ours, name), middle(theirs, name)) for name in ("per_second", "p99", "cpu")
    )
    print(
        f"  {what}: {per_second[0]:.0f} calls/s beside {per_second[1]:.0f} "
        f"(ratio {per_second[0] / per_second[1]:.2f}), p99 {p99[0]:.0f} ms beside {p99[1]:.0f}, "
        f"CPU a call {cpu[0]:.2f} ms beside {cpu[1]:.2f} (ratio {cpu[1] / cpu[0]:.2f})"
    )


if __name__ == "__main__":
    _serve_constant(int(sys.argv[1]))
