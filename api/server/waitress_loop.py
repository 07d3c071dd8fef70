"""Waitress with requests run in its main loop: everything here relies on its internals.

Nothing else in the service does. ``setup.cfg`` bounds the version of waitress, and
``tests/unit/api/test_waitress_internals.py`` fails if a later one changes what is used here. Each
override is here for a reason that waitress offers no setting for:

- Requests run in the main loop (``InlineDispatcher``): threads would only compete for the
  interpreter, since no request waits for anything but local files. They take turns, and so do the
  pieces of a stream: no connection can occupy the loop.
- Heads are written as the app names its headers, and sent with the body without copying it
  (``ResponseTask``, ``Channel.write_pieces``).
- A client that sends or reads too slowly is disconnected (``Channel.is_stalled``); so is the one
  idle longest if there are too many (``_close_one_of``).
- A turn looks at the connections that have something to do, not at all of them (``_turn``).
- A request that waitress cannot parse is answered with a problem (``RefusalTask``), and what RFC
  9112 forbids is refused (``RequestParser``).
- The headers of a connection are parsed once if they stay the same (``RequestParser``), and so are
  the variables made of them (``ResponseTask.get_environment``).

docs/benchmarks.md, "Serving", has what the first two are worth.
"""

import contextlib
import errno
import re
import socket
import struct
import sys
import time
from collections import OrderedDict
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from functools import lru_cache, partial
from heapq import heappop, heappush
from itertools import chain, count
from selectors import EVENT_READ, EVENT_WRITE, DefaultSelector
from typing import Any
from uuid import uuid4
from weakref import WeakValueDictionary

from waitress.channel import HTTPChannel
from waitress.parser import HTTPRequestParser, ParsingError, unquote_bytes_to_wsgi
from waitress.server import create_server
from waitress.task import ThreadedTaskDispatcher, WSGITask
from waitress.utilities import RequestEntityTooLarge, build_http_date

from api.server.proxies import Wsgi, log_refusal
from warehouse.contract import API_VERSION
from warehouse.contract.problems import Problem, problem_members
from warehouse.shared.json_encoding import encode
from warehouse.shared.server_log import flush_log
from warehouse.shared.stop import Stop

_THREADS = 4
_LONGEST_HEADERS = 32_768
_LONGEST_BODY = 65_536
# Connections of a process, and those of them that one network may have.
MOST_CONNECTIONS = 2_000
MOST_OF_A_NETWORK = MOST_CONNECTIONS // 4
_SHUTDOWN_SECONDS = 10.0
_HIGH_WATERMARK = 16 << 20
# Seconds from a connection to its first byte, and between two requests.
FIRST_BYTE_TIMEOUT = 10.0
_IDLE_SECONDS = 75.0
# Seconds in which a request must arrive completely, and in which a response must progress.
REQUEST_TIMEOUT = 20.0
RESPONSE_TIMEOUT = 30.0
# A client that reads fewer bytes a second only blocks the connection.
_SLOWEST_BYTES_PER_SECOND = 512
# At most this many reads of leftovers before a connection is closed.
_LAST_READS = 16
# Bytes of responses that may wait for the client before its next request or piece is run.
_MOST_UNREAD_BYTES = 1 << 16
# Bytes of a file that a connection may send in one turn of the loop.
_MOST_BYTES_A_TURN = 1 << 20
# Seconds of requests between two looks at the connections, and connections accepted in one.
_TURN_SECONDS = 0.002
_MOST_ACCEPTED = 64
# Byte strings that one system call sends (IOV_MAX of Linux is 1,024).
_MOST_PIECES = 1_000
# Bytes of a piece below which it is cheaper to join than to name each to the kernel (measured).
_SMALL_PIECE = 2_048
# l_onoff and l_linger of SO_LINGER: close at once and reset the connection.
_LINGER_NOT = struct.pack("ii", 1, 0)
# A request without what urlsplit may change or refuse: printable ASCII, no fragment, no host.
_SIMPLE_LINE = re.compile(rb'GET ((?!//)(/[!"$->@-~]*)(?:\?([!"$-~]*))?) HTTP/1\.1')
_KEEP_ALIVE = "keep-alive"
_LENGTH_OF_NAME = len("content-length")
_CODES = {413: "body_too_large", 431: "headers_too_large", 500: "internal_error"}
# Of whole seconds: one is written for all responses of a second.
_http_date = lru_cache(1)(build_http_date)


class RequestParser(HTTPRequestParser):
    """Refuses what RFC 9112 lets a proxy and a server understand in different ways.

    Most clients send the same headers with every request of a connection. If the line above them is
    simple too, they are not parsed again, which would take a tenth of the time of a small answer.
    """

    headers: dict[str, str]
    # Whether its headers are those of the request before, and it has no body.
    is_simple = False

    def __init__(self, channel: "Channel", adjustments: Any) -> None:
        super().__init__(adjustments)
        self._channel = channel

    def received(self, data: bytes) -> int:
        """Parse what arrived; refuse a chunk that announces more than a body may have."""
        consumed = int(super().received(data))
        remaining = getattr(self.body_rcv, "chunk_remainder", 0)
        if not self.completed and remaining > self.adj.max_request_body_size:
            self.error = RequestEntityTooLarge(f"a chunk announces {remaining:.3g} bytes")
            self.completed = True
        return consumed

    def parse_header(self, header_plus: bytes) -> None:
        """Parse the head of a request."""
        line, _, lines = header_plus.partition(b"\r\n")
        simple = _SIMPLE_LINE.fullmatch(line)
        if simple is not None and lines == self._channel.known_lines:
            self._take_simple(*simple.groups(b""))
            return
        super().parse_header(header_plus)
        # Waitress joins repeated headers with a comma, which no host can contain.
        headers = self.headers
        host = headers.get("HOST")
        if self.version == "1.1" and host is None:
            raise ParsingError("Host is missing")
        if host is not None and "," in host:
            raise ParsingError("Host is sent more than once")
        # Section 6.3: whoever sent both may have smuggled a request behind this one.
        if self.chunked and "CONTENT_LENGTH" in headers:
            headers["CONNECTION"] = "close"
        stays = headers.get("CONNECTION", _KEEP_ALIVE).lower() == _KEEP_ALIVE
        if simple is not None and stays and self.body_rcv is None and not self.expect_continue:
            self._channel.known_lines, self._channel.known_headers = lines, headers

    def _take_simple(self, uri: bytes, path: bytes, query: bytes) -> None:
        """Set what waitress sets of a request without a body, with headers that are known."""
        self.headers, self.is_simple = self._channel.known_headers, True
        self.command, self.version, self.request_uri = "GET", "1.1", uri.decode()  # type: ignore[assignment]
        self.path, self.query = unquote_bytes_to_wsgi(path), query.decode()
        self.proxy_scheme = self.proxy_netloc = self.fragment = ""
        self.url_scheme = self.adj.url_scheme


class InlineDispatcher(ThreadedTaskDispatcher):
    """Runs requests in the main loop, a step at a time: a request, or a piece of a stream.

    For a service whose stores are local files: no request waits for anything, so that threads
    would only compete for the interpreter. A connection is charged for the time of its steps, and
    whoever used least of the loop is next (start-time fair queueing). Being idle earns nothing.
    """

    def __init__(self) -> None:
        super().__init__()
        self.waiting: list[tuple[float, int, Any]] = []
        self._numbers, self._clock, self._running = count(), 0.0, None

    def add_task(self, channel: Any) -> None:
        """Let a connection wait for its turn, once however often it is added."""
        if not channel.waits:
            channel.waits = True
            # The one that is running waits again when it has been charged.
            if channel is not self._running:
                self._push(channel)

    def _push(self, channel: Any) -> None:
        start = max(channel.charged, self._clock)
        heappush(self.waiting, (start, next(self._numbers), channel))

    def run_steps(self) -> Iterator[Any]:
        """Run steps for a moment; yield the connections."""
        now = time.perf_counter()
        until = now + _TURN_SECONDS
        while self.waiting and now < until:
            self._clock, _, channel = heappop(self.waiting)
            self._running, channel.waits = channel, False
            channel.service()
            began, now = now, time.perf_counter()
            self._running, channel.charged = None, self._clock + now - began
            if channel.waits:
                self._push(channel)
            yield channel


class ResponseTask(WSGITask):
    """Sends a complete body with its head in one step, and a stream piece by piece."""

    def __init__(self, channel: Any, request: Any) -> None:
        super().__init__(channel, request)
        self._closes = False
        self.steps = self._send(channel)

    def service(self) -> None:
        """Take the next step; all of them if the connection takes no turns."""
        channel: Any = self.channel
        for _ in self.steps:
            if channel.suspend(self):
                return
        self.close_on_finish = self._closes

    def get_environment(self) -> dict[str, Any]:
        """Return the variables of the request; those of its headers are made once a connection."""
        channel: Any = self.channel
        request: Any = self.request
        if not request.is_simple:
            return super().get_environment()
        # Of these headers: several requests are read before the first of them is answered.
        headers, known = channel.known_variables
        if headers is not request.headers:
            known = super().get_environment()
            channel.known_variables = request.headers, known
        variables: dict[str, Any] = known.copy()
        variables["PATH_INFO"], variables["QUERY_STRING"] = request.path, request.query
        variables["REQUEST_URI"] = request.request_uri
        variables["wsgi.input"] = request.get_body_stream()
        return variables

    def answer(self) -> Iterable[bytes | memoryview]:
        """Return the body that the app answers with."""
        server: Any = self.channel.server
        body: Iterable[bytes] = server.application(self.get_environment(), self.start_response)
        return body

    def start_response(self, status: str, headers: list[tuple[str, str]]) -> None:
        """Note status and headers. Falcon calls it once, and writes no body by it (PEP 3333)."""
        self.status, self.response_headers = status, headers
        self.content_length = None
        for name, text in headers:
            # Most names are another number of letters.
            if len(name) == _LENGTH_OF_NAME and name.lower() == "content-length":
                self.content_length = int(text)

    def _send(self, channel: Any) -> Generator[None, None, None]:
        body = self.answer()
        if isinstance(body, list):
            # Its items, not what it yields to other servers: see ``Pieces``.
            pieces = body[:]
            channel.write_pieces(self._with_head(pieces, sum(map(len, pieces))))
            return
        try:
            yield from self._stream(channel, iter(body))
        finally:
            if hasattr(body, "close"):
                body.close()

    def _stream(self, channel: Any, pieces: Iterator[bytes | memoryview]) -> Iterator[None]:
        # The head waits for the first piece: if that cannot be read, the answer is an error.
        first, left = next(pieces, b""), self.content_length
        channel.write_pieces(self._with_head([]))
        for piece in filter(None, chain((first,), pieces)):
            if left is not None and (left := left - len(piece)) < 0:
                raise RuntimeError("the body is longer than its Content-Length")
            chunk = (b"%x\r\n" % len(piece), piece, b"\r\n")
            channel.write_pieces(chunk if self.chunked_response else (piece,))
            yield
        if self.chunked_response:
            channel.write_pieces((b"0\r\n\r\n",))
        # Whoever waits for the bytes that are missing is told by the end of the connection.
        self._closes = self._closes or bool(left)

    def _with_head(
        self, body: list[bytes | memoryview], size: int | None = None
    ) -> list[bytes | memoryview]:
        """Return head and body; ``size`` is that of the body if it is known.

        Headers are written as they were named: to capitalise each costs 2 µs.
        """
        request: Any = self.request
        stated = self.content_length
        lines = [f"HTTP/{self.version} {self.status}"]
        lines += [f"{name}: {text}" for name, text in self.response_headers]
        if not self.has_body or getattr(request, "command", "") == "HEAD":
            body = []
        elif stated is None and size is not None:
            lines.append(f"Content-Length: {size}")
        elif stated is None and self.version == "1.1":
            self.chunked_response = True
            lines.append("Transfer-Encoding: chunked")
        elif stated is None:
            self._closes = True
        elif size is not None and size != stated:
            raise RuntimeError(f"the body has {size} bytes, its Content-Length is {stated}")
        connection = request.headers.get("CONNECTION", "").lower()
        if "close" in connection or (self.version == "1.0" and _KEEP_ALIVE not in connection):
            self._closes = True
        if self._closes:
            lines.append("Connection: close")
        elif self.version == "1.0":
            lines.append("Connection: keep-alive")
        lines.append(f"Date: {_http_date(int(time.time()))}")
        head = "\r\n".join(lines)
        # A value with a line break could add headers, or a response.
        if not head.count("\r") == head.count("\n") == len(lines) - 1:
            raise ValueError("a header contains a line break")
        self.wrote_header = True
        # WSGI text is latin-1 (PEP 3333).
        return [f"{head}\r\n\r\n".encode("latin-1"), *body]


class RefusalTask(ResponseTask):
    """Answers a request that waitress refuses with a problem, like every other error."""

    def answer(self) -> Iterable[bytes | memoryview]:
        """Return the problem, after which the connection is closed."""
        request: Any = self.request
        code = _CODES.get(request.error.code, "request_refused")
        reason = "" if code == "internal_error" else "The request cannot be parsed: "
        problem, request_id = Problem(code, f"{reason}{request.error.body}."), uuid4().hex
        body = encode(problem_members(problem, request_id, ""))
        self.status = f"{problem.kind.status} {problem.kind.title}"
        self.response_headers = [
            ("Content-Type", "application/problem+json"),
            ("Cache-Control", "no-store"),
            ("Access-Control-Allow-Origin", "*"),
            ("X-Service-API-Version", API_VERSION),
            ("X-Request-Id", request_id),
        ]
        self._closes = True
        log_refusal(self.channel.addr[0], problem.kind.status, len(body), request_id)
        return [body]


class Channel(HTTPChannel):
    """A connection that measures how fast its client sends and reads."""

    error_task_class: Any = RefusalTask
    server: Any
    requests: Any
    _fileno: Any
    # What the loop waits for: EVENT_READ or EVENT_WRITE.
    watched = 0
    waits, charged = False, 0.0
    _suspended: ResponseTask | None = None
    # The header lines of a simple request, and what they say.
    known_lines, known_headers = b"", dict[str, str]()
    # The headers of such a request that was answered, and its variables.
    known_variables: tuple[dict[str, str] | None, dict[str, Any]] = (None, {})

    def __init__(self, server: Any, sock: Any, addr: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(server, sock, addr, *args, **kwargs)
        self.parser_class: Any = partial(RequestParser, self)
        self._since, self._patience = time.monotonic(), FIRST_BYTE_TIMEOUT
        self._bytes_sent, self._measured_since = 0, self._since
        self._bytes_left = _MOST_BYTES_A_TURN
        network = server.network_of(addr[0])
        self._neighbours = server.neighbours.setdefault(network, OrderedDict())
        self._neighbours[self._fileno] = self
        if network is not None and len(self._neighbours) > MOST_OF_A_NETWORK:
            _close_one_of(self._neighbours)
        elif len(server.active_channels) > MOST_CONNECTIONS:
            _close_one_of(server.active_channels)

    def del_channel(self, map: Any = None) -> None:
        """Forget the connection."""
        self.unwatch()
        self._neighbours.pop(self._fileno, None)
        super().del_channel(map)

    def unwatch(self) -> None:
        """Let the loop wait for nothing of this connection."""
        if self.watched:
            self.watched = 0
            self.server.selector.unregister(self._fileno)

    def watch(self) -> None:
        """Let the loop wait for what the connection waits for: bytes, or room for them."""
        events = (EVENT_READ if self.readable() else 0) | (EVENT_WRITE if self.writable() else 0)
        # Before it has been answered usually nothing arrives: see ``_exchange``.
        is_answered_next = not events and self.watched == EVENT_READ
        if events == self.watched or is_answered_next or self.socket is None:
            return
        selector, self.watched, before = self.server.selector, events, self.watched
        if not events:
            selector.unregister(self._fileno)
        elif before:
            selector.modify(self._fileno, events, self)
        else:
            selector.register(self._fileno, events, self)

    def received(self, data: bytes) -> bool:
        """Note when a request begins to arrive."""
        if self.request is None:
            self._since, self._patience = time.monotonic(), _IDLE_SECONDS
            self.server.active_channels.move_to_end(self._fileno)
            self._neighbours.move_to_end(self._fileno)
        return bool(super().received(data))

    def service(self) -> None:
        """Run a request, or a step of it; in the loop, not if too much of the last is unread."""
        inline, unread = self.server.inline, self.total_outbufs_len
        if not inline or (self.connected and unread < _MOST_UNREAD_BYTES):
            super().service()
            self._since = time.monotonic()

    def task_class(self, channel: Any, request: Any) -> ResponseTask:  # type: ignore[override]
        """Return the task of a request: the suspended one if there is one."""
        task, self._suspended = self._suspended, None
        return task or ResponseTask(channel, request)

    def suspend(self, task: ResponseTask) -> bool:
        """Return whether a task is continued in a later turn; in a thread it is not."""
        # Without a client the next write ends it.
        suspended = bool(self.server.inline and self.connected)
        if suspended:
            self._suspended = task
            # It stays the first request, with which waitress continues.
            self.requests.insert(0, task.request)
        return suspended

    def handle_write(self) -> None:
        """Send what is buffered, but leave time for others; then run what waited for it."""
        self._bytes_left = _MOST_BYTES_A_TURN
        super().handle_write()
        if self.server.inline and self.connected and self.requests:
            self.server.add_task(self)

    def write_pieces(self, pieces: Sequence[bytes | memoryview]) -> None:
        """Send byte strings, large ones without joining; buffer only what the kernel refuses."""
        with self.outbuf_lock:
            sent, size = 0, sum(map(len, pieces))
            if len(pieces) > min(_MOST_PIECES, size // _SMALL_PIECE):
                pieces = [b"".join(pieces)]
            # Only if nothing is waiting to be sent: bytes must not overtake each other. An error is
            # left to the loop, which sees it again when it sends the rest.
            if self.connected and self.socket is not None and not self.total_outbufs_len:
                with contextlib.suppress(OSError):
                    sent = self.socket.sendmsg(pieces)
                self._bytes_sent += sent
            if sent < size:
                self.write_soon(b"".join(pieces)[sent:])

    def send(self, data: bytes, do_close: bool = True) -> int:
        """Count the bytes that the client takes; take a pause after many."""
        sent = int(super().send(data, do_close)) if self._bytes_left > 0 else 0
        self._bytes_sent += sent
        self._bytes_left -= sent
        return sent

    def handle_close(self) -> None:
        """Read what still arrived: unread bytes make the kernel drop our last response."""
        task, self._suspended = self._suspended, None
        if task is not None:
            task.steps.close()
        with contextlib.suppress(OSError):
            for _ in range(_LAST_READS):
                if self.socket is None or not self.socket.recv(self.adj.recv_bytes):
                    break
        super().handle_close()

    def is_stalled(self, now: float) -> bool:
        """Return whether the client sends its request or reads its response far too slowly."""
        if not self.total_outbufs_len:
            self._bytes_sent, self._measured_since = 0, now
            limit = self._patience if self.request is None else REQUEST_TIMEOUT
            return not self.requests and now - self._since > limit
        self._since = now
        # Progress is measured over a whole interval: a client may pause, but not stop.
        if now - self._measured_since < RESPONSE_TIMEOUT:
            return False
        too_slow = self._bytes_sent < _SLOWEST_BYTES_PER_SECOND * RESPONSE_TIMEOUT
        self._bytes_sent, self._measured_since = 0, now
        return too_slow


def create_waitress(
    app: Wsgi, listening: socket.socket, inline: bool, network_of: Callable[[str], str | None]
) -> Any:
    """Return a waitress server; ``inline`` runs requests in its main loop, without threads.

    ``network_of`` returns the network that an address counts for; None if it has no share.
    """
    server: Any = create_server(
        app,
        _dispatcher=InlineDispatcher() if inline else None,
        sockets=[listening],
        threads=_THREADS,
        # The main loop must not wait for itself; ``Channel.service`` bounds the buffer.
        outbuf_high_watermark=sys.maxsize if inline else _HIGH_WATERMARK,
        # No Server header: it would only name a version to attack.
        ident=None,
        max_request_header_size=_LONGEST_HEADERS,
        max_request_body_size=_LONGEST_BODY,
        # ``trust_proxies`` does it: waitress knows one trusted proxy, not networks.
        clear_untrusted_proxy_headers=False,
    )
    server.network_of = network_of
    # In the order of their last requests: all, and those of each network.
    server.active_channels, server.neighbours = OrderedDict(), WeakValueDictionary()
    server.selector = DefaultSelector()
    server.selector.register(server.socket, EVENT_READ, server)
    server.channel_class, server.inline = Channel, inline
    if inline:
        # The trigger wakes the loop for a thread; there is none.
        server.pull_trigger = lambda: None
    else:
        server.selector.register(server.trigger.socket, EVENT_READ, server.trigger)
    return server


def run(server: Any, stop: Stop) -> None:
    """Serve until ``stop`` is set, then accept no more and finish the requests under way."""
    last_check = time.monotonic()
    while not stop.is_set():
        _turn(server, 0.2)
        if (now := time.monotonic()) - last_check > 1:
            last_check = now
            close_stalled(server, now)
    # Leave the listening socket first, so that another worker takes what arrives from now on.
    server.accepting = False
    server.selector.unregister(server.socket)
    server.del_channel()
    server.socket.close()
    deadline = time.monotonic() + _SHUTDOWN_SECONDS
    while time.monotonic() < deadline and any(map(_busy, list(server.active_channels.values()))):
        _turn(server, 0.05)
    server.task_dispatcher.shutdown()
    server.asyncore.close_all(server._map, ignore_all=True)
    server.selector.close()
    flush_log()


def close_stalled(server: Any, now: float) -> None:
    """Close connections whose clients neither send nor read."""
    for channel in list(server.active_channels.values()):
        if channel.is_stalled(now):
            # At once, with the bytes that the kernel has not sent.
            with contextlib.suppress(OSError):
                channel.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_NOT)
            channel.handle_close()


def _close_one_of(channels: OrderedDict[int, Channel]) -> None:
    """Close the connection that has been idle longest; if all but the new one are busy, the first.

    They are in the order of their last requests.
    """
    idle = (channel for channel in list(channels.values())[:-1] if not _busy(channel))
    next(idle, next(iter(channels.values()))).handle_close()


def _turn(server: Any, seconds: float) -> None:
    """Read and write where that is possible, then run steps for a moment."""
    inline, dispatcher = server.inline, server.task_dispatcher
    queued = inline and bool(dispatcher.waiting)
    # One connection, so that other workers get theirs; more if turns take long.
    concerned = _exchange(server, 0 if queued else seconds, _MOST_ACCEPTED if queued else 1)
    if queued:
        # A request that came with its connection does not wait for the next turn.
        concerned += _exchange(server, 0, 1)
    if inline:
        concerned += dispatcher.run_steps()
    # Threads may have changed any of them.
    for channel in concerned if inline else list(server.active_channels.values()):
        channel.watch()


def _exchange(server: Any, seconds: float, most: int) -> list[Any]:
    """Accept at most so many connections, read and write; return the connections that did."""
    concerned = []
    for key, events in server.selector.select(seconds):
        if key.data is server:
            _accept(server, most)
        elif events & EVENT_READ and not key.data.readable():
            # It is still to be answered. Its client has sent more, or is gone.
            key.data.unwatch()
        # Room for another connection may have been made by closing this one.
        elif key.data.socket is not None:
            (server.asyncore.read if events & EVENT_READ else server.asyncore.write)(key.data)
            concerned.append(key.data)
    return concerned


def _accept(server: Any, most: int) -> None:
    try:
        for _ in range(most):
            connection, address = server.socket.accept()
            server.set_socket_options(connection)
            server.channel_class(server, connection, address, server.adj, map=server._map).watch()
    except OSError as error:
        # Usually no connection is waiting, or it is closed already.
        if error.errno == errno.EMFILE and server.active_channels:
            _close_one_of(server.active_channels)


def _busy(channel: Any) -> bool:
    return bool(channel.requests or channel.total_outbufs_len)
