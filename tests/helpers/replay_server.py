"""A local server that answers as sources do, on their good days and on their bad ones."""

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
class Asked:
    """One request as it came."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True)
class Reply:
    """One answer; ``length`` lies about its size, ``drop_after`` cuts it, ``pause`` delays it."""

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    length: int | None = None
    drop_after: int | None = None
    pause: float = 0.0
    piece: int = 1 << 20


Answering = Callable[[Asked], Reply]


class Replay:
    """Answers each path with its replies in turn, the last one again and again."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.asked: list[Asked] = []
        self._replies: dict[str, list[Reply] | Answering] = {}
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", 0), _handler_of(self))
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self.base = f"{'https' if tls else 'http'}://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    def on(self, path: str, *replies: Reply) -> str:
        """Answer a path with these in turn; give its address."""
        self._replies[path] = list(replies)
        return self.base + path

    def answer(self, path: str, answering: Answering) -> str:
        """Answer a path by looking at what was asked; give its address."""
        self._replies[path] = answering
        return self.base + path

    def reply_to(self, asked: Asked) -> Reply:
        with self._lock:
            self.asked.append(asked)
            replies = self._replies.get(asked.path, [Reply(b"not here", 404)])
            if not callable(replies):
                return replies.pop(0) if len(replies) > 1 else replies[0]
        return replies(asked)

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
        """Stay silent where the client hung up: it was meant to."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


def _handler_of(replay: Replay) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = 5

        def do_GET(self) -> None:
            self._reply(replay.reply_to(self._asked()))

        do_POST = do_GET  # noqa: N815

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing."""

        def _asked(self) -> Asked:
            parts = urlsplit(self.path)
            query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
            headers = {name.lower(): value for name, value in self.headers.items()}
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            return Asked(self.command, parts.path, query, headers, body)

        def _reply(self, reply: Reply) -> None:
            self.send_response(reply.status)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            if reply.status != 304:
                self.send_header("Content-Length", str(_length(reply)))
            if reply.length is not None:
                # What is left over must not be read as the next answer.
                self.send_header("Connection", "close")
            self.end_headers()
            for start in range(0, len(reply.body[: reply.drop_after]), reply.piece):
                time.sleep(reply.pause)
                self.wfile.write(reply.body[: reply.drop_after][start : start + reply.piece])
                self.wfile.flush()
            if reply.drop_after is not None:
                self._reset()
            elif reply.length is not None:
                self.close_connection = True

        def _reset(self) -> None:
            """Break the connection off, so that the other side sees a reset."""
            linger = struct.pack("ii", 1, 0)
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            self.close_connection = True

    return Handler


def _length(reply: Reply) -> int:
    return len(reply.body) if reply.length is None else reply.length
