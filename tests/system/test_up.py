"""``sankofa up``: everything runs, stops together, and says which server died and why."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from pipelines.doctor.findings import CheckContext
from pipelines.doctor.machine import ports as look_at_ports
from pipelines.ports import holder, is_free, refuse_taken
from tests.helpers.installation import copy_of, sample_home, sankofa, settings_of
from tests.helpers.processes import children_of, command_line
from tests.helpers.waiting import wait_until
from warehouse.errors import SankofaError

CURL = re.compile(r"curl -s -H 'X-API-Key: (\S+)' '(\S+)'")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_of(sample_home(tmp_path_factory), "up", tmp_path_factory)


def free_ports(number: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [
            stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(number)
        ]
        return [socket.getsockname()[1] for socket in sockets]


def get(url: str, key: str | None = None) -> bytes:
    request = urllib.request.Request(url, headers={} if key is None else {"X-API-Key": key})
    with urllib.request.urlopen(request, timeout=30) as answer:
        body: bytes = answer.read()
        return body


def until(done: Callable[[], bool], process: "subprocess.Popen[str]", seconds: float = 200) -> None:
    def done_while_running() -> bool:
        assert process.poll() is None, process.communicate()
        return done()

    wait_until(done_while_running, seconds, every=0.1)


@contextmanager
def running(home: Path, *words: str) -> Iterator["subprocess.Popen[str]"]:
    with sankofa(home, "up", *words) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()


def greeting(process: "subprocess.Popen[str]") -> str:
    output = ""
    assert process.stdout is not None
    for line in process.stdout:
        output += line
        if line.startswith("Stop with"):
            return output
    raise AssertionError(f"no greeting: {output} {process.communicate()}")


def test_all_servers_answer_and_all_stop_together(home: Path) -> None:
    rest, mcp = free_ports(2)
    with running(home, "--port", str(rest), "--mcp-port", str(mcp), "--no-dagster") as process:
        output = greeting(process)
        commands = CURL.findall(output)
        assert len(commands) == 3
        for key, address in commands:
            assert json.loads(get(address, key))["data"]
        assert f"http://127.0.0.1:{mcp}/mcp" in output and "Dagster" not in output
        assert not is_free("127.0.0.1", mcp)
        context = CheckContext(settings_of(home), "127.0.0.1", {"REST": rest, "MCP": mcp})
        assert [finding.state for finding in look_at_ports(context)] == ["ok", "ok"]
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert is_free("127.0.0.1", rest) and is_free("127.0.0.1", mcp)
    assert not still_there(home)


@pytest.mark.slow
@pytest.mark.skipif(
    "SANKOFA_TEST_DAGSTER" not in os.environ,
    reason="left out: takes half a minute; set SANKOFA_TEST_DAGSTER to run Dagster's page too",
)
def test_the_dagster_page_answers_and_none_of_its_processes_is_left_behind(home: Path) -> None:
    rest, dagster = free_ports(2)
    options = ["--port", str(rest), "--dagster-port", str(dagster), "--no-mcp"]
    with running(home, *options) as process:
        assert f"http://127.0.0.1:{dagster}" in greeting(process)
        until(lambda: not is_free("127.0.0.1", dagster), process)
        assert b"dagster_version" in get(f"http://127.0.0.1:{dagster}/server_info")
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert is_free("127.0.0.1", rest) and is_free("127.0.0.1", dagster)
    assert not still_there(home)


def test_a_server_that_dies_is_named_and_ends_the_others(home: Path) -> None:
    rest, mcp = free_ports(2)
    options = ["--port", str(rest), "--mcp-port", str(mcp), "--no-dagster"]
    with running(home, *options) as process:
        greeting(process)
        port_owner = holder(rest)
        assert port_owner is not None
        (parent,) = [pid for pid in children_of(process.pid) if str(rest) in command_line(pid)]
        os.kill(parent, signal.SIGKILL)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "sankofa: the REST service exited by itself (signal SIGKILL)" in err
    assert "The others were stopped" in err
    assert is_free("127.0.0.1", rest) and is_free("127.0.0.1", mcp)


def test_a_port_in_use_is_reported_before_anything_starts(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with running(tmp_path / "home", "--port", str(port)) as process:
            out, err = process.communicate(timeout=60)
    assert process.returncode == 1 and out == ""
    assert f"port {port}, for the REST service, is in use by process {os.getpid()}" in err
    assert not (tmp_path / "home").exists()


def test_every_port_in_use_is_named_at_once() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as one,
        socket.create_server(("127.0.0.1", 0)) as two,
    ):
        ports = {"this": one.getsockname()[1], "that": two.getsockname()[1]}
        with pytest.raises(SankofaError, match=r"for this, .* for that, "):
            refuse_taken("127.0.0.1", ports)
    refuse_taken("127.0.0.1", ports)
    with pytest.raises(SankofaError, match="this, that need different ports"):
        refuse_taken("127.0.0.1", {"this": 8321, "that": 8321})


STUBBORN = """
import signal, socket, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
print("I stay", flush=True)
time.sleep(600)
"""
SUPERVISED = """
import sys
from pipelines import supervisor
supervisor._STOP_SECONDS = 0.5
words = [sys.executable, "-c", sys.argv[1], sys.argv[2]]
child = supervisor.Child("the stubborn one", words, "127.0.0.1", int(sys.argv[2]), {})
supervisor.supervise([child], lambda names: print(*names, flush=True))
"""


def test_a_process_that_ignores_sigterm_is_killed() -> None:
    (port,) = free_ports(1)
    with subprocess.Popen(
        [sys.executable, "-c", SUPERVISED, STUBBORN, str(port)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "the stubborn one\n"
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 0 and "I stay" in err
    assert is_free("127.0.0.1", port)


def still_there(home: Path) -> list[str]:
    """Return the command lines of processes started for a home that still run."""
    if not Path("/proc/self/environ").exists():
        pytest.skip("left out: finding leftover processes needs /proc")
    command_lines = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "environ").read_bytes().split(b"\0")
            if f"SANKOFA_HOME={home}".encode() in words:
                command_lines.append((process / "cmdline").read_text())
        except OSError:
            continue
    return [item for item in command_lines if item]
