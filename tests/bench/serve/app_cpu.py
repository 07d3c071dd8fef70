"""CPU of the app alone for one answer: no socket and no server, key check and limits on."""

import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from api.app import create_app
from tests.bench.serve import data
from tests.bench.serve.cases import CASES, ask, questions
from warehouse.control.keys import KeyStore
from warehouse.serve.build import Mart
from warehouse.serve.usage import Usage
from warehouse.shared.tiers import TIERS, Tier, TierName

# Requests of a round, and seconds for each case.
ROUND, SECONDS = 20, 5.0


def report(scale: float = 0.05, seconds: float = SECONDS) -> None:
    """Print what an answer of each case costs, with random keys."""
    dataset = data.at(scale)
    print("\n  CPU of the app alone, one answer, the median of short rounds")
    with TemporaryDirectory() as folder:
        app = create_app(
            Mart(dataset.marts),
            KeyStore(dataset.keys, _generous()),
            usage=Usage(Path(folder, "usage")),
        )
        for case in ("health", *CASES):
            urls = (
                ["/health"] * ROUND
                if case == "health"
                else [item.ours for item in questions(dataset, case)]
            )
            microseconds, size = measure(app, urls, dataset.key, seconds)
            print(f"    {case:18} {microseconds:8.1f} µs {size:10,} bytes")


def measure(
    app: Callable[..., Any], urls: list[str], key: str, seconds: float
) -> tuple[float, int]:
    """Return the CPU time of one answer in microseconds, and the size of the last one.

    It is the median of many short rounds: the fastest one would be that of few and small answers.
    """
    rounds, size, began = list[float](), 0, time.monotonic()
    while time.monotonic() - began < seconds:
        start = time.process_time()
        for url in urls[:ROUND]:
            status, _, body = ask(app, url, key)
            size = len(body)
            if status != "200 OK":
                raise RuntimeError(f"{url} answered {status}")
        rounds.append((time.process_time() - start) / ROUND * 1e6)
        urls = urls[ROUND:] + urls[:ROUND]
    return median(rounds), size


def _generous() -> dict[TierName, Tier]:
    return {name: replace(tier, per_minute=10**9, per_month=10**12) for name, tier in TIERS.items()}


if __name__ == "__main__":
    report(float(sys.argv[1]) if len(sys.argv) > 1 else 0.05)
