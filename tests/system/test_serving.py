"""The server as it runs: several processes on one port, and clients of every kind."""

import json
import os
import re
import signal
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import api.server.waitress_loop
from api.middleware import url_finder
from api.server.proxies import client_address, parse_networks
from tests.helpers.processes import is_running
from tests.helpers.rest_service import Served, World, make_world, served, served_here
from tests.helpers.waiting import wait_until
from warehouse.shared.errors import SankofaError

# Servers give up on each other after some seconds, and a shared machine may halt for longer: a
# test that fails is run once more, and the summary names it.
pytestmark = pytest.mark.flaky(reruns=1)

FACTS = "/v1/fundamentals/DCA1"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return make_world(tmp_path_factory, "serving", twice=True)


@pytest.fixture(scope="module")
def server(world: World) -> Iterator[Served]:
    with served(world, "--workers", "2") as running:
        yield running


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="left out: needs Linux")
def test_every_worker_is_pinned_to_its_own_core(server: Served) -> None:
    wait_until(lambda: len(server.children()) == 2)
    wait_until(lambda: all(len(os.sched_getaffinity(child)) == 1 for child in server.children()))
    affinities = [os.sched_getaffinity(child) for child in server.children()]
    cores = os.sched_getaffinity(0)
    assert set.union(*affinities) <= cores
    assert len(set.union(*affinities)) == min(2, len(cores))


def test_a_worker_that_dies_is_replaced_and_all_end_when_the_parent_is_killed(
    world: World,
) -> None:
    with served(world, "--workers", "2") as running:
        wait_until(lambda: len(running.children()) == 2)
        before = running.children()
        os.kill(before[0], signal.SIGKILL)
        wait_until(lambda: len(set(running.children()) - set(before)) == 1)
        assert all(running.get("/health")[0] == 200 for _ in range(20))
        assert before[1] in running.children()
        children = running.children()
        os.kill(running.process.pid, signal.SIGKILL)
        running.process.wait()
        wait_until(lambda: not [child for child in children if is_running(child)])


def test_on_sigterm_it_finishes_running_requests_and_exits_with_0(world: World) -> None:
    with served(world, "--workers", "2") as running:
        children = running.children()
        wrong: list[object] = []
        answered = threading.Event()

        def ask() -> None:
            while True:
                try:
                    status, _, body = running.get(FACTS, world.paid)
                except ConnectionError:
                    return
                if status != 200 or json.loads(body)["count"] == 0:
                    wrong.append((status, body))
                answered.set()

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        assert answered.wait(30)
        os.kill(running.process.pid, signal.SIGTERM)
        assert running.process.wait(30) == 0
        for thread in threads:
            thread.join()
        assert wrong == []
        assert not [child for child in children if is_running(child)]


def test_a_new_build_is_switched_to_between_two_requests(server: Served, world: World) -> None:
    """Every answer is whole, from a build that was current, and never from an older one again."""
    first, second = world.builds.names()
    world.builds.switch(first)
    seen: list[tuple[str, int]] = []
    wrong: list[object] = []
    stop = threading.Event()

    def ask() -> None:
        newest = ""
        while not stop.is_set():
            status, headers, body = server.get("/v1/tenders?limit=1000", world.paid)
            answer = json.loads(body)
            version = answer["data_version"]
            if status != 200 or version != headers["X-Data-Version"] or version < newest:
                wrong.append((status, version, newest))
            newest = version
            seen.append((version, answer["count"]))
            # Paced: the key has a limit per minute.
            time.sleep(0.02)

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    wait_until(lambda: len(seen) > 20)
    world.builds.switch(second)
    wait_until(lambda: seen[-1][0] == second)
    stop.set()
    for thread in threads:
        thread.join()
    assert wrong == []
    counts = {version: {count for v, count in seen if v == version} for version, _ in seen}
    assert all(len(count) == 1 for count in counts.values()) and counts.keys() == {first, second}
    assert counts[first] != counts[second]


def raw(port: int, sent: bytes) -> bytes:
    """Send bytes as they are and read until the server closes."""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        connection.sendall(sent)
        received = b""
        while piece := connection.recv(65536):
            received += piece
        return received


@pytest.mark.parametrize(
    ("sent", "status", "code"),
    [
        (b"GET / HTTP/1.1\r\nA: " + b"x" * 40_000 + b"\r\n\r\n", 431, "headers_too_large"),
        (b"GET / HTTP/1.1\r\nBad Header\r\n\r\n", 400, "request_refused"),
        (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n\r\n", 413, "body_too_large"),
        (b"get\r\n\r\n", 400, "request_refused"),
    ],
)
def test_requests_refused_by_the_server_itself_get_a_problem_too(
    server: Served, sent: bytes, status: int, code: str
) -> None:
    head, _, body = raw(server.port, sent).partition(b"\r\n\r\n")
    problem = json.loads(body)
    assert head.split()[1] == str(status).encode()
    assert (problem["status"], problem["code"]) == (status, code)
    lines = head.decode().lower().splitlines()
    assert "content-type: application/problem+json" in lines
    assert f"x-request-id: {problem['instance']}" in lines
    assert any(line.startswith("x-service-api-version: ") for line in lines)
    wait_until(lambda: problem["instance"] in server.log.read_text())


def test_an_address_that_is_too_long_is_414(server: Served, world: World) -> None:
    status, _, body = server.get(f"/v1/tenders?cursor={'a' * 9000}", world.paid)
    assert (status, json.loads(body)["code"]) == (414, "uri_too_long")


def test_a_client_that_sends_its_request_byte_by_byte_is_disconnected(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api.server.waitress_loop, "REQUEST_TIMEOUT", 0.5)
    with (
        served_here(world) as server,
        socket.create_connection(("127.0.0.1", server.port), timeout=30) as slow,
    ):
        slow.sendall(b"GET /health HTTP/1.1\r\n")

        def closed() -> bool:
            try:
                slow.sendall(b"X")
            except ConnectionError:
                return True
            return False

        wait_until(closed)
        assert raw(server.port, b"GET /health HTTP/1.0\r\n\r\n").startswith(b"HTTP/1.0 200")


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="left out: needs Linux")
def test_a_client_that_does_not_read_its_response_is_disconnected(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api.server.waitress_loop, "RESPONSE_TIMEOUT", 0.5)
    with served_here(world) as server:
        with socket.socket() as slow:
            slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            slow.connect(("127.0.0.1", server.port))
            slow.sendall(b"GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n" * 200)
            wait_until(lambda: _is_closed(slow))
        assert raw(server.port, b"GET /health HTTP/1.0\r\n\r\n").startswith(b"HTTP/1.0 200")


def _is_closed(connection: socket.socket) -> bool:
    """Return whether the server closed the connection, without reading from it."""
    with Path("/proc/net/tcp").open() as lines:
        address, port = connection.getsockname()
        mine = f"{int.from_bytes(socket.inet_aton(address), 'little'):08X}:{port:04X}"
        states = [line.split()[3] for line in lines if line.split()[1] == mine]
    return states != ["01"]


def test_a_connection_answers_many_requests(server: Served) -> None:
    sent = b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n" * 20
    last = b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    assert raw(server.port, sent + last).count(b'{"status":"ok"}') == 21


@pytest.mark.parametrize(
    ("nearest", "chain", "expected"),
    [
        ("10.0.0.1", "203.0.113.9", "203.0.113.9"),
        ("10.0.0.1", "1.2.3.4, 203.0.113.9", "203.0.113.9"),
        ("10.0.0.1", "203.0.113.9, 10.0.0.2", "203.0.113.9"),
        ("10.0.0.1", "2001:db8::7", "2001:db8::7"),
        ("10.0.0.1", "203.0.113.9:5555", "203.0.113.9"),
        ("10.0.0.1", "203.0.113.9:5555, 10.0.0.2:443", "203.0.113.9"),
        ("10.0.0.1", "[2001:db8::7]:443", "2001:db8::7"),
        ("10.0.0.1", "[2001:db8::7]", "2001:db8::7"),
        ("10.0.0.1", "nonsense:5555", "10.0.0.1"),
        ("10.0.0.1", "", "10.0.0.1"),
        ("10.0.0.1", "nonsense", "10.0.0.1"),
        ("10.0.0.1", "203.0.113.9, nonsense", "10.0.0.1"),
        ("10.0.0.1", "10.0.0.3, 10.0.0.2", "10.0.0.3"),
    ],
)
def test_the_client_is_the_last_address_that_is_no_proxy_of_ours(
    nearest: str, chain: str, expected: str
) -> None:
    assert client_address(nearest, chain, parse_networks(["10.0.0.0/8"])) == expected


def test_a_forwarded_host_is_believed_of_a_trusted_proxy_only(world: World) -> None:
    bases = ("https://a.example", "https://b.example")
    get_request = b"GET /llms.txt HTTP/1.0\r\nX-Forwarded-Host: b.example\r\n\r\n"
    for trusted, base in ((("127.0.0.0/8",), "b"), ((), "a")):
        with served_here(world, base_urls=bases, proxies=trusted) as server:
            assert f"(https://{base}.example/docs)" in raw(server.port, get_request).decode()


def test_meaningless_settings_are_refused_with_a_sentence(world: World) -> None:
    with pytest.raises(SankofaError, match="trusted proxy"):
        parse_networks(["10.0.0.0/99"])
    with pytest.raises(SankofaError, match="https://host"):
        url_finder(["api.example"])
    with (
        pytest.raises(AssertionError, match="cannot serve: 'nonsense' is not a base URL"),
        served(world, "--base-url", "nonsense"),
    ):
        pass


def send_at_once(port: int, sent: bytes, rest: float = 0.0) -> bytes:
    """Send several requests in one piece; read slowly, by a small window, to the end."""
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        connection.settimeout(30)
        connection.connect(("127.0.0.1", port))
        sender = threading.Thread(target=connection.sendall, args=(sent,))
        sender.start()
        received = b""
        while piece := connection.recv(1 << 16):
            received += piece
            # A client that reads slowly is what is tested.
            time.sleep(rest)
        sender.join()
    return received


def test_requests_sent_in_one_piece_are_answered_in_their_order(server: Served) -> None:
    form = "GET /health HTTP/1.1\r\nHost: x\r\nX-Request-Id: n{}\r\n{}\r\n"
    sent = "".join(form.format(n, "Connection: close\r\n" if n == 39 else "") for n in range(40))

    received = send_at_once(server.port, sent.encode())

    request_ids = [
        line.split(": ")[1]
        for line in received.decode().split("\r\n")
        if line.lower().startswith("x-request-id:")
    ]
    assert request_ids == [f"n{number}" for number in range(40)]


def test_a_slow_reader_gets_every_byte_of_what_it_asked_for(server: Served, world: World) -> None:
    body = server.get(FACTS, world.paid)[2]
    form = "GET {} HTTP/1.1\r\nHost: x\r\nX-API-Key: {}\r\n{}\r\n"
    last = "Connection: close\r\n"
    sent = "".join(form.format(FACTS, world.paid, last if n == 29 else "") for n in range(30))

    received = send_at_once(server.port, sent.encode(), rest=0.002)

    assert received.count(b"HTTP/1.1 200 OK\r\n") == 30
    assert received.count(body) == 30


def test_a_body_is_never_taken_for_a_request_however_often_its_headers_come(
    server: Served,
) -> None:
    inner = "GET /health HTTP/1.1\r\nHost: x\r\n\r\n"
    head = "POST /health HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    sized = f"POST /health HTTP/1.1\r\nHost: x\r\nContent-Length: {len(inner)}\r\n\r\n{inner}"
    chunked = f"{head}{len(inner):x}\r\n{inner}\r\n0\r\n\r\n"
    last = "GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"

    received = send_at_once(server.port, (chunked * 3 + sized * 3 + last).encode())

    assert re.findall(rb"HTTP/1.1 (\d+) ", received) == [b"405"] * 6 + [b"200"]


def test_a_request_with_a_length_and_chunks_is_the_last_of_its_connection(server: Served) -> None:
    both = "POST /health HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n"
    behind = "GET /health HTTP/1.1\r\nHost: x\r\n\r\n"

    received = send_at_once(server.port, f"{both}\r\n0\r\n\r\n{behind}".encode())

    assert re.findall(rb"HTTP/1.1 (\d+) ", received) == [b"405"]


@pytest.mark.parametrize(
    "hosts", ["", "Host: x\r\nHost: x\r\n", "Host: x\r\nHost: y\r\n", "host: x\r\nHOST: y\r\n"]
)
def test_a_request_without_exactly_one_host_is_refused(server: Served, hosts: str) -> None:
    received = send_at_once(server.port, f"GET /health HTTP/1.1\r\n{hosts}\r\n".encode())

    assert received.startswith(b"HTTP/1.1 400 ") and b"Host is " in received


def test_a_chunk_larger_than_any_body_is_refused_without_waiting_for_it(server: Served) -> None:
    head = "POST /health HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"

    received = send_at_once(server.port, f"{head}{2**72:x}\r\n".encode())

    assert received.startswith(b"HTTP/1.1 413 ")
