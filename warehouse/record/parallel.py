"""One thread per core, for work that releases the interpreter lock: Arrow, NumPy, Parquet."""

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

# The cores this process may use: in a container fewer than the machine has.
_CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def parallel_map(function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """Return the function's results for the items, in their order."""
    with ThreadPoolExecutor(_CORES) as threads:
        return list(threads.map(function, items))
