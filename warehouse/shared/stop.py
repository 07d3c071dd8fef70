"""How a process learns that it must stop."""

import signal
import time
from types import FrameType
from typing import Self


class Stop:
    """Whether the process must stop, as signals say it.

    ``threading.Event`` takes a lock to be set. A signal handler interrupts its own thread: if that
    thread has the lock, because it waits for the event or is setting it for another signal, the
    process hangs.
    """

    def __init__(self) -> None:
        self._is_set = False

    def on_signals(self, *numbers: signal.Signals) -> Self:
        """Let signals set it."""
        for number in numbers:
            signal.signal(number, self.set)
        return self

    def set(self, number: int = 0, frame: FrameType | None = None) -> None:
        """Make the process stop; the arguments are those of a signal handler."""
        self._is_set = True

    def is_set(self) -> bool:
        """Return whether the process must stop."""
        return self._is_set

    def wait(self, seconds: float) -> bool:
        """Wait so long; return whether the process must stop."""
        if not self._is_set:
            time.sleep(seconds)
        return self._is_set
