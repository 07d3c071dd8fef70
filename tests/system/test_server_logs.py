"""A log that cannot be written loses lines, not the service; and what a line says of a request."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.mcp_service import call, mcp_served
from tests.helpers.metrics import exposed, value
from tests.helpers.paths import ROOT
from tests.helpers.processes import children_of
from tests.helpers.rest_service import (
    RunningServer,
    World,
    make_world,
    served,
    server_argument,
)
from tests.helpers.waiting import wait_until

# Servers give up on each other after some seconds, and a shared machine may halt for longer: a
# test that fails is run once more, and the summary names it.
pytestmark = pytest.mark.flaky(reruns=1)

FACTS = "/v1/fundamentals/DCA1"
FULL = Path("/dev/full")
# Both write their lines with the same code: whether they are read is tried with one by day.
BY_NIGHT = pytest.mark.nightly
READ_LOGS = ("api", pytest.param("mcp_server", marks=BY_NIGHT))
# Lines of 1,000 requests are more than a pipe and a short burst would hide.
REQUESTS = 1_000


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return make_world(tmp_path_factory, "logs")


def start(world: World, module: str, stderr: int, *options: str) -> "subprocess.Popen[bytes]":
    """Start a server of two processes whose log goes to a file descriptor."""
    argument = server_argument(module, world, "--workers", "2", *options)
    return subprocess.Popen([sys.executable, "-m", module, argument], stderr=stderr, cwd=ROOT)


@contextmanager
def logging_to(
    world: World, module: str, stderr: int, *options: str
) -> Iterator["subprocess.Popen[bytes]"]:
    """Run a server whose log goes to a file descriptor."""
    process = start(world, module, stderr, *options)
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


def answers(server: RunningServer, process: "subprocess.Popen[bytes]") -> bool:
    assert process.poll() is None
    try:
        return server.get("/health")[0] == 200
    except OSError:
        return False


@pytest.mark.skipif(not FULL.exists(), reason="left out: needs Linux's /dev/full")
@pytest.mark.parametrize(
    ("module", "surface"), [("api", "rest"), pytest.param("mcp_server", "mcp", marks=BY_NIGHT)]
)
def test_a_full_disk_under_the_log_stops_nothing_and_lost_lines_are_counted(
    world: World, tmp_path: Path, module: str, surface: str
) -> None:
    with FULL.open("wb") as full:
        server, options = on_full_disk(tmp_path)
        with logging_to(world, module, full.fileno(), *options) as process:
            assert_goes_on_and_counts_lost_lines(server, process, tmp_path, surface)


@pytest.mark.skipif(not FULL.exists(), reason="left out: needs Linux's /dev/full")
def test_workers_of_mcp_end_when_the_parent_is_killed_and_a_full_disk_stops_nothing_before(
    world: World, tmp_path: Path
) -> None:
    server, options = on_full_disk(tmp_path)
    with FULL.open("wb") as full:
        process = start(world, "mcp_server", full.fileno(), *options)
    assert_goes_on_and_counts_lost_lines(server, process, tmp_path, "mcp")
    os.kill(process.pid, signal.SIGKILL)
    process.wait(30)

    def refused() -> bool:
        try:
            server.get("/health")
        except OSError:
            return True
        return False

    wait_until(refused, 30)


def on_full_disk(metrics: Path) -> tuple[RunningServer, list[str]]:
    """Return where a server will answer, and its options."""
    server = RunningServer(free_port())
    return server, ["--port", str(server.port), "--metrics", str(metrics)]


def assert_goes_on_and_counts_lost_lines(
    server: RunningServer, process: "subprocess.Popen[bytes]", metrics: Path, surface: str
) -> None:
    def lost() -> bool:
        return value(exposed(metrics), "sankofa_log_lines_dropped_total", surface=surface) >= 100

    wait_until(lambda: answers(server, process), 60)
    for _ in range(100):
        assert server.get("/health")[0] == 200
    kill_a_worker(process)
    for _ in range(100):
        assert server.get("/health")[0] == 200
    wait_until(lost)


@pytest.mark.parametrize("module", READ_LOGS)
def test_a_reader_of_the_log_that_goes_away_stops_nothing(world: World, module: str) -> None:
    server = RunningServer(free_port())
    read, write = os.pipe()
    with logging_to(world, module, write, "--port", str(server.port)) as process:
        os.close(write)
        wait_until(lambda: answers(server, process), 60)
        os.close(read)
        for _ in range(100):
            assert server.get("/health")[0] == 200
        kill_a_worker(process)
        for _ in range(100):
            assert server.get("/health")[0] == 200


@pytest.mark.parametrize("module", READ_LOGS)
def test_a_reader_of_the_log_that_never_reads_stops_nothing(world: World, module: str) -> None:
    server = RunningServer(free_port())
    read, write = os.pipe()
    os.set_blocking(write, True)
    with logging_to(world, module, write, "--port", str(server.port)) as process:
        wait_until(lambda: answers(server, process), 60)
        # Nothing more fits into the pipe from here on.
        os.set_blocking(write, False)
        with pytest.raises(BlockingIOError):
            while True:
                os.write(write, b"x" * 4_096)
        os.set_blocking(write, True)
        for _ in range(REQUESTS):
            assert server.get("/health")[0] == 200
        kill_a_worker(process)
        assert server.get("/health")[0] == 200
        # Somebody reads again: the lines that waited are there, and the end is an orderly one.
        os.close(write)
        threading.Thread(target=drain, args=(read,), daemon=True).start()


def kill_a_worker(process: "subprocess.Popen[bytes]") -> None:
    """Kill a worker, and wait for the next: the parent logs that, and must live on."""
    before = children_of(process.pid)
    os.kill(before[-1], signal.SIGKILL)
    wait_until(lambda: set(children_of(process.pid)) - set(before), 30)


def drain(descriptor: int) -> None:
    while os.read(descriptor, 65_536):
        pass


def lines_of(log: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.read_text().splitlines()]


def test_every_line_of_rest_is_json_and_says_what_was_asked_by_whom(world: World) -> None:
    secret = f"/v1/nothing/{world.paid}?{world.paid}=1&as_of=2024-01-01"
    with served(world, "--workers", "2", "--trusted-proxy", "127.0.0.0/8") as server:
        answered = server.get(
            f"{FACTS}?as_of=2026-01-31&vintages=all",
            world.paid,
            X_Request_Id="mine-1",
            X_Forwarded_For="203.0.113.9:4711",
        )
        server.get(secret, world.paid)
    lines = lines_of(server.log)
    assert all(
        re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z", line["time"]) for line in lines
    )
    (line,) = [line for line in lines if line.get("request_id") == "mine-1"]
    assert line.pop("time") and line.pop("milliseconds") > 0
    assert line == {
        "logger": "sankofa.access",
        "surface": "rest",
        "client": "203.0.113.0/24",
        "method": "GET",
        "path": FACTS,
        "parameters": ["as_of", "vintages"],
        "status": 200,
        "bytes": len(answered[2]),
        "key": world.paid[:12],
        "data_version": answered[1]["X-Data-Version"],
        "request_id": "mine-1",
    }
    (other,) = [line for line in lines if line.get("path", "").startswith("/v1/nothing")]
    assert (other["status"], other["parameters"]) == (404, ["as_of"])
    assert world.paid not in server.log.read_text() and "2026-01-31" not in server.log.read_text()


def test_every_line_of_mcp_is_json_and_names_the_tool(world: World) -> None:
    with mcp_served(world, "--trusted-proxy", "127.0.0.0/8") as server:
        arguments = {"service_id": "DCA1", "as_of": "2026-01-31"}
        answered = call(
            server, world.paid, "get_fundamentals", arguments,
            X_Request_Id="mine-2", X_Forwarded_For="[2001:db8:1:2::3]:443",
        )  # fmt: skip
        call(server, world.paid, "get_fundamentals", {"wrong": 1}, X_Request_Id="mine-3")
        call(server, world.paid, "no_such_tool", {}, X_Request_Id="mine-4")
    lines = {line.get("request_id"): line for line in lines_of(server.log)}
    line = lines["mine-2"]
    assert line.pop("time") and line.pop("milliseconds") > 0
    assert line == {
        "logger": "sankofa.access",
        "surface": "mcp",
        "client": "2001:db8:1::/48",
        "method": "POST",
        "path": "/mcp",
        "rpc": "tools/call",
        "tool": "get_fundamentals",
        "status": 200,
        "bytes": len(answered.body),
        "key": world.paid[:12],
        "data_version": json.loads(answered.structured)["data_version"],
        "request_id": "mine-2",
    }
    assert (lines["mine-3"]["tool"], lines["mine-3"]["status"]) == ("get_fundamentals", 400)
    assert lines["mine-4"]["tool"] is None
    assert "DCA1" not in server.log.read_text() and world.paid not in server.log.read_text()
