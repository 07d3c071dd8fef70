"""One thread a core for work that leaves the interpreter lock: Arrow, NumPy, Parquet."""

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Answer = TypeVar("Answer")

_CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def parallel_map(work: Callable[[Item], Answer], items: Iterable[Item]) -> list[Answer]:
    """Do the work for every item and give the answers in the order of the items."""
    with ThreadPoolExecutor(_CORES) as threads:
        return list(threads.map(work, items))
