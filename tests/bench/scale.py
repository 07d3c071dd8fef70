"""Appending the same 1,000 rows to a small record and to a large one."""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np

from tests.bench.append import fill
from tests.bench.measure import measured
from tests.bench.world import ITEMS, YEARS, Numbers, facts
from warehouse.record.append import Load, append
from warehouse.record.store import Record
from warehouse.record.tables import FUNDAMENTALS

SMALL, LARGE, CAME, TURNS = 100_000, 10_000_000, 1_000, 7
Work = Callable[[], object]


def a_few_issuers(stored: int, random: np.random.Generator) -> Numbers:
    """Rows as filings bring them: 25 issuers, 40 rows each."""
    issuers = random.choice(stored // (ITEMS * YEARS), 25, replace=False)
    return np.concatenate([np.arange(40) * YEARS + issuer * ITEMS * YEARS for issuer in issuers])


def scattered(stored: int, random: np.random.Generator) -> Numbers:
    """Rows of as many issuers as there can be."""
    return random.choice(stored, CAME, replace=False)


def appends(folder: str, stored: str, spread: str) -> Work:
    """Append new vintages of 1,000 rows, several times; say the median."""
    record, random = Record(folder), np.random.default_rng(3)
    spreads = {"a_few_issuers": a_few_issuers, "scattered": scattered}
    choose, first = spreads[spread], 2 + TURNS * list(spreads).index(spread)

    def once(turn: int) -> float:
        rows = facts(choose(int(stored), random), vintage=first + turn)
        start = time.perf_counter()
        entry = append(record, FUNDAMENTALS, rows, Load("bench", (f"{spread}{turn}",)))
        assert entry.appended == CAME
        return time.perf_counter() - start

    def work() -> float:
        return median([once(turn) for turn in range(TURNS)][1:])

    return work


def report() -> None:
    """Print what the same append costs on both."""
    with tempfile.TemporaryDirectory() as temporary:
        for stored in (SMALL, LARGE):
            fill(Path(temporary, str(stored)), stored)
        for spread in ("a_few_issuers", "scattered"):
            cost = {
                stored: measured(
                    "tests.bench.scale",
                    "appends",
                    str(Path(temporary, str(stored))),
                    str(stored),
                    spread,
                    runs=1,
                )
                for stored in (SMALL, LARGE)
            }
            small, large = float(cost[SMALL].output), float(cost[LARGE].output)
            print(
                f"  1,000 rows of {spread:14} on {SMALL:,}: {small:.3f} s, "
                f"on {LARGE:,}: {large:.3f} s  ({cost[LARGE].peak_mb} MB)"
            )
            print(f"    ratio {large / small:.2f}  (goal: at most 2)")


if __name__ == "__main__":
    report()
