"""Calls of tools beside a server of the same SDK and transport whose one tool is a constant.

Each question is answered by both servers with the same number of bytes; rounds of both alternate,
each server has one process, and the ratio is that of the processor time of those processes, which
a busy machine changes least.
"""

import asyncio
import itertools
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any

import uvicorn
from mcp.server import Server
from mcp_types import CallToolResult, ListToolsResult, PaginatedRequestParams, TextContent, Tool

from tests.helpers.facts import fact
from tests.helpers.mcp_service import ACCEPT, MODERN, call, mcp_served, request
from tests.helpers.record_rows import load, release_row, series_row
from tests.helpers.rest_service import RunningServer, World, publish_invented, world_of
from warehouse.control.keys import KeyStore, create_key
from warehouse.record.store import Record
from warehouse.record.tables import FUNDAMENTALS, MACRO_SERIES

# A call takes at most so many times the processor time of the constant.
GOAL = 1.0
_AT_ONCE, _ROUNDS, _CALLS, _QUESTIONS = 8, 7, 400, 20
_FIRST = date(2024, 1, 1)
ASKED: dict[str, list[dict[str, Any]]] = {
    "get_fundamentals": [
        {"service_id": f"DCBENCH{n:02}", "as_of": "2024-06-30", "limit": 25}
        for n in range(_QUESTIONS)
    ],
    "search_tenders": [
        {"country": "NA", "to": str(_FIRST + timedelta(200 + n)), "limit": 10}
        for n in range(_QUESTIONS)
    ],
    "get_macro": [
        {"series": f"BENCH.{n:02}", "as_of": "2024-06-30", "limit": 25} for n in range(_QUESTIONS)
    ],
    "get_entity": [{"service_id": name} for name in ("DCA1", "DCB2", "DCX9")],
}
# The port and the process of a server.
End = tuple[int, int]


@dataclass(frozen=True)
class Round:
    """What one server did in one round, in milliseconds."""

    cpu: float
    p50: float
    p99: float


def report() -> None:
    """Print processor time, p50 and p99 of a call to both, and whether the goal is met."""
    with tempfile.TemporaryDirectory() as folder:
        world = _world(Path(folder))
        # A tier that no benchmark exhausts: limits are counted all the same.
        tiers = Path(folder) / "tiers.json"
        tiers.write_text('{"professional": {"per_minute": 100000000, "per_month": 100000000}}')
        os.environ["SANKOFA_TIERS"] = str(tiers)
        key = create_key(KeyStore(world.keys), "professional")
        options = ("--usage", str(world.root / "usage.lmdb"))
        print(f"  {_ROUNDS} rounds of {_CALLS} calls, {_AT_ONCE} at once; ms, ours / the constant")
        print(
            f"  {'tool':17}{'protocol':12}{'bytes':>7}{'CPU':>14}{'p50':>16}{'p99':>18}"
            f"{'ratio':>7}{'goal':>6}"
        )
        with mcp_served(world, *options) as server, _constant() as constant:
            ours, other = (server.port, server.process.pid), RunningServer(constant[0])
            for tool, mode in itertools.product(ASKED, ("2025-11-25", MODERN)):
                sizes = [len(call(server, key, tool, each, mode).body) for each in ASKED[tool]]
                # What the protocol writes around a text.
                frame = len(call(other, key, "constant", {"bytes": 0}, mode).body)
                asked = [_request(server.port, tool, each, mode, key) for each in ASKED[tool]]
                same = [
                    _request(other.port, "constant", {"bytes": size - frame}, mode, key)
                    for size in sizes
                ]
                rounds = _alternate((ours, asked), (constant, same))
                _say(tool, mode, round(sum(sizes) / len(sizes)), rounds)


def _world(root: Path) -> World:
    publish_invented(root)
    made, record = world_of(root), Record(str(root / "record"))
    facts = [
        fact(f"{n * year}.50", item=f"item{n:03}", issuer=asked["service_id"], year=year)
        for asked in ASKED["get_fundamentals"]
        for n in range(30)
        for year in range(2014, 2020)
    ]
    load(record, FUNDAMENTALS, *facts)
    days = [
        series_row(f"{n}.25", date(2018, 1, 1) + timedelta(n), series=asked["series"])
        for asked in ASKED["get_macro"]
        for n in range(200)
    ]
    load(record, MACRO_SERIES, *days)
    made.publish(*(_release(n) for n in range(1000, 2000)))
    return made


def _release(number: int) -> dict[str, Any]:
    tender = {
        "title": f"Repair of road {number}",
        "description": f"Works on {number} kilometres of road, with drainage and signs. " * 3,
        **{"status": "active", "procurementMethod": "open", "mainProcurementCategory": "works"},
        "value": {"amount": number * 1000.25, "currency": "NAD"},
        "tenderPeriod": {"startDate": "2024-01-01T00:00:00Z", "endDate": "2024-02-01T00:00:00Z"},
    }
    released_on = _FIRST + timedelta(number % 300)
    release = json.dumps({"tender": tender, "buyer": None})
    return release_row(number, country="NA", released_on=released_on, release=release)


@contextmanager
def _constant() -> Iterator[End]:
    """Run the other server in a process of its own."""
    command = [sys.executable, "-m", "tests.bench.mcp"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        port = int(process.stdout.readline())
        try:
            yield port, process.pid
        finally:
            os.kill(process.pid, signal.SIGTERM)


def _serve_constant() -> None:
    listed = [Tool(name="constant", input_schema={"type": "object"})]

    @cache
    def result(size: int) -> CallToolResult:
        return CallToolResult(content=[TextContent(type="text", text="x" * size)])

    async def list_tools(ctx: Any, params: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=listed)

    async def call_tool(ctx: Any, params: Any) -> CallToolResult:
        return result(params.arguments["bytes"])

    server = Server[Any]("constant", on_list_tools=list_tools, on_call_tool=call_tool)
    app = server.streamable_http_app(json_response=True, stateless_http=True)
    config = uvicorn.Config(app, port=0, log_level="critical", access_log=False)
    bound = config.bind_socket()
    # The port is used as soon as it is printed.
    bound.listen()
    print(bound.getsockname()[1], flush=True)
    uvicorn.Server(config).run(sockets=[bound])


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


def _alternate(*asked: tuple[End, Sequence[bytes]]) -> tuple[list[Round], ...]:
    rounds: tuple[list[Round], ...] = tuple([] for _ in asked)
    for number in range(_ROUNDS + 1):
        for done, (end, sent) in zip(rounds, asked, strict=True):
            result = asyncio.run(_round(*end, sent))
            # The first round only warms.
            done += [result] if number else []
    return rounds


async def _round(port: int, pid: int, sent: Sequence[bytes]) -> Round:
    took: list[float] = []
    left = iter(itertools.islice(itertools.cycle(sent), _CALLS))

    async def ask() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for message in left:
            start = time.perf_counter()
            writer.write(message)
            head = await reader.readuntil(b"\r\n\r\n")
            assert b" 200 " in head.split(b"\r\n", 1)[0], head
            length = re.search(rb"content-length: (\d+)", head)
            assert length is not None
            body = await reader.readexactly(int(length[1]))
            took.append((time.perf_counter() - start) * 1000)
            assert b'"error"' not in body and b'"isError":true' not in body, body
        writer.close()

    used = _cpu(pid)
    await asyncio.gather(*(ask() for _ in range(_AT_ONCE)))
    took.sort()
    cpu = (_cpu(pid) - used) / _CALLS * 1000
    return Round(cpu, took[len(took) // 2], took[int(len(took) * 0.99)])


def _cpu(pid: int) -> float:
    """Return the seconds of processor time of a process, as clock_getcpuclockid(3) finds them."""
    return time.clock_gettime((~pid << 3) | 2)


def _say(tool: str, mode: str, size: int, rounds: tuple[list[Round], ...]) -> None:
    figures = [
        " / ".join(f"{median(getattr(each, name) for each in done):.2f}" for done in rounds)
        for name in ("cpu", "p50", "p99")
    ]
    ratio = median(own.cpu / other.cpu for own, other in zip(*rounds, strict=True))
    verdict = "met" if ratio <= GOAL else "MISSED"
    columns = "".join(f"{figure:>{n}}" for figure, n in zip(figures, (14, 16, 18), strict=True))
    print(f"  {tool:17}{mode:12}{size:>7,}{columns}{ratio:>7.2f}{GOAL:>6.1f} {verdict}", flush=True)


if __name__ == "__main__":
    _serve_constant()
