"""Ends the servers of ``sankofa up`` if it was killed outright and could not do so itself.

``python lifeline.py`` reads process ids from its standard input, one a line, each that of a process
group. When the input ends, whoever held its other end is gone: it then terminates the groups, with
all that they started, and kills what is left. The kernel closes a pipe however a process ends, so
this works on every Unix.
"""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress

# Seconds in which the servers may finish the requests under way.
_GRACE_SECONDS = 2.0


class Lifeline:
    """The pipe whose end ends the servers, and the process that watches it."""

    def __init__(self) -> None:
        # In a session of its own: what ends the supervisor must not end the watcher. It imports
        # nothing of ours, so that it takes little memory.
        self._watcher = subprocess.Popen(  # noqa: S603
            [sys.executable, "-I", "-S", __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        assert self._watcher.stdin is not None
        self._pipe = self._watcher.stdin

    def tie(self) -> None:
        """Tie the current process, which leads a group, to the supervisor; call it before exec."""
        os.write(self._pipe.fileno(), b"%d\n" % os.getpid())

    def close(self) -> None:
        """End the watcher; the servers have been stopped already."""
        self._watcher.kill()
        self._pipe.close()
        self._watcher.wait()


def main() -> None:
    """Wait for the end of the input, then end the process groups it named."""
    groups = [int(line) for line in sys.stdin]
    _signal(groups, signal.SIGTERM)
    deadline = time.monotonic() + _GRACE_SECONDS
    while time.monotonic() < deadline and (groups := _signal(groups, 0)):
        time.sleep(0.05)
    _signal(groups, signal.SIGKILL)


def _signal(groups: list[int], number: int) -> list[int]:
    """Send a signal to process groups; return those that exist."""
    alive = []
    for group in groups:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(group, number)
            alive.append(group)
    return alive


if __name__ == "__main__":
    main()
