"""A real S3-compatible server for tests: moto in a process of its own, its requests counted.

Run as ``python -m tests.helpers.s3_server PORT`` to start one by hand.
"""

import http.client
import importlib.util
import json
import os
import socket
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import fsspec
import pytest

from assets.ingest.workers import end_spare
from tests.helpers.paths import ROOT
from tests.helpers.waiting import wait_until

_COUNTS, _READ = "/requests-made", "/objects-read"


class S3Server:
    """A server with one bucket; ``environment`` is what a client needs to reach it."""

    def __init__(self) -> None:
        if importlib.util.find_spec("moto") is None or importlib.util.find_spec("s3fs") is None:
            pytest.skip("left out: install moto[server] and the extra `s3` for an S3 server")
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = int(free.getsockname()[1])
        self.bucket = "sankofa-test"
        self.environment = {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.port}",
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_DEFAULT_REGION": "us-east-1",
        }
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it and create the bucket."""
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.helpers.s3_server", str(self.port)],
            cwd=ROOT,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        wait_until(self._answers, 60, every=0.1, failure=lambda: "the S3 server does not answer")
        self._send("PUT", f"/{self.bucket}")

    def kill(self) -> None:
        """End it, with everything in it."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def url(self, *parts: str) -> str:
        """Return a URL in the bucket."""
        return "/".join((f"s3://{self.bucket}", *parts))

    def requests(self) -> Counter[str]:
        """Return the requests made so far, by method and what they ask for."""
        return Counter(json.loads(self._send("GET", _COUNTS)))

    def objects_read(self, *prefixes: str) -> Counter[str]:
        """Return how often each object below some folders of the bucket was read."""
        read = Counter[str](json.loads(self._send("GET", _READ)))
        root = f"/{self.bucket}/"
        paths = {path.removeprefix(root): times for path, times in read.items()}
        return Counter({path: n for path, n in paths.items() if path.startswith(prefixes)})

    def _answers(self) -> bool:
        try:
            self._send("GET", _COUNTS)
        except OSError:
            return False
        return True

    def _send(self, method: str, path: str) -> bytes:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            connection.request(method, path)
            return connection.getresponse().read()
        finally:
            connection.close()


@contextmanager
def s3_server() -> Iterator[S3Server]:
    """Run a server, and let this process and its children reach it."""
    server = S3Server()
    server.start()
    try:
        with pytest.MonkeyPatch.context() as environment:
            for name in [name for name in os.environ if name.startswith("AWS_")]:
                environment.delenv(name)
            for name, value in server.environment.items():
                environment.setenv(name, value)
            # Clients are kept by their arguments: one of an earlier server would go on asking it.
            fsspec.get_filesystem_class("s3").clear_instance_cache()
            # So would a process that was started before this one had the address of the server.
            end_spare()
            yield server
            end_spare()
    finally:
        server.kill()


class _Counting:
    """Counts requests; answers one at a time, as moto compares and writes in two steps."""

    def __init__(self, application: Any) -> None:
        self._application, self._counts = application, Counter[str]()
        self._read = Counter[str]()
        self._lock = threading.Lock()

    def __call__(
        self, environ: dict[str, Any], start_response: Callable[..., Any]
    ) -> Iterable[bytes]:
        path = environ["PATH_INFO"]
        if path in (_COUNTS, _READ):
            start_response("200 OK", [("Content-Type", "application/json")])
            return [json.dumps(self._counts if path == _COUNTS else self._read).encode()]
        query = environ.get("QUERY_STRING", "")
        what = "list" if "list-type" in query or "prefix=" in query else "object"
        with self._lock:
            self._counts[f"{environ['REQUEST_METHOD']} {what}"] += 1
            if environ["REQUEST_METHOD"] == "GET":
                self._read[path] += 1
            return list(self._application(environ, start_response))


def _serve(port: int) -> None:
    from moto.moto_server.werkzeug_app import (
        DomainDispatcherApplication,
        MotoRequestHandler,
        create_backend_app,
    )
    from werkzeug.serving import run_simple

    application = DomainDispatcherApplication(create_backend_app)
    run_simple(
        "127.0.0.1",
        port,
        _Counting(application),
        threaded=True,
        request_handler=MotoRequestHandler,
    )


if __name__ == "__main__":
    _serve(int(sys.argv[1]))
