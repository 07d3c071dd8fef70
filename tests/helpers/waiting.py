"""Waiting for something that another process does, where nothing announces it."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def wait_until(
    condition: Callable[[], T | None],
    timeout: float = 120,
    every: float = 0.05,
    failure: Callable[[], str] = lambda: "nothing came of it",
) -> T:
    """Return the first result of ``condition`` that is true."""
    deadline = time.monotonic() + timeout
    while not (result := condition()):
        assert time.monotonic() < deadline, f"{failure()} within {timeout} s"
        time.sleep(every)
    return result
