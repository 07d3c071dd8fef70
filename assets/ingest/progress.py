"""Reports the progress of a running asset to whoever started it in the same process."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

# What is going on ("ecb: loading"), how much is done, of how much if that is known.
Listener = Callable[[str, int, int | None], None]

# Dagster makes the resources of a run itself, so that no listener can be handed over in one.
_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Pass the progress of every asset that runs meanwhile to a listener."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def reporter(activity: str) -> Callable[[int, int | None], None]:
    """Return a function that reports how much of an activity is done."""
    listener = _listener.get()
    if listener is None:
        return lambda done, total: None
    listener(activity, 0, None)
    return lambda done, total: listener(activity, done, total)
