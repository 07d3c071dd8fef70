"""Runs several servers as child processes: started together, stopped together.

If one exits, the others are stopped: half an installation is harder to notice than none.
"""

import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import FrameType
from typing import IO

from pipelines.ports import listens
from warehouse.errors import SankofaError

_POLL_SECONDS = 0.2
_STOP_SECONDS = 15.0
# A traceback's last line says most; a few more for errors that end with a hint.
_LINES_KEPT = 5
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True)
class Child:
    """A server to run: what it is called, how it is started, where it will listen."""

    name: str
    command: Sequence[str]
    host: str
    port: int
    environment: Mapping[str, str]


class _Running:
    """A started child and the last lines of its output."""

    def __init__(self, child: Child) -> None:
        self.child, self.listening = child, False
        self.last_lines: deque[str] = deque(maxlen=_LINES_KEPT)
        self.process = subprocess.Popen(  # noqa: S603
            child.command,
            env={**os.environ, **child.environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            # A session, and so a process group, of its own: Ctrl-C in the terminal reaches only the
            # supervisor, and ``finish`` can kill the child together with its own children.
            start_new_session=True,
        )
        # Somebody must read the pipe, or a child blocks once the pipe is full.
        self._pump = threading.Thread(target=self._forward_output, args=(self.process.stdout,))
        self._pump.daemon = True
        self._pump.start()

    def _forward_output(self, output: IO[bytes]) -> None:
        for line in output:
            # Our own stderr may be closed by now; the last lines are still wanted.
            with suppress(ValueError, OSError):
                sys.stderr.buffer.write(line)
                sys.stderr.buffer.flush()
            if text := line.decode("utf-8", "replace").strip():
                self.last_lines.append(text)

    def exit_reason(self) -> str:
        """Return how the process ended, with its last line of output."""
        self._pump.join(1)
        code = self.process.returncode
        how = f"exit status {code}" if code >= 0 else f"signal {signal.Signals(-code).name}"
        last = self.last_lines[-1] if self.last_lines else "no output"
        return f"{self.child.name} exited by itself ({how}): {last}"

    def finish(self, until: float) -> None:
        """Wait until ``until``, then kill the process and its own children, if any are left."""
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(max(0.0, until - time.monotonic()))
        # Also after a clean exit: its workers can outlive it.
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self._pump.join(1)
        assert self.process.stdout is not None
        self.process.stdout.close()


def supervise(children: Sequence[Child], when_listening: Callable[[set[str]], None]) -> None:
    """Run children until a signal arrives; if one exits by itself, stop the others and raise.

    ``when_listening`` is called with the names of all that listen whenever one more does.
    """
    stop = threading.Event()

    def stopped(number: int, frame: FrameType | None) -> None:
        stop.set()

    before = {number: signal.signal(number, stopped) for number in _SIGNALS}
    running: list[_Running] = []
    try:
        for child in children:
            running.append(_Running(child))
        _watch(running, stop, when_listening)
    finally:
        # Signal all first: they shut down at the same time and share one deadline.
        until = time.monotonic() + _STOP_SECONDS
        for server in running:
            server.process.terminate()
        for server in running:
            server.finish(until)
        for number, handler in before.items():
            signal.signal(number, handler)


def _watch(
    running: Sequence[_Running],
    stop: threading.Event,
    when_listening: Callable[[set[str]], None],
) -> None:
    while not stop.wait(_POLL_SECONDS):
        for server in running:
            if server.process.poll() is not None:
                raise SankofaError(f"{server.exit_reason()}. The others were stopped")
        new = [
            server
            for server in running
            if not server.listening and listens(server.child.host, server.child.port)
        ]
        for server in new:
            server.listening = True
        if new:
            when_listening({server.child.name for server in running if server.listening})
