"""Runs several servers as child processes: started together, stopped together.

If one exits, the others are stopped: half an installation is harder to notice than none. If the
supervisor itself is killed outright, a process that watches it stops them. What they write goes to
a log file each.
"""

import logging
import os
import signal
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import IO

from pipelines.ports import listens
from warehouse.shared.errors import SankofaError
from warehouse.shared.files import private_folder
from warehouse.shared.server_log import LineWriter, stderr_descriptor
from warehouse.shared.stop import Stop

_POLL_SECONDS = 0.2
_STOP_SECONDS = 15.0
# The last lines that are shown of a server that ends by itself: about a traceback.
_LINES_KEPT = 20
# The file that is written and three older ones: `rest.log`, `rest.log.1` and so on.
FILES = 4
# Reads ids of process groups, one a line. The input ends when the supervisor does, since the kernel
# closes a pipe however a process ends: then it ends the groups, with all that they started. They
# have two seconds to finish the requests under way.
_WATCH = """
while read group; do groups="$groups -$group"; done
kill -s TERM -- $groups; sleep 2; kill -s KILL -- $groups
"""
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True)
class Child:
    """A server to run: what it is called, how it is started, where it will listen."""

    name: str
    command: Sequence[str]
    host: str
    port: int
    environment: Mapping[str, str]
    log: str = "server.log"


@dataclass(frozen=True)
class Logs:
    """Where the output of children goes: to a file each in ``folder``, and, if wanted, to stderr.

    All files of one child together take at most ``most_bytes``.
    """

    folder: Path
    most_bytes: int
    on_stderr: bool = False


class LogFile(RotatingFileHandler):
    """A log file that cannot fill the disk: with older ones it takes at most ``most_bytes``."""

    terminator = ""

    def __init__(self, path: Path, most_bytes: int) -> None:
        # Each byte is a character, so that what is counted is what is written.
        super().__init__(
            path,
            maxBytes=most_bytes // FILES,
            backupCount=FILES - 1,
            encoding="latin-1",
            delay=True,
        )

    def write(self, piece: bytes) -> int:
        """Append bytes; return how many were written. Raise OSError if none can be."""
        private_folder(Path(self.baseFilename).parent)
        # What is longer than a file is cut; the handler counts two characters more.
        piece = piece[: self.maxBytes - 2]
        self.emit(logging.makeLogRecord({"msg": piece.decode("latin-1")}))
        return len(piece)

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802
        """Raise: whoever writes counts the lines that are lost."""
        raise


class _Lifeline:
    """The process that ends the servers if this one is killed outright."""

    def __init__(self) -> None:
        # In a session of its own: what ends the supervisor must not end the watcher.
        self._watcher = subprocess.Popen(  # noqa: S603
            ["/bin/sh", "-c", _WATCH],
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


class _Running:
    """A started child and the last lines of its output, which is passed on to its log."""

    def __init__(self, child: Child, lifeline: _Lifeline, stderr: LineWriter, logs: Logs) -> None:
        self._file = LogFile(logs.folder / child.log, logs.most_bytes)
        self._is_shown = logs.on_stderr
        self._writers = [LineWriter(self._file.write), *([stderr] if self._is_shown else [])]
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
            # Before exec, by the child itself: there is no moment at which it runs untied.
            preexec_fn=lifeline.tie,
        )
        # Somebody must read the pipe, or a child blocks once the pipe is full.
        self._pump = threading.Thread(target=self._forward_output, args=(self.process.stdout,))
        self._pump.daemon = True
        self._pump.start()

    def _forward_output(self, output: IO[bytes]) -> None:
        for line in output:
            text = line.rstrip(b"\r\n")
            for writer in self._writers:
                writer.add(text)
            if text.strip():
                self.last_lines.append(text.decode("utf-8", "replace"))

    def exit_reason(self) -> str:
        """Return how the process ended, with the end of its output if that was not shown."""
        self._pump.join(1)
        code = self.process.returncode
        how = f"exit status {code}" if code >= 0 else f"signal {signal.Signals(-code).name}"
        lines = list(self.last_lines)
        last = lines[-1].strip() if lines else "no output"
        reason = f"{self.child.name} exited by itself ({how}): {last}. The others were stopped"
        end = [] if self._is_shown else lines
        return "\n".join((f"{reason}. Its log is {self._file.baseFilename}", *end))

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
        for writer in self._writers:
            writer.flush()
        self._file.close()


def supervise(
    children: Sequence[Child],
    when_listening: Callable[[set[str]], None],
    logs: Logs,
    when_stopping: Callable[[], None] = lambda: None,
) -> None:
    """Run children until a signal arrives; if one exits by itself, stop the others and raise.

    ``when_listening`` is called with the names of all that listen whenever one more does. The error
    has the last lines of the child that exited, unless they were shown. ``when_stopping`` is
    called once a signal arrived.
    """
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    stop = Stop().on_signals(*_SIGNALS)
    running: list[_Running] = []
    lifeline, stderr = _Lifeline(), LineWriter(stderr_descriptor())
    try:
        for child in children:
            running.append(_Running(child, lifeline, stderr, logs))
        _watch(running, stop, when_listening)
        when_stopping()
    finally:
        # Signal all first: they shut down at the same time and share one deadline.
        until = time.monotonic() + _STOP_SECONDS
        for server in running:
            server.process.terminate()
        for server in running:
            server.finish(until)
        lifeline.close()
        stderr.flush()
        for number, handler in before.items():
            signal.signal(number, handler)


def _watch(
    running: Sequence[_Running],
    stop: Stop,
    when_listening: Callable[[set[str]], None],
) -> None:
    while not stop.wait(_POLL_SECONDS):
        for server in running:
            if server.process.poll() is not None:
                raise SankofaError(server.exit_reason())
        new = [
            server
            for server in running
            if not server.listening and listens(server.child.host, server.child.port)
        ]
        for server in new:
            server.listening = True
        if new:
            when_listening({server.child.name for server in running if server.listening})
