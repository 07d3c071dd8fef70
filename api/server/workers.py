"""Several processes that answer at one port, each kept to a core of its own.

All accept from the socket that the first one bound: a connection that waits there is taken by
whoever is free, and none is lost when a process ends.
"""

import logging
import os
import signal
import threading
import time
from collections.abc import Callable

_LOG = logging.getLogger("sankofa.serve")
_A_MOMENT = 0.1
# A process that dies at once would do so again: wait before another is started.
_BETWEEN_STARTS = 1.0
_PATIENCE = 15.0


def cores() -> list[int]:
    """Name the cores that this process may use."""
    return sorted(os.sched_getaffinity(0))


def keep_working(
    work: Callable[[threading.Event], None], number: int, stop: threading.Event
) -> None:
    """Run ``work`` in so many processes until ``stop``; one that dies is replaced.

    What sets ``stop`` on a signal does so in every process: each has inherited it.
    """
    allowed, at_work = cores(), dict[int, int]()
    while not stop.is_set():
        for place in set(range(number)) - set(at_work.values()):
            core = allowed[place % len(allowed)]
            at_work[_started(work, core, stop)] = place
        ended = _wait_for_an_end(at_work, stop)
        if ended is not None and not stop.is_set():
            _LOG.error("process %d ended and is replaced", ended)
            stop.wait(_BETWEEN_STARTS)
    _tell(at_work, signal.SIGTERM)
    until = time.monotonic() + _PATIENCE
    while at_work and time.monotonic() < until:
        _reap(at_work)
        time.sleep(_A_MOMENT)
    _tell(at_work, signal.SIGKILL)


def _started(work: Callable[[threading.Event], None], core: int, stop: threading.Event) -> int:
    parent = os.getpid()
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        threading.Thread(target=_stop_when_orphaned, args=(parent, stop), daemon=True).start()
        os.sched_setaffinity(0, {core})
        work(stop)
        status = 0
    except Exception:
        _LOG.exception("a process of the service failed")
    finally:
        os._exit(status)


def _stop_when_orphaned(parent: int, stop: threading.Event) -> None:
    while os.getppid() == parent:
        time.sleep(_BETWEEN_STARTS)
    stop.set()


def _wait_for_an_end(at_work: dict[int, int], stop: threading.Event) -> int | None:
    while not stop.is_set():
        if (ended := _reap(at_work)) is not None:
            return ended
        stop.wait(_A_MOMENT)
    return None


def _reap(at_work: dict[int, int]) -> int | None:
    for child in list(at_work):
        if os.waitpid(child, os.WNOHANG)[0]:
            del at_work[child]
            return child
    return None


def _tell(at_work: dict[int, int], number: signal.Signals) -> None:
    for child in at_work:
        os.kill(child, number)
