"""Waitress with requests run in its main loop: everything here relies on its internals.

Nothing else in the service does. ``setup.cfg`` bounds the version of waitress, and
``tests/unit/api/test_waitress_internals.py`` fails if a later one changes what is used here. Each
override is here for a reason that waitress offers no setting for:

- Requests run in the main loop (``InlineDispatcher``, ``Channel.run_pending``): threads would only
  compete for the interpreter, since no request waits for anything but local files.
- Head and body of a response are sent without copying them (``ResponseTask``,
  ``Channel.write_now``).
- A client that sends or reads too slowly is disconnected (``Channel.is_stalled``).
- A request that waitress cannot parse is answered with a problem (``RefusalTask``), and what RFC
  9112 forbids is refused (``RequestParser``).

docs/benchmarks.md, "Serving", has what the first two are worth.
"""

import contextlib
import socket
import struct
import sys
import threading
import time
from typing import Any
from uuid import uuid4

from waitress.channel import HTTPChannel
from waitress.parser import HTTPRequestParser, ParsingError
from waitress.server import create_server
from waitress.task import ErrorTask, ThreadedTaskDispatcher, WSGITask
from waitress.utilities import RequestEntityTooLarge, build_http_date

from api.server.proxies import Wsgi, log_refusal
from warehouse.contract import API_VERSION
from warehouse.contract.problems import PROBLEMS
from warehouse.shared.json_encoding import encode
from warehouse.shared.server_log import flush_log

_THREADS = 4
_LONGEST_HEADERS = 32_768
_LONGEST_BODY = 65_536
_MOST_CONNECTIONS = 2_000
_IDLE_SECONDS = 75
_SHUTDOWN_SECONDS = 10.0
_HIGH_WATERMARK = 16 << 20
# Seconds in which a request must arrive completely, and in which a response must progress.
REQUEST_TIMEOUT = 20.0
RESPONSE_TIMEOUT = 30.0
# A client that reads fewer bytes a second only blocks the connection.
_SLOWEST_BYTES_PER_SECOND = 512
# At most this many reads of leftovers before a connection is closed.
_LAST_READS = 16
# Bytes of responses that may wait for the client before its next request is run.
_MOST_UNREAD_BYTES = 1 << 20
# l_onoff and l_linger of SO_LINGER: close at once and reset the connection.
_LINGER_NOT = struct.pack("ii", 1, 0)
_CODES = {413: "body_too_large", 431: "headers_too_large"}


class RequestParser(HTTPRequestParser):
    """Refuses what RFC 9112 lets a proxy and a server understand in different ways."""

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
        super().parse_header(header_plus)
        # Waitress joins repeated headers with a comma, which no host can contain.
        headers: Any = self.headers
        host = headers.get("HOST")
        if self.version == "1.1" and host is None:
            raise ParsingError("Host is missing")
        if host is not None and "," in host:
            raise ParsingError("Host is sent more than once")
        # Section 6.3: whoever sent both may have smuggled a request behind this one.
        if self.chunked and "CONTENT_LENGTH" in headers:
            headers["CONNECTION"] = "close"


class InlineDispatcher(ThreadedTaskDispatcher):
    """Runs requests in the main loop, right where they were read.

    For a service whose stores are local files: no request waits for anything, so that threads
    would only compete for the interpreter. See ``Channel.run_pending``.
    """

    def add_task(self, channel: Any) -> None:
        """Mark the connection as having a request to run."""
        channel.has_pending = True

    def set_thread_count(self, count: int) -> None:
        """Start no threads."""

    def shutdown(self, cancel_pending: bool = True, timeout: float = 5) -> bool:
        """Do nothing: no request outlives a turn of the loop."""
        return True


class ResponseTask(WSGITask):
    """Writes the head and the complete body of a response in one step."""

    def write(self, data: bytes) -> None:
        """Send head and body together if the body is complete; else as waitress does."""
        complete = self.content_length == len(data) and self.complete and self.has_body
        if self.wrote_header or not data or not complete:
            super().write(data)
            return
        head = self.build_response_header()
        self.wrote_header = True
        if self.chunked_response:
            super().write(data)
            return
        self.content_bytes_written = len(data)
        channel: Any = self.channel
        channel.write_now(head, data)

    def build_response_header(self) -> bytes:
        """Write the head; a connection outlives a 304, after which waitress would close it."""
        request: Any = self.request
        if self.has_body or self.version != "1.1" or "CONNECTION" in request.headers:
            return bytes(super().build_response_header())
        lines = [f"{name}: {value}" for name, value in self.response_headers]
        lines.append(f"Date: {build_http_date(self.start_time)}")
        # WSGI text is latin-1 (PEP 3333).
        return "\r\n".join((f"HTTP/1.1 {self.status}", *lines, "\r\n")).encode("latin-1")


class RefusalTask(ErrorTask):
    """Answers a request that waitress refuses with a problem, like every other error."""

    def execute(self) -> None:
        """Write the problem and close the connection."""
        request: Any = self.request
        code = _CODES.get(request.error.code, "request_refused")
        problem_type, request_id = PROBLEMS[code], uuid4().hex
        body = encode(
            {
                "type": f"/problems/{code}",
                "title": problem_type.title,
                "status": problem_type.status,
                "code": code,
                "detail": f"The request cannot be parsed: {request.error.body}.",
                "instance": request_id,
            }
        )
        self.status = f"{problem_type.status} {problem_type.title}"
        self.response_headers = [
            ("Content-Type", "application/problem+json"),
            ("Cache-Control", "no-store"),
            ("Access-Control-Allow-Origin", "*"),
            ("X-Service-API-Version", API_VERSION),
            ("X-Request-Id", request_id),
        ]
        self.set_close_on_finish()
        self.content_length = len(body)
        self.write(body)
        log_refusal(self.channel.addr[0], problem_type.status, len(body), request_id)


class Channel(HTTPChannel):
    """A connection that measures how fast its client sends and reads."""

    parser_class = RequestParser
    task_class = ResponseTask
    error_task_class = RefusalTask

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._request_began: float | None = None
        self._bytes_sent, self._measured_since = 0, time.monotonic()
        self.has_pending = False

    def received(self, data: bytes) -> bool:
        """Note when a request begins to arrive."""
        if self.request is None:
            self._request_began = time.monotonic()
        accepted = bool(super().received(data))
        self.run_pending()
        return accepted

    def handle_write(self) -> None:
        """Send what is buffered, then run the requests that waited for it."""
        super().handle_write()
        self.run_pending()

    def run_pending(self) -> None:
        """Run pending requests unless the client leaves too many responses unread."""
        while self.has_pending and self.total_outbufs_len < _MOST_UNREAD_BYTES:
            self.has_pending = False
            self.service()

    def write_now(self, head: bytes, body: bytes) -> None:
        """Send head and body without copying them; buffer only what the kernel refuses."""
        with self.outbuf_lock:
            sent = 0
            # Only if nothing is waiting to be sent: bytes must not overtake each other. An error is
            # left to the loop, which sees it again when it sends the rest.
            if self.connected and self.socket is not None and not self.total_outbufs_len:
                with contextlib.suppress(OSError):
                    sent = self.socket.sendmsg((head, body))
                self._bytes_sent += sent
            if sent < len(head):
                self.write_soon(head[sent:])
            if sent < len(head) + len(body):
                self.write_soon(body[max(0, sent - len(head)) :])

    def send(self, data: bytes, do_close: bool = True) -> int:
        """Count the bytes that the client takes."""
        sent = int(super().send(data, do_close))
        self._bytes_sent += sent
        return sent

    def handle_close(self) -> None:
        """Read what still arrived: unread bytes make the kernel drop our last response."""
        with contextlib.suppress(OSError):
            for _ in range(_LAST_READS):
                if self.socket is None or not self.socket.recv(self.adj.recv_bytes):
                    break
        super().handle_close()

    def abort(self) -> None:
        """Close at once and drop unsent bytes, in the kernel too.

        Marking the channel for closing would not do: waitress looks at it again only when its
        client reads.
        """
        with contextlib.suppress(OSError):
            if self.socket is not None:
                self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_NOT)
        self.handle_close()

    def is_stalled(self, now: float) -> bool:
        """Return whether the client sends its request or reads its response far too slowly."""
        if not self.total_outbufs_len:
            self._bytes_sent, self._measured_since = 0, now
            receiving = self.request is not None and self._request_began is not None
            return receiving and now - (self._request_began or now) > REQUEST_TIMEOUT
        # Progress is measured over a whole interval: a client may pause, but not stop.
        if now - self._measured_since < RESPONSE_TIMEOUT:
            return False
        too_slow = self._bytes_sent < _SLOWEST_BYTES_PER_SECOND * RESPONSE_TIMEOUT
        self._bytes_sent, self._measured_since = 0, now
        return too_slow


def create_waitress(app: Wsgi, listening: socket.socket, inline: bool) -> Any:
    """Return a waitress server; ``inline`` runs requests in its main loop, without threads."""
    server: Any = create_server(
        app,
        _dispatcher=InlineDispatcher() if inline else None,
        sockets=[listening],
        threads=_THREADS,
        # The main loop must not wait for itself; ``Channel.run_pending`` bounds the buffer.
        outbuf_high_watermark=sys.maxsize if inline else _HIGH_WATERMARK,
        # No Server header: it would only name a version to attack.
        ident=None,
        max_request_header_size=_LONGEST_HEADERS,
        max_request_body_size=_LONGEST_BODY,
        connection_limit=_MOST_CONNECTIONS,
        channel_timeout=_IDLE_SECONDS,
        # ``trust_proxies`` does it: waitress knows one trusted proxy, not networks.
        clear_untrusted_proxy_headers=False,
        # select() cannot watch descriptors above 1023.
        asyncore_use_poll=True,
    )
    server.channel_class = Channel
    if inline:
        # The trigger wakes the loop for a thread; there is none.
        server.pull_trigger = lambda: None
    return server


def run(server: Any, stop: threading.Event) -> None:
    """Serve until ``stop`` is set, then accept no more and finish the requests under way."""
    last_check = time.monotonic()
    while not stop.is_set():
        _turn(server, 0.2)
        if (now := time.monotonic()) - last_check > 1:
            last_check = now
            close_stalled(server, now)
    # Leave the listening socket first, so that another worker takes what arrives from now on.
    server.accepting = False
    server.del_channel()
    server.socket.close()
    deadline = time.monotonic() + _SHUTDOWN_SECONDS
    while time.monotonic() < deadline and any(map(_busy, list(server.active_channels.values()))):
        _turn(server, 0.05)
    server.task_dispatcher.shutdown()
    server.asyncore.close_all(server._map, ignore_all=True)
    flush_log()


def close_stalled(server: Any, now: float) -> None:
    """Close connections whose clients neither send nor read."""
    for channel in list(server.active_channels.values()):
        if channel.is_stalled(now):
            channel.abort()


def _turn(server: Any, seconds: float) -> None:
    server.asyncore.loop(timeout=seconds, map=server._map, use_poll=True, count=1)


def _busy(channel: Any) -> bool:
    return bool(channel.requests or channel.total_outbufs_len)
