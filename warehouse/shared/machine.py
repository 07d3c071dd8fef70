"""The cores and the memory that this process may use, and threads for Arrow."""

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

# How many cores and how much memory this process may use: in a container less than there is.

_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def cores() -> int:
    """Return the number of cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def usable_memory_mb() -> int:
    """Return how much memory DuckDB may use: half of what this process may.

    DuckDB counts what it buffers, not what Arrow, Python and other programs take beside it.
    """
    limits = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for path in map(Path, _LIMITS):
        text = path.read_text().strip() if path.exists() else "max"
        limits += [int(text)] if text.isdecimal() else []
    return min(limits) >> 21


Item = TypeVar("Item")
Result = TypeVar("Result")


def parallel_map(function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """Return the function's results for the items, in their order."""
    with ThreadPoolExecutor(cores()) as threads:
        return list(threads.map(function, items))
