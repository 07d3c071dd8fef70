"""Worker processes on one port, each pinned to a core where the system allows it.

All accept from the socket that the parent bound: a waiting connection is taken by whichever
worker is free, and none is lost when a worker ends.
"""

import ctypes
import logging
import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from warehouse.server_log import flush_log
from warehouse.server_options import available_cores

_LOG = logging.getLogger("sankofa.serve")
_POLL_SECONDS = 0.1
# A worker that dies at start would die again: wait before starting another.
_RESTART_DELAY = 1.0
# Longer than a worker waits for the requests under way: see ``loop.run``.
_SHUTDOWN_SECONDS = 15.0
# Parameter numbers of glibc's mallopt.
_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD = -1, -2, -3


def keep_freed_memory() -> None:
    """Return freed memory to the system only above 64 MB.

    Otherwise every large body is built on fresh pages, and the kernel takes longer to clear them
    than reading the rows takes. With a C library other than glibc nothing changes.
    """
    with suppress(OSError, AttributeError):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_MMAP_THRESHOLD, 32 << 20)
        mallopt(_TRIM_THRESHOLD, 64 << 20)
        mallopt(_TOP_PAD, 8 << 20)


def run_workers(
    work: Callable[[threading.Event], None], number: int, stop: threading.Event
) -> None:
    """Run ``work`` in ``number`` processes until ``stop`` is set; replace one that dies.

    The signal handlers that set ``stop`` are inherited by every worker.
    """
    cores, slot_by_pid = available_cores(), dict[int, int]()
    while not stop.is_set():
        for slot in set(range(number)) - set(slot_by_pid.values()):
            core = cores[slot % len(cores)]
            slot_by_pid[_start(work, core, stop)] = slot
        dead_pid = _wait_for_exit(slot_by_pid, stop)
        if dead_pid is not None and not stop.is_set():
            _LOG.error("worker process %d ended; starting another", dead_pid)
            stop.wait(_RESTART_DELAY)
    _signal_all(slot_by_pid, signal.SIGTERM)
    deadline = time.monotonic() + _SHUTDOWN_SECONDS
    while slot_by_pid and time.monotonic() < deadline:
        _reap(slot_by_pid)
        time.sleep(_POLL_SECONDS)
    _signal_all(slot_by_pid, signal.SIGKILL)


def _start(work: Callable[[threading.Event], None], core: int, stop: threading.Event) -> int:
    """Fork a worker and return its process id; in the worker this never returns."""
    parent = os.getpid()
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        threading.Thread(target=_stop_when_orphaned, args=(parent, stop), daemon=True).start()
        _pin_to_core(core)
        work(stop)
        status = 0
    except Exception:
        _LOG.exception("a worker process failed")
    finally:
        flush_log()
        # Not sys.exit: the copy of the parent's stack must not be unwound in the child.
        os._exit(status)


def _pin_to_core(core: int) -> None:
    """Keep this process on one core; without CPU affinity (macOS) leave it to the scheduler."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {core})


def _stop_when_orphaned(parent: int, stop: threading.Event) -> None:
    # A parent that was killed outright could not signal its workers; they get another parent.
    while os.getppid() == parent:
        time.sleep(_RESTART_DELAY)
    stop.set()


def _wait_for_exit(slot_by_pid: dict[int, int], stop: threading.Event) -> int | None:
    while not stop.is_set():
        if (dead_pid := _reap(slot_by_pid)) is not None:
            return dead_pid
        stop.wait(_POLL_SECONDS)
    return None


def _reap(slot_by_pid: dict[int, int]) -> int | None:
    """Forget one worker that has ended and return its process id."""
    for child in list(slot_by_pid):
        if os.waitpid(child, os.WNOHANG)[0]:
            del slot_by_pid[child]
            return child
    return None


def _signal_all(slot_by_pid: dict[int, int], number: signal.Signals) -> None:
    for child in slot_by_pid:
        os.kill(child, number)
