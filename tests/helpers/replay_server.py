"""A local server that answers as sources do, including their failures."""

import socket
import ssl
import struct
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit


@dataclass(frozen=True)
class ReceivedRequest:
    """A request as received."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True)
class Reply:
    """A reply; ``length`` lies about its size, ``drop_after`` cuts it, ``pause`` delays it."""

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    length: int | None = None
    drop_after: int | None = None
    pause: float = 0.0
    piece: int = 1 << 20


ReplyFunction = Callable[[ReceivedRequest], Reply]


class Replay:
    """Answers each path with its replies in turn, the last one again and again."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.requests: list[ReceivedRequest] = []
        self._replies: dict[str, list[Reply] | ReplyFunction] = {}
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", 0), _handler_of(self))
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self.base = f"{'https' if tls else 'http'}://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    def on(self, path: str, *replies: Reply) -> str:
        """Answer a path with these replies in turn; return its URL."""
        self._replies[path] = list(replies)
        return self.base + path

    def answer(self, path: str, answering: ReplyFunction) -> str:
        """Answer a path with a function of the request; return its URL."""
        self._replies[path] = answering
        return self.base + path

    def reply_to(self, request: ReceivedRequest) -> Reply:
        with self._lock:
            self.requests.append(request)
            replies = self._replies.get(request.path, [Reply(b"not here", 404)])
            if not callable(replies):
                return replies.pop(0) if len(replies) > 1 else replies[0]
        return replies(request)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = False

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that hang up: tests make them do so."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


def _handler_of(replay: Replay) -> type[BaseHTTPRequestHandler]:
    class ReplayHandler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = 5

        def do_GET(self) -> None:
            self._reply(replay.reply_to(self._received()))

        do_POST = do_GET  # noqa: N815

        def log_message(self, format: str, *args: Any) -> None:
            """Log nothing."""

        def _received(self) -> ReceivedRequest:
            parts = urlsplit(self.path)
            query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
            headers = {name.lower(): value for name, value in self.headers.items()}
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            return ReceivedRequest(self.command, parts.path, query, headers, body)

        def _reply(self, reply: Reply) -> None:
            self.send_response(reply.status)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            if reply.status != 304:
                self.send_header("Content-Length", str(_length(reply)))
            if reply.length is not None:
                # The rest must not be read as the next response.
                self.send_header("Connection", "close")
            self.end_headers()
            for start in range(0, len(reply.body[: reply.drop_after]), reply.piece):
                # A source that answers slowly, as a test asks for.
                time.sleep(reply.pause)
                self.wfile.write(reply.body[: reply.drop_after][start : start + reply.piece])
                self.wfile.flush()
            if reply.drop_after is not None:
                self._reset()
            elif reply.length is not None:
                self.close_connection = True

        def _reset(self) -> None:
            """Close the connection so that the client sees a reset."""
            linger = struct.pack("ii", 1, 0)
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            self.close_connection = True

    return ReplayHandler


def _length(reply: Reply) -> int:
    return len(reply.body) if reply.length is None else reply.length
