"""A proxy that adds an API key: for clients that cannot send one, such as the official suite."""

import http.client
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@contextmanager
def key_adding(port: int, key: str) -> Iterator[str]:
    """Forward every request to a local port with a key added; yield the proxy's address."""

    class ProxyHandler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
            connection.putrequest(self.command, self.path, skip_host=True)
            for name, value in [*self.headers.items(), ("X-API-Key", key)]:
                connection.putheader(name, value)
            connection.endheaders(body)
            response = connection.getresponse()
            response_body = response.read()
            connection.close()
            self.send_response_only(response.status)
            for name, value in response.getheaders():
                self.send_header(name, value)
            if response.status == 202 and not response.getheader("content-length"):
                self.send_header("Content-Length", "0")
            self.end_headers()
            self.wfile.write(response_body)

        do_GET = do_DELETE = do_OPTIONS = do_POST  # noqa: N815

        def log_message(self, *args: object) -> None:
            """Log nothing."""

    class Proxy(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *args: object) -> None:
            """Ignore clients that hang up."""

    server = Proxy(("127.0.0.1", 0), ProxyHandler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://localhost:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
