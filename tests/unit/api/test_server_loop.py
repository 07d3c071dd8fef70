"""The server loop: heads and bodies on the wire, turns, and which connections are closed."""

import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from waitress.adjustments import Adjustments
from waitress.parser import HTTPRequestParser

from api.endpoints.response import Pieces
from api.serve import bind
from api.server import waitress_loop
from api.server.waitress_loop import RequestParser, create_waitress, run
from tests.helpers.waiting import wait_until
from warehouse.shared.stop import Stop

Answer = Callable[[dict[str, Any]], tuple[list[tuple[str, str]], Any]]


@contextmanager
def loop(
    answer: Answer, status: str = "200 OK", inline: bool = True, network: str | None = "a"
) -> Iterator[int]:
    """Serve what ``answer`` returns, headers and body, from a thread; yield the port."""

    def app(environ: dict[str, Any], start_response: Any) -> Any:
        headers, body = answer(environ)
        start_response(status, headers)
        return body

    stop = Stop()
    server = create_waitress(app, bind("127.0.0.1", 0), inline, lambda _: network)
    thread = threading.Thread(target=run, args=(server, stop))
    thread.start()
    try:
        yield int(server.effective_port)
    finally:
        stop.set()
        thread.join(30)
        assert not thread.is_alive()


def connect(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=20)


def until_closed(connection: socket.socket) -> bytes:
    received = bytearray()
    while piece := connection.recv(1 << 16):
        received += piece
    return bytes(received)


def exchange(port: int, sent: bytes) -> bytes:
    """Send bytes and read until the server closes."""
    with connect(port) as connection:
        connection.sendall(sent)
        return until_closed(connection)


def request(path: str = "/", *headers: str, method: str = "GET", version: str = "1.1") -> bytes:
    lines = (f"{method} {path} HTTP/{version}", "Host: x", *headers, "", "")
    return "\r\n".join(lines).encode()


CLOSE = "Connection: close"
LAST = request("/", CLOSE)


def names_of(response: bytes) -> list[str]:
    lines = response.partition(b"\r\n\r\n")[0].decode().split("\r\n")[1:]
    return [line.partition(":")[0] for line in lines]


def body_of(response: bytes) -> bytes:
    return response.partition(b"\r\n\r\n")[2]


def chunks_of(body: bytes) -> bytes:
    """Decode a chunked body, which must end with its last chunk."""
    decoded = b""
    while True:
        size, _, body = body.partition(b"\r\n")
        if size == b"0":
            assert body == b"\r\n"
            return decoded
        decoded += body[: int(size, 16)]
        body = body[int(size, 16) + 2 :]


def test_headers_are_sent_as_they_were_named_with_length_and_date() -> None:
    with loop(lambda _: ([("x-One", "1"), ("eTag", '"e"')], [b"body"])) as port:
        response = exchange(port, LAST)
    assert response.startswith(b"HTTP/1.1 200 OK\r\nx-One: 1\r\n")
    assert names_of(response) == ["x-One", "eTag", "Content-Length", "Connection", "Date"]
    assert body_of(response) == b"body"


@pytest.mark.parametrize(
    ("version", "sent", "stays", "header"),
    [
        ("1.1", (), True, None),
        ("1.1", ("Connection: keep-alive",), True, None),
        ("1.1", ("Connection: Close",), False, "close"),
        ("1.1", ("Connection: te, close",), False, "close"),
        ("1.0", (), False, "close"),
        ("1.0", ("Connection: Keep-Alive",), True, "keep-alive"),
    ],
)
def test_a_connection_stays_open_as_http_says(
    version: str, sent: tuple[str, ...], stays: bool, header: str | None
) -> None:
    with loop(lambda _: ([], [b"body"])) as port:
        response = exchange(port, request("/", *sent, version=version) + LAST)
    assert response.count(b"body") == 1 + stays
    named = re.search(rb"Connection: (.*)\r\n", response.partition(b"\r\n\r\n")[0])
    assert (named[1].decode() if named else None) == header


@pytest.mark.parametrize("status", ["204 No Content", "304 Not Modified"])
def test_a_status_without_a_body_has_none_and_keeps_the_connection(status: str) -> None:
    with loop(lambda _: ([("ETag", '"e"')], []), status) as port:
        response = exchange(port, request() + LAST)
    assert response.count(status.encode()) == 2
    assert names_of(response) == ["ETag", "Date"]


def test_head_has_the_headers_of_get_and_no_body() -> None:
    with loop(lambda _: ([("Content-Length", "4")], [b"body"])) as port:
        response = exchange(port, request("/", CLOSE, method="HEAD"))
    assert "Content-Length" in names_of(response) and body_of(response) == b""


@pytest.mark.parametrize("inline", [True, False])
def test_a_stream_is_sent_in_chunks_and_the_connection_stays(inline: bool) -> None:
    with loop(lambda _: ([], iter([b"first,", b"", b"second"])), inline=inline) as port:
        response = exchange(port, request() + LAST)
    one, two = response.split(b"HTTP/1.1 200 OK")[1:]
    assert chunks_of(body_of(one)) == chunks_of(body_of(two)) == b"first,second"


def test_a_stream_to_http_1_0_ends_with_the_connection() -> None:
    with loop(lambda _: ([], iter([b"first,", b"second"]))) as port:
        response = exchange(port, request("/", "Connection: keep-alive", version="1.0") + LAST)
    assert body_of(response) == b"first,second"


@pytest.mark.parametrize(
    "headers",
    [
        [("X-Id", "1\r\nSet-Cookie: a")],
        [("X-Id", "1\nSet-Cookie: a")],
        [("X-Id", "1\rSet-Cookie: a")],
        [("X-Id\r\nSet-Cookie", "a")],
        [("X-Id", "1\n"), ("X-Other", "\r")],
    ],
)
def test_a_line_break_in_a_header_is_an_error_and_never_sent(
    headers: list[tuple[str, str]],
) -> None:
    with loop(lambda _: (headers, [b"body"])) as port:
        response = exchange(port, request())
    assert response.startswith(b"HTTP/1.1 500 ") and b'"code":"internal_error"' in response
    assert b"Cookie" not in response and b"X-Id" not in response


def test_a_length_that_is_not_that_of_the_body_is_an_error() -> None:
    with loop(lambda _: ([("Content-Length", "5")], [b"body"])) as port:
        assert exchange(port, request()).startswith(b"HTTP/1.1 500 ")


def failing() -> Iterator[bytes]:
    yield b"first"
    raise RuntimeError("the store failed")


@pytest.mark.parametrize("inline", [True, False])
@pytest.mark.parametrize(
    ("headers", "body"),
    [([], failing), ([("Content-Length", "9")], lambda: iter([b"first"]))],
)
def test_a_stream_that_fails_is_cut_off_by_the_end_of_the_connection(
    headers: list[tuple[str, str]], body: Callable[[], Iterator[bytes]], inline: bool
) -> None:
    with loop(lambda _: (headers, body()), inline=inline) as port:
        response = exchange(port, request() + request())
    assert response.count(b"HTTP/1.1 ") == 1
    assert b"first" in response and not response.endswith(b"0\r\n\r\n")


@given(
    st.lists(st.binary(max_size=50), min_size=1, max_size=20),
    st.sampled_from([1, 7, 400]),
    st.booleans(),
)
def test_pieces_arrive_as_they_would_joined(
    served_pieces: tuple[int, list[Any]], pieces: list[bytes], times: int, as_views: bool
) -> None:
    port, current = served_pieces
    whole = [memoryview(piece) if as_views else piece for piece in pieces] * times
    current[:] = whole
    response = exchange(port, LAST)
    assert body_of(response) == b"".join(whole)
    assert f"Content-Length: {len(b''.join(whole))}\r\n".encode() in response


@pytest.fixture(scope="module")
def served_pieces() -> Iterator[tuple[int, list[Any]]]:
    current: list[Any] = []
    with loop(lambda _: ([], Pieces(list(current)))) as port:
        yield port, current


def test_what_the_kernel_refuses_of_a_body_is_sent_when_the_client_reads() -> None:
    pieces = [bytes([number]) * 100_000 for number in range(100)]
    with loop(lambda _: ([], Pieces(pieces))) as port, connect(port) as connection:
        connection.sendall(request() + LAST)
        # Long enough for the server to fill the buffers of the kernel.
        time.sleep(0.2)
        received = until_closed(connection)
    assert received.count(b"".join(pieces)) == 2


def endless() -> Iterator[bytes]:
    while True:
        yield b"x" * 1_000


def test_an_endless_answer_leaves_the_loop_to_others() -> None:
    stopped = threading.Event()

    def read_on(connection: socket.socket) -> None:
        while not stopped.is_set():
            connection.recv(1 << 20)

    def answer(environ: dict[str, Any]) -> Any:
        return [], endless() if environ["PATH_INFO"] == "/endless" else [b"body"]

    with loop(answer) as port, connect(port) as connection:
        connection.sendall(request("/endless"))
        reader = threading.Thread(target=read_on, args=(connection,))
        reader.start()
        answers = [body_of(exchange(port, LAST)) for _ in range(20)]
        stopped.set()
        reader.join()
        connection.close()
    assert answers == [b"body"] * 20


def test_requests_sent_in_one_piece_take_turns_with_those_of_others() -> None:
    order: list[str] = []
    several = threading.Event()

    def answer(environ: dict[str, Any]) -> Any:
        order.append(environ["PATH_INFO"])
        # Both connections have sent their requests before the second one runs.
        several.wait(20)
        time.sleep(0.01)
        return [], [b"body"]

    with loop(answer) as port, connect(port) as many, connect(port) as other:
        many.sendall(request("/many") * 20 + request("/many", CLOSE))
        wait_until(lambda: order)
        other.sendall(request("/other", CLOSE))
        several.set()
        until_closed(other)
        position = order.index("/other")
        until_closed(many)
    assert position <= 3 and len(order) == 22


def test_everybody_is_answered_while_requests_wait_and_connections_come() -> None:
    def answer(environ: dict[str, Any]) -> Any:
        # Longer than a turn, so that requests wait.
        time.sleep(0.003)
        return [], [b"body"]

    answers: list[bytes] = []

    def ask(port: int) -> None:
        with connect(port) as kept:
            for _ in range(10):
                kept.sendall(request())
                answers.append(body_of(kept.recv(1000)))
                answers.append(body_of(exchange(port, LAST)))

    with loop(answer) as port:
        clients = [threading.Thread(target=ask, args=(port,)) for _ in range(10)]
        for client in clients:
            client.start()
        for client in clients:
            client.join()
    assert answers == [b"body"] * 200


def test_a_stream_whose_client_left_is_closed() -> None:
    ended = threading.Event()

    def body() -> Iterator[bytes]:
        try:
            yield from endless()
        finally:
            ended.set()

    with loop(lambda _: ([], body())) as port:
        with connect(port) as connection:
            connection.sendall(request())
            connection.recv(100)
        assert ended.wait(20)


def is_open(connection: socket.socket) -> bool:
    connection.setblocking(False)
    try:
        return connection.recv(1) != b""
    except BlockingIOError:
        return True
    except ConnectionError:
        return False


@pytest.mark.parametrize(("network", "limit"), [("a", "MOST_OF_A_NETWORK"), (None, None)])
def test_one_connection_too_many_closes_the_one_that_is_idle_longest(
    network: str | None, limit: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A network has a share; a trusted proxy (None) may have all connections."""
    monkeypatch.setattr(waitress_loop, "MOST_CONNECTIONS", 6)
    monkeypatch.setattr(waitress_loop, "MOST_OF_A_NETWORK", 3)
    most = 3 if limit else 6
    with loop(lambda _: ([], [b"body"]), network=network) as port:
        opened = [connect(port) for _ in range(most)]
        # The first is used again, so that the second is the one that waits longest.
        for connection in opened[0], *opened[2:], opened[0]:
            connection.sendall(request())
            assert connection.recv(1000).endswith(b"body")
        opened += [connect(port)]
        opened[-1].sendall(request())
        assert opened[-1].recv(1000).endswith(b"body")
        wait_until(lambda: not is_open(opened[1]))
        assert [is_open(connection) for connection in opened] == [
            number != 1 for number in range(most + 1)
        ]
        for connection in opened:
            connection.close()


@pytest.mark.parametrize(
    ("limit", "sent"), [("FIRST_BYTE_TIMEOUT", b""), ("REQUEST_TIMEOUT", b"GET / HTTP/1.1\r\n")]
)
def test_a_client_that_sends_no_request_is_disconnected(
    limit: str, sent: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waitress_loop, limit, 0.5)
    with loop(lambda _: ([], [b"body"])) as port, connect(port) as silent, connect(port) as kept:
        kept.sendall(request())
        silent.sendall(sent)
        wait_until(lambda: not is_open(silent))
        assert is_open(kept)


REQUEST_LINES = st.one_of(
    st.sampled_from(
        [
            b"GET /v1/entities/a?b=c%20d HTTP/1.1",
            b"GET / HTTP/1.1",
            b"GET /a?b?c=/ HTTP/1.1",
            b"GET //a/b?c HTTP/1.1",
            b"GET /a#b?c HTTP/1.1",
            b"GET /a?b#c HTTP/1.1",
            b"GET /%2e%2F%zz%C3%A9 HTTP/1.1",
            b"GET /a\tb?c\x0b HTTP/1.1",
            b"GET /\xc3\xa9 HTTP/1.1",
            b"GET http://other/a?b HTTP/1.1",
            b"GET /a HTTP/1.0",
            b"HEAD /a HTTP/1.1",
            b"POST /a HTTP/1.1",
        ]
    ),
    st.binary(max_size=12).map(lambda uri: b"GET /" + uri + b" HTTP/1.1"),
)
HEADER_LINES = st.lists(
    st.sampled_from(
        [
            b"X-API-Key: a",
            b"Accept: b",
            b"Accept: c",
            b"Connection: keep-alive",
            b"Connection: close",
            b"Content-Length: 0",
            b"Content-Length: 3",
            b"Transfer-Encoding: chunked",
            b"Transfer-Encoding: gzip",
            b"Expect: 100-continue",
            b"X-Under_score: d",
            b" folded",
        ]
    ),
    max_size=3,
)
SEEN = (
    *("headers", "command", "version", "path", "query", "fragment", "request_uri", "url_scheme"),
    *("proxy_scheme", "proxy_netloc", "content_length", "chunked", "connection_close"),
    *("expect_continue", "completed", "body_bytes_received"),
)


@given(st.lists(st.tuples(REQUEST_LINES, st.integers(0, 1)), max_size=6), HEADER_LINES)
def test_headers_that_are_not_parsed_again_say_what_they_said_before(
    sent: list[tuple[bytes, int]], lines: list[bytes]
) -> None:
    connection, adjustments = SimpleNamespace(known_lines=b"", known_headers={}), Adjustments()
    for first, variant in sent:
        head = [first, b"Host: here", *(lines if variant else reversed(lines))]
        request = b"\r\n".join(head) + b"\r\n\r\nabc"
        ours, usual = RequestParser(connection, adjustments), HTTPRequestParser(adjustments)  # type: ignore[arg-type]
        assert ours.received(request) == usual.received(request)
        assert type(ours.error) is type(usual.error)
        # Waitress keeps a connection whose request says its length twice; we close it.
        if usual.error is None and not (usual.chunked and "CONTENT_LENGTH" in usual.headers):
            assert [getattr(ours, name) for name in SEEN] == [getattr(usual, name) for name in SEEN]


@given(st.lists(st.sampled_from(["a", "b"]), min_size=2, max_size=12))
def test_requests_sent_in_one_piece_keep_headers_of_their_own(
    echoing: int, sent: list[str]
) -> None:
    """They are all read before the first is answered."""
    requests = [request(f"/{n}?q={n}", f"X-API-Key: {key}") for n, key in enumerate(sent)]
    received = exchange(echoing, b"".join(requests) + LAST)
    assert re.findall(rb"<(.*?)>", received) == [
        *(f"{key} /{n} q={n}".encode() for n, key in enumerate(sent)),
        b"- / ",
    ]


@pytest.fixture(scope="module")
def echoing() -> Iterator[int]:
    def answer(environ: dict[str, Any]) -> Any:
        key = environ.get("HTTP_X_API_KEY", "-")
        return [], [f"<{key} {environ['PATH_INFO']} {environ['QUERY_STRING']}>".encode()]

    with loop(answer) as port:
        yield port
