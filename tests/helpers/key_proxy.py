"""A proxy that adds an API key: for clients that cannot send one, such as the official suite."""

import http.client
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@contextmanager
def key_adding(port: int, key: str) -> Iterator[str]:
    """Pass every request on to a port of this machine; give the address to ask."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
            connection.putrequest(self.command, self.path, skip_host=True)
            for name, value in [*self.headers.items(), ("X-API-Key", key)]:
                connection.putheader(name, value)
            connection.endheaders(body)
            answer = connection.getresponse()
            held = answer.read()
            connection.close()
            self.send_response_only(answer.status)
            for name, value in answer.getheaders():
                self.send_header(name, value)
            if answer.status == 202 and not answer.getheader("content-length"):
                self.send_header("Content-Length", "0")
            self.end_headers()
            self.wfile.write(held)

        do_GET = do_DELETE = do_OPTIONS = do_POST  # noqa: N815

        def log_message(self, *given: object) -> None:
            """Say nothing."""

    class Proxy(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *given: object) -> None:
            """Let a client go away."""

    server = Proxy(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://localhost:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
