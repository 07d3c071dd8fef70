"""One connection: what it may take its time for, and how a request that cannot be read is told."""

import contextlib
import socket
import struct
import time
from typing import Any
from uuid import uuid4

from waitress.channel import HTTPChannel
from waitress.task import ErrorTask

from api.middleware import API_VERSION
from api.server.task import Answer, Parser
from warehouse.contract.problems import PROBLEMS
from warehouse.json_encoding import encode

# Seconds in which a request must have come whole, and in which an answer must move on.
TO_SEND = 20.0
TO_READ = 30.0
# Bytes a second below which a client is not reading but holding on.
_SLOWEST = 512
_LAST_READS = 16
# Bytes that a client may leave untaken before its next request is worked off.
_UNTAKEN = 1 << 20
_AT_ONCE = struct.pack("ii", 1, 0)
_CODES = {413: "body_too_large", 431: "headers_too_large"}


class Refused(ErrorTask):
    """Answers what the server itself refuses as a problem, like every other answer."""

    def execute(self) -> None:
        """Write the problem and close."""
        request: Any = self.request
        code = _CODES.get(request.error.code, "request_refused")
        kind, request_id = PROBLEMS[code], uuid4().hex
        body = encode(
            {
                "type": f"/problems/{code}",
                "title": kind.title,
                "status": kind.status,
                "code": code,
                "detail": f"The request cannot be read: {request.error.body}.",
                "instance": request_id,
            }
        )
        self.status = f"{kind.status} {kind.title}"
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
    """A connection that knows since when it waits for its client, and for what."""

    parser_class = Parser
    task_class = Answer
    error_task_class = Refused

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._began: float | None = None
        self._sent, self._sent_at = 0, time.monotonic()
        self.owed = False

    def received(self, data: bytes) -> bool:
        """Note when a request begins to come in."""
        if self.request is None:
            self._began = time.monotonic()
        taken = bool(super().received(data))
        self.work()
        return taken

    def handle_write(self) -> None:
        """Send what waits, then go on with the requests that waited for that."""
        super().handle_write()
        self.work()

    def work(self) -> None:
        """Work off what is owed; a client that does not take its answers gets no more of them."""
        while self.owed and self.total_outbufs_len < _UNTAKEN:
            self.owed = False
            self.service()

    def write_at_once(self, head: bytes, body: bytes) -> None:
        """Send head and body from where they lie; only what the kernel does not take is kept."""
        with self.outbuf_lock:
            sent = 0
            if self.connected and self.socket is not None and not self.total_outbufs_len:
                with contextlib.suppress(OSError):
                    sent = self.socket.sendmsg((head, body))
                self._sent += sent
            if sent < len(head):
                self.write_soon(head[sent:])
            if sent < len(head) + len(body):
                self.write_soon(body[max(0, sent - len(head)) :])

    def send(self, data: bytes, do_close: bool = True) -> int:
        """Count what the client takes."""
        taken = int(super().send(data, do_close))
        self._sent += taken
        return taken

    def handle_close(self) -> None:
        """Take what has still come in: unread, it would make the kernel drop our last answer."""
        with contextlib.suppress(OSError):
            for _ in range(_LAST_READS):
                if self.socket is None or not self.socket.recv(self.adj.recv_bytes):
                    break
        super().handle_close()

    def let_go(self) -> None:
        """Close at once; what was not taken is dropped, in the kernel too.

        Marking it would not do: a connection is looked at again only when its client reads.
        """
        with contextlib.suppress(OSError):
            if self.socket is not None:
                self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
        self.handle_close()

    def holds_on(self, now: float) -> bool:
        """Tell whether the client sends its request, or takes its answer, far too slowly."""
        if not self.total_outbufs_len:
            self._sent, self._sent_at = 0, now
            late = self.request is not None and self._began is not None
            return late and now - (self._began or now) > TO_SEND
        if now - self._sent_at < TO_READ:
            return False
        slow = self._sent < _SLOWEST * TO_READ
        self._sent, self._sent_at = 0, now
        return slow
