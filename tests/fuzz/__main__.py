"""``python -m tests.fuzz``: ask the service very often, and say how it went."""

import argparse
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path

from tests.fuzz.run import run
from tests.fuzz.service import FuzzedService, FuzzInputs, published

_PIECE = 10_000
_SHOWN = 40


def main() -> int:
    """Make the world, ask in pieces, and print counts; 1 if anything was wrong."""
    parser = argparse.ArgumentParser(prog="tests.fuzz", description=__doc__)
    parser.add_argument("--requests", type=int, default=1_000_000)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0, help="of the first piece")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = published(Path(folder) / "home")
        return run_all(home, FuzzedService(home).inputs(), options)


def run_all(home: Path, inputs: FuzzInputs, options: argparse.Namespace) -> int:
    began, statuses, wrong = time.monotonic(), Counter[int](), 0
    pieces = range(options.seed, options.seed + -(-options.requests // _PIECE))
    with ProcessPoolExecutor(options.processes, get_context("spawn")) as pool:
        begun = {pool.submit(run, home, inputs, seed, _PIECE): seed for seed in pieces}
        for item in as_completed(begun):
            done = item.result()
            statuses += done.statuses
            for what, request in done.wrong[: max(0, _SHOWN - wrong)]:
                print(f"seed {begun[item]}: {what}: {request}", flush=True)
            wrong += len(done.wrong)
            print(f"{sum(statuses.values()):,} answers, {wrong} wrong", file=sys.stderr, flush=True)
    seconds, number = time.monotonic() - began, sum(statuses.values())
    print(f"{number:,} answers in {seconds:.0f} s, {number / seconds:,.0f} a second")
    print("statuses:", dict(sorted(statuses.items())))
    print(f"wrong: {wrong}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
