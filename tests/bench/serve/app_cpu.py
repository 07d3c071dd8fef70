"""CPU of the app alone for one answer: no socket and no server, key check and limits on."""

import io
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from api.app import create_app
from tests.bench.serve import data
from tests.bench.serve.cases import CASES, questions
from warehouse.control.keys import KeyStore
from warehouse.serve.build import Mart
from warehouse.serve.usage import Usage
from warehouse.shared.tiers import TIERS, Tier, TierName

# Requests of a round, and seconds for each case.
ROUND, SECONDS = 20, 5.0


def report(scale: float = 0.05) -> None:
    """Print what an answer of each case costs, with random keys."""
    dataset = data.at(scale)
    print("\n  CPU of the app alone, one answer")
    with TemporaryDirectory() as folder:
        app = create_app(
            Mart(dataset.marts),
            KeyStore(dataset.keys, _generous()),
            usage=Usage(Path(folder, "usage")),
        )
        for case in ("health", *CASES):
            asked = (
                ["/health"] * ROUND
                if case == "health"
                else [item.ours for item in questions(dataset, case)[:2_000]]
            )
            microseconds, size = measure(app, asked, dataset.key)
            print(f"    {case:14} {microseconds:8.1f} µs {size:10,} bytes")


def measure(app: Callable[..., Any], asked: list[str], key: str) -> tuple[float, int]:
    """Return the CPU time of one answer in microseconds, and the size of the last one.

    It is the mean of the fastest of many short rounds: other work on the machine only adds to it.
    """
    best, size, began = float("inf"), 0, time.monotonic()
    while time.monotonic() - began < SECONDS:
        start = time.process_time()
        for text in asked[:ROUND]:
            status, size = ask(app, text, key)
            if status != "200 OK":
                raise RuntimeError(f"{text} answered {status}")
        best = min(best, (time.process_time() - start) / ROUND * 1e6)
        asked = asked[ROUND:] + asked[:ROUND]
    return best, size


def ask(app: Callable[..., Any], text: str, key: str) -> tuple[str, int]:
    """Run one request through the app and return its status and the size of its body."""
    path, _, query = text.partition("?")
    environ = {
        "REQUEST_METHOD": "GET",
        "PATH_INFO": path,
        "QUERY_STRING": query,
        "SERVER_NAME": "bench",
        "SERVER_PORT": "80",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "REMOTE_ADDR": "127.0.0.1",
        "HTTP_HOST": "bench",
        "HTTP_ACCEPT": "*/*",
        "HTTP_X_API_KEY": key,
        "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(),
        "wsgi.errors": sys.stderr,
    }
    answered: list[str] = []
    body = app(environ, lambda status, headers, error=None: answered.append(status))
    return answered[0], sum(map(len, body))


def _generous() -> dict[TierName, Tier]:
    return {name: replace(tier, per_minute=10**9, per_month=10**12) for name, tier in TIERS.items()}


if __name__ == "__main__":
    report(float(sys.argv[1]) if len(sys.argv) > 1 else 0.05)
