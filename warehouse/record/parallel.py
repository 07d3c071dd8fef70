"""One thread per core, for work that releases the interpreter lock: Arrow, NumPy, Parquet."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from warehouse.machine import cores

Item = TypeVar("Item")
Result = TypeVar("Result")


def parallel_map(function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """Return the function's results for the items, in their order."""
    with ThreadPoolExecutor(cores()) as threads:
        return list(threads.map(function, items))
