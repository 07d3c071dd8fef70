"""Limits that the kernel enforces on a process that reads documents: memory and CPU time.

Beyond the first an allocation fails, which Python and Arrow report as a MemoryError. Beyond the
second the process ends with the signal ``OUT_OF_TIME``, whatever it is doing.
"""

import resource
import signal
from pathlib import Path

OUT_OF_TIME = signal.SIGPROF

_STATM = Path("/proc/self/statm")
_PAGE = resource.getpagesize()


def confine(memory: int, seconds: float) -> None:
    """Let this process take so many bytes more than now, and so many CPU seconds from now on.

    Memory is limited where the kernel tells how much a process has, which is on Linux.
    """
    signal.setitimer(signal.ITIMER_PROF, seconds)
    if (used := private_memory()) is not None:
        # Data and not address space: allocators reserve more than they use.
        _limit_data(used + memory)


def release() -> None:
    """Lift the limits of ``confine``."""
    signal.setitimer(signal.ITIMER_PROF, 0)
    _limit_data(resource.RLIM_INFINITY)


def private_memory() -> int | None:
    """Return the bytes of memory that this process has to itself; None if that is not known."""
    try:
        return int(_STATM.read_text().split()[5]) * _PAGE
    except OSError:
        return None


def _limit_data(size: int) -> None:
    hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
    most = size if hard == resource.RLIM_INFINITY else min(size, hard)
    resource.setrlimit(
        resource.RLIMIT_DATA, (hard if size == resource.RLIM_INFINITY else most, hard)
    )
