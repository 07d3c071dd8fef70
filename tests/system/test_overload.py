"""A server that many connections try to occupy still answers everybody else."""

import resource
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.helpers.rest_service import Served, World, make_world, served
from warehouse.control.keys import KeyStore, create_key

# Loopback addresses that are networks of their own to the server.
pytestmark = pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="left out: needs Linux")

FACTS = "/v1/fundamentals/DCA1?vintages=all&format=csv"
SECONDS = 4.0


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return make_world(tmp_path_factory, "overload")


@pytest.fixture
def server(world: World) -> Iterator[Served]:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with served(world) as running:
        yield running


def connect(server: Served, network: int) -> socket.socket:
    """Connect from an address of a network."""
    source = (f"127.1.{network}.1", 0)
    return socket.create_connection(("127.0.0.1", server.port), 20, source_address=source)


def health(server: Served) -> bytes:
    with connect(server, 0) as connection:
        connection.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        return b"".join(iter(lambda: connection.recv(4096), b""))


def check_health(server: Served, seconds: float = SECONDS) -> None:
    """Ask for some seconds; every answer must come. The worst time is printed."""
    waits, until = [0.0], time.monotonic() + seconds
    while time.monotonic() < until:
        sent_at = time.monotonic()
        assert health(server).startswith(b"HTTP/1.1 200 ")
        waits.append(time.monotonic() - sent_at)
        time.sleep(0.02)
    print(f"{len(waits) - 1} answers of /health, the slowest after {max(waits) * 1000:.0f} ms")


@contextmanager
def meanwhile(*work: threading.Thread) -> Iterator[None]:
    for thread in work:
        thread.start()
    try:
        yield
    finally:
        for thread in work:
            thread.join(60)


@pytest.mark.parametrize("networks", [1, 12])
def test_3_000_silent_connections_take_no_place_from_others(server: Served, networks: int) -> None:
    """Of one network, or of so many that all connections of the process are taken."""
    with ExitStack() as opened:

        def open_all() -> None:
            for number in range(3_000):
                opened.enter_context(connect(server, 1 + number % networks))

        with meanwhile(threading.Thread(target=open_all)):
            check_health(server)
        check_health(server, 1)


def test_900_clients_that_send_their_headers_slowly_delay_no_others(server: Served) -> None:
    stopped = threading.Event()
    with ExitStack() as opened:
        connections = [opened.enter_context(connect(server, 1 + n % 4)) for n in range(900)]

        def trickle() -> None:
            for connection in connections:
                connection.sendall(b"GET /health HTTP/1.1\r\nX-Header: ")
            while not stopped.wait(0.1):
                for connection in connections:
                    try:
                        connection.sendall(b"x")
                    except ConnectionError:
                        # Its share of connections was taken by newer ones.
                        continue

        with meanwhile(threading.Thread(target=trickle)):
            check_health(server)
            stopped.set()


def test_15_keys_with_40_csvs_each_sent_at_once_delay_no_others(
    server: Served, world: World
) -> None:
    store, whole = KeyStore(world.keys), server.get(FACTS, world.paid)[2]
    received: list[bytes] = []

    def ask(key: str) -> None:
        one = f"GET {FACTS} HTTP/1.1\r\nHost: x\r\nX-API-Key: {key}\r\n"
        with connect(server, 2) as connection:
            connection.sendall(
                f"{one}\r\n".encode() * 39 + f"{one}Connection: close\r\n\r\n".encode()
            )
            received.append(b"".join(iter(lambda: connection.recv(1 << 16), b"")))

    keys = [create_key(store, "professional") for _ in range(15)]
    with meanwhile(*(threading.Thread(target=ask, args=(key,)) for key in keys)):
        check_health(server)
    assert [answers.count(b"HTTP/1.1 200 ") for answers in received] == [40] * 15
    assert all(answers.count(whole) == 40 for answers in received)
