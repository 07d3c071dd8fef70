"""A proxy before a real server that lets a test change, cut or drop some of its answers."""

import http.client
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True)
class Reply:
    """An answer; only the first ``sent`` bytes of its body arrive, if a number is given."""

    status: int
    headers: dict[str, str]
    body: bytes
    sent: int | None = None


# Gets the path with its query, the headers, and what forwards the request. None: no answer.
Alter = Callable[[str, Mapping[str, str], Callable[[], Reply]], Reply | None]


@contextmanager
def altering(port: int, alter: Alter) -> Iterator[str]:
    """Forward GET requests to a local port as ``alter`` wants; yield the proxy's address."""

    class ProxyHandler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            headers = dict(self.headers.items())
            reply = alter(self.path, headers, lambda: _forward(port, self.path, headers))
            self.close_connection = reply is None or reply.sent is not None
            if reply is None:
                return
            self.send_response_only(reply.status)
            for name, value in {**reply.headers, "Content-Length": str(len(reply.body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(reply.body[: reply.sent])

        def log_message(self, *args: object) -> None:
            """Log nothing."""

    class Proxy(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *args: object) -> None:
            """Ignore clients that hang up."""

    server = Proxy(("127.0.0.1", 0), ProxyHandler)
    # The default would take half a second to stop.
    thread = threading.Thread(target=lambda: server.serve_forever(poll_interval=0.02))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _forward(port: int, path: str, headers: Mapping[str, str]) -> Reply:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request("GET", path, headers={**headers, "Host": f"127.0.0.1:{port}"})
        response = connection.getresponse()
        received = {
            name: value
            for name, value in response.getheaders()
            if name.lower() not in ("content-length", "connection", "transfer-encoding")
        }
        return Reply(response.status, received, response.read())
    finally:
        connection.close()
