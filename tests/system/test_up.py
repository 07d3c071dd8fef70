"""``sankofa up``: everything runs, stops together, and says which server died and why."""

import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from pipelines.ports import Address, is_free, refuse_taken
from tests.helpers.installation import run_process, sample_home, sankofa, settings_of
from tests.helpers.made_once import copy_of
from tests.helpers.processes import children_of, command_line
from tests.helpers.waiting import wait_until
from warehouse.shared.errors import SankofaError

# Servers give up on each other after some seconds, and a shared machine may halt for longer: a
# test that fails is run once more, and the summary names it.
pytestmark = pytest.mark.flaky(reruns=1)

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


def test_killed_outright_it_takes_its_servers_with_it_starts_again_and_all_stop_together(
    home: Path,
) -> None:
    """Metrics are those of both surfaces; only this machine reaches them, whoever reaches these."""
    rest, mcp, metrics = free_ports(3)
    options = ["--port", str(rest), "--no-dagster"]
    with running(home, *options, "--no-mcp") as process:
        greeting(process)
        process.kill()
    options += ["--mcp-port", str(mcp), "--metrics-port", str(metrics), "--host", "0.0.0.0"]
    # At once: the server of the one that was killed is still leaving.
    with running(home, *options) as process:
        output = greeting(process)
        commands = CURL.findall(output)
        assert len(commands) == 3
        for key, address in commands:
            assert json.loads(get(address, key))["data"]
        get(f"http://127.0.0.1:{mcp}/health")
        # Commands name the service that runs, whatever its port.
        assert settings_of(home).base_url == f"http://127.0.0.1:{rest}"
        assert f"http://127.0.0.1:{mcp}/mcp" in output and "Dagster" not in output
        require_metrics_of_both(process, output, rest, metrics)
        assert addresses_of(rest) == addresses_of(mcp) == {"0.0.0.0"}
        assert addresses_of(metrics) == {"127.0.0.1"}
        process.send_signal(signal.SIGINT)
        after, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert all(is_free("127.0.0.1", port) for port in (rest, mcp, metrics))
    assert not still_there(home)
    # The addresses stay in sight: what the servers log is in their files.
    assert (after, err) == ("\nStopping the servers …\n", "")
    logs = settings_of(home).logs
    assert f"Logs          {logs}" in output
    paths = {json.loads(line).get("path") for line in (logs / "rest.log").read_text().splitlines()}
    assert {address.partition("?")[0].partition(str(rest))[2] for _, address in commands} <= paths
    assert "listening" in (logs / "mcp.log").read_text()


def require_metrics_of_both(
    process: "subprocess.Popen[str]", output: str, rest: int, metrics: int
) -> None:
    url = f"http://127.0.0.1:{metrics}/metrics"
    assert f"Metrics       {url}" in output
    facts = 'endpoint="/v1/fundamentals/{service_id}",status="2xx",surface="rest"}'
    health = 'endpoint="/health",status="2xx",surface="mcp"}'
    for labels in (facts, health):
        counted = f"sankofa_request_duration_seconds_count{{{labels}"
        until(lambda counted=counted: counted in scraped(url), process)  # type: ignore[misc]
    assert 'sankofa_build_info{data_version="' in scraped(url)
    with pytest.raises(urllib.error.HTTPError, match="404"):
        get(f"http://127.0.0.1:{rest}/metrics")


@pytest.mark.nightly
def test_the_dagster_page_answers_and_none_of_its_processes_is_left_behind(home: Path) -> None:
    rest, dagster = free_ports(2)
    options = ["--port", str(rest), "--dagster-port", str(dagster), "--no-mcp"]
    with running(home, *options) as process:
        assert f"http://127.0.0.1:{dagster}" in greeting(process)
        assert process.stdout is not None and process.stdout.readline() == "Dagster is up.\n"
        assert b"dagster_version" in get(f"http://127.0.0.1:{dagster}/server_info")
        process.send_signal(signal.SIGTERM)
        after, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert after == "\nStopping the servers …\n"
    assert is_free("127.0.0.1", rest) and is_free("127.0.0.1", dagster)
    assert not still_there(home)


@pytest.mark.nightly
def test_a_server_that_dies_ends_the_others(home: Path) -> None:
    rest, mcp = free_ports(2)
    options = ["--port", str(rest), "--mcp-port", str(mcp), "--no-dagster"]
    with running(home, *options) as process:
        greeting(process)
        (parent,) = [pid for pid in children_of(process.pid) if str(rest) in command_line(pid)]
        os.kill(parent, signal.SIGKILL)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "sankofa: the REST service exited by itself (signal SIGKILL)" in err
    assert "The others were stopped" in err
    assert f"Its log is {settings_of(home).logs / 'rest.log'}" in err
    assert is_free("127.0.0.1", rest) and is_free("127.0.0.1", mcp)


@pytest.mark.nightly
def test_dagster_listens_on_the_loopback_address_whatever_the_host_is(home: Path) -> None:
    rest, dagster = free_ports(2)
    options = ["--port", str(rest), "--dagster-port", str(dagster), "--no-mcp", "--host", "0.0.0.0"]
    with running(home, *options) as process:
        greeting(process)
        until(lambda: not is_free("127.0.0.1", dagster), process)
        assert addresses_of(rest) == {"0.0.0.0"}
        assert addresses_of(dagster) == {"127.0.0.1"}
        process.kill()
    wait_until(lambda: not still_there(home), 60)


def scraped(url: str) -> str:
    try:
        return get(url).decode()
    except OSError:
        return ""


def addresses_of(port: int) -> set[str]:
    """Return the IPv4 addresses on which a port is listened on, from Linux's table of sockets."""
    table = Path("/proc/net/tcp")
    if not table.exists():
        pytest.skip("left out: the addresses of sockets need /proc")
    found = set()
    for line in table.read_text().splitlines()[1:]:
        words = line.split()
        address, _, number = words[1].partition(":")
        if words[3] == "0A" and int(number, 16) == port:
            found.add(socket.inet_ntoa(struct.pack("<I", int(address, 16))))
    return found


def test_a_port_in_use_is_reported_before_anything_starts(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        status, out, err = run_process(tmp_path / "home", "up", "--port", str(port))
    assert status == 1 and out == ""
    assert f"port {port}, for the REST service, is in use" in err
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize(
    "command",
    ["serve", *(pytest.param(name, marks=pytest.mark.nightly) for name in ("mcp", "metrics"))],
)
def test_a_server_names_the_port_in_use_and_the_option_for_another(
    tmp_path: Path, command: str
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        status, _, err = run_process(tmp_path, command, "--port", str(port))
    assert status == 1 and "Errno" not in err
    assert "is in use" in err
    assert "another port with --port; nothing was started" in err


def test_every_port_in_use_is_named_at_once() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as one,
        socket.create_server(("127.0.0.1", 0)) as two,
    ):
        wanted = {
            "this": Address(*one.getsockname()),
            "that": Address(two.getsockname()[0], two.getsockname()[1], "--that"),
        }
        with pytest.raises(SankofaError, match=r"for this, .* for that, .* with --port, --that"):
            refuse_taken(wanted)
    refuse_taken(wanted)
    with pytest.raises(SankofaError, match="this, that need different ports"):
        refuse_taken(dict.fromkeys(wanted, Address("127.0.0.1", 8321)))


STUBBORN = """
import signal, socket, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
print("I stay", flush=True)
time.sleep(600)
"""
SUPERVISED = """
import sys
from pathlib import Path
from pipelines import supervisor
supervisor._STOP_SECONDS = 0.5
program, logs, *ports = sys.argv[1:]
children = [
    supervisor.Child(
        f"stubborn {port}", [sys.executable, "-c", program, port], "127.0.0.1", int(port), {}, port
    )
    for port in ports
]
kept = supervisor.Logs(Path(logs), 10_000_000, on_stderr=True)
supervisor.supervise(children, lambda names: print(len(names), flush=True), kept)
"""


@contextmanager
def two_stubborn_ones(logs: Path, ports: list[int]) -> Iterator["subprocess.Popen[str]"]:
    """Run two servers that ignore SIGTERM, until both listen."""
    with subprocess.Popen(
        [sys.executable, "-c", SUPERVISED, STUBBORN, str(logs), *map(str, ports)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        while process.stdout.readline() != "2\n":
            assert process.poll() is None, process.communicate()
        yield process


def test_a_process_that_ignores_sigterm_is_killed(tmp_path: Path) -> None:
    ports = free_ports(2)
    with two_stubborn_ones(tmp_path, ports) as process:
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 0 and err.count("I stay") == 2
    assert all(is_free("127.0.0.1", port) for port in ports)


def test_a_server_that_dies_is_named_with_its_log_and_ends_the_others(tmp_path: Path) -> None:
    dies, other = ports = free_ports(2)
    with two_stubborn_ones(tmp_path, ports) as process:
        (server,) = [pid for pid in children_of(process.pid) if str(dies) in command_line(pid)]
        os.kill(server, signal.SIGKILL)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert f"stubborn {dies} exited by itself (signal SIGKILL)" in err
    assert f"The others were stopped. Its log is {tmp_path / str(dies)}" in err
    assert f"stubborn {other}" not in err
    assert all(is_free("127.0.0.1", port) for port in ports)


BROKEN = """
import sys
print("x" * 200_000, "it begins", sep="\\n", flush=True)
sys.exit("no certificate: give one")
"""
LOGGED = """
import sys
from pathlib import Path
from pipelines.supervisor import Child, Logs, supervise
words = [sys.executable, "-c", sys.argv[1]]
child = Child("the broken one", words, "127.0.0.1", None, {}, "broken.log")
supervise([child], print, Logs(Path(sys.argv[2]), 10_000_000, on_stderr=sys.argv[3] == "verbose"))
"""


@pytest.mark.parametrize("mode", ["quiet", "verbose"])
def test_a_server_that_cannot_start_says_why_on_the_terminal_and_where_its_log_is(
    tmp_path: Path, mode: str
) -> None:
    completed = subprocess.run(
        [sys.executable, "-c", LOGGED, BROKEN, str(tmp_path / "logs"), mode],
        capture_output=True,
        text=True,
        check=False,
    )
    log = tmp_path / "logs" / "broken.log"
    assert completed.returncode == 1
    assert (
        "the broken one exited by itself (exit status 1): no certificate: give one. "
        f"The others were stopped. Its log is {log}"
    ) in completed.stderr
    # Once, whether it was passed on or comes with the error.
    assert completed.stderr.count("it begins\n") == 1
    assert log.read_text().endswith("\nit begins\nno certificate: give one\n")


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
