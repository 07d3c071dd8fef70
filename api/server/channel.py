"""Connections: parsing, running and answering requests with less overhead than waitress.

This module overrides waitress internals; what each override buys was measured on the whole
service (docs/benchmarks.md, "Serving"). Everything else uses waitress as it comes.
"""

import contextlib
import socket
import struct
import time
from functools import lru_cache
from typing import Any, ClassVar
from uuid import uuid4

from waitress.channel import HTTPChannel
from waitress.parser import HTTPRequestParser
from waitress.task import ErrorTask, ThreadedTaskDispatcher, WSGITask
from waitress.utilities import build_http_date

from warehouse.contract import API_VERSION
from warehouse.contract.problems import PROBLEMS
from warehouse.json_encoding import encode

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

# Headers that announce a body or decide about the connection: never taken from the cache.
_FRAMING_HEADERS = frozenset({"CONNECTION", "CONTENT_LENGTH", "EXPECT", "TRANSFER_ENCODING"})
_LONGEST_CACHED_HEADERS, _MOST_CACHED_HEADERS = 2_048, 2_048


class CachingRequestParser(HTTPRequestParser):
    """Caches parsed headers by their bytes: a client sends the same ones with every request."""

    _cache: ClassVar[dict[bytes, dict[str, str]]] = {}

    def parse_header(self, header_plus: bytes) -> None:
        """Parse the request line, and the headers unless they are cached."""
        first_line, _, header_bytes = header_plus.partition(b"\r\n")
        cached = self._cache.get(header_bytes)
        if cached is not None:
            # The request line differs from request to request and is always parsed.
            super().parse_header(first_line + b"\r\n")
            self.headers = {**self.headers, **cached}
            return
        super().parse_header(header_plus)
        cacheable = not self.chunked and _FRAMING_HEADERS.isdisjoint(self.headers)
        if cacheable and len(header_bytes) <= _LONGEST_CACHED_HEADERS:
            if len(self._cache) >= _MOST_CACHED_HEADERS:
                self._cache.clear()
            self._cache[header_bytes] = dict(self.headers)


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
        """Write the head; an ordinary one by a shorter way, to the same bytes as waitress."""
        request: Any = self.request
        ordinary = self.version == "1.1" and "CONNECTION" not in request.headers
        if not ordinary or (self.has_body and self.content_length is None):
            return bytes(super().build_response_header())
        lines = [f"{_header_case(name)}: {value}" for name, value in self.response_headers]
        lines.append(f"Date: {_http_date(int(self.start_time))}")
        # waitress sorts too. WSGI text is latin-1 (PEP 3333).
        lines.sort(key=_header_name)
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


class Channel(HTTPChannel):
    """A connection that measures how fast its client sends and reads."""

    parser_class = CachingRequestParser
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


def _header_name(line: str) -> str:
    return line.partition(":")[0]


@lru_cache(256)
def _header_case(name: str) -> str:
    return "-".join(part.capitalize() for part in name.split("-"))


@lru_cache(2)
def _http_date(second: int) -> str:
    return str(build_http_date(second))
