"""The log of a server, and how its options are read."""

import logging
import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from typing import Any

import msgspec

from warehouse.shared.settings import Settings, cores
from warehouse.shared.texts import redact_keys

# The log of a server: JSON lines on stderr that can be lost, and never hold up or end the
# service.
#
# A thread writes them. While it waits for a reader that does not read, a bounded number of lines
# is kept; those beyond, and those that cannot be written (full disk, reader gone), are counted as
# dropped. The count is logged once writing works again, and is a metric. To queue a line costs a
# fortieth of what the standard library's QueueHandler takes, which every request would pay.

# The name of the log of requests.
ACCESS_LOG = "sankofa.access"
_LONGEST_PATH = 200
_ACCESS = logging.getLogger(ACCESS_LOG)
# Lines that wait to be written: about 3 MB.
MOST_LINES = 10_000
# Seconds in which lines are collected: one write for many requests is cheaper than one for each.
_COLLECT_SECONDS = 0.1
_FLUSH_SECONDS = 2.0
# Several processes write to one pipe: it keeps pieces of up to this size whole (POSIX's PIPE_BUF).
_PIECE_BYTES = 4_096
_LONGEST_MESSAGE = 16_384
_encode = msgspec.json.Encoder().encode


class LogLine(msgspec.Struct, omit_defaults=True):
    """A line that is no request: a warning, an error, the start of a server."""

    time: datetime
    level: str
    logger: str
    message: str
    exception: str | None = None
    lines_dropped: int = 0


class LineWriter:
    """Writes lines to a file descriptor from a thread; ``dropped`` counts those that were lost.

    Instead of a descriptor it takes a function that writes bytes and returns how many.
    """

    def __init__(self, output: int | Callable[[bytes], int] | None) -> None:
        self._output = partial(os.write, output) if isinstance(output, int) else output
        self._clear()
        # A fork leaves the thread behind, and what waits is written by the parent.
        os.register_at_fork(after_in_child=self._clear)

    def _clear(self) -> None:
        self._lines: deque[bytes] = deque()
        self._filled, self._hurry = threading.Event(), threading.Event()
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None
        self._is_writing = self._is_cut = False
        self.dropped = self._reported = 0

    def add(self, line: bytes) -> None:
        """Queue a line; drop it if too many wait."""
        if len(self._lines) >= MOST_LINES:
            self.dropped += 1
            return
        self._lines.append(line)
        if not self._filled.is_set():
            self._filled.set()
            if self._thread is None:
                self._start()

    def flush(self, seconds: float = _FLUSH_SECONDS) -> None:
        """Wait until every queued line is written or dropped, but no longer than ``seconds``."""
        deadline = time.monotonic() + seconds
        self._hurry.set()
        while (self._lines or self._is_writing) and time.monotonic() < deadline:
            time.sleep(0.005)

    def _start(self) -> None:
        with self._starting:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="log", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        while True:
            self._filled.wait()
            self._hurry.wait(_COLLECT_SECONDS)
            self._is_writing = True
            self._filled.clear()
            # Others may append meanwhile: take as many as there are now.
            self._write([self._lines.popleft() for _ in range(len(self._lines))])
            self._is_writing = False
            self._hurry.clear()

    def _write(self, lines: list[bytes]) -> None:
        lost = self.dropped - self._reported
        if lost and self._written(_dropped_line(lost) + b"\n"):
            self._reported += lost
        for piece in _pieces(lines):
            self.dropped += piece.count(b"\n", self._written(piece))

    def _written(self, piece: bytes) -> int:
        """Write a piece as far as possible; return how many of its bytes are complete lines."""
        # A full disk takes a part of a line: the next one begins on its own.
        begin = b"\n" if self._is_cut else b""
        rest = begin + piece
        with suppress(OSError):
            while rest and self._output is not None:
                rest = rest[self._output(rest) :]
        written = (begin + piece)[: len(begin) + len(piece) - len(rest)]
        if written:
            self._is_cut = not written.endswith(b"\n")
        return max(0, written.rfind(b"\n") + 1 - len(begin))


class JsonHandler(logging.Handler):
    """Queues each record as a JSON line, without keys."""

    def __init__(self, writer: LineWriter) -> None:
        super().__init__()
        self._writer = writer

    def emit(self, record: logging.LogRecord) -> None:
        """Queue a record."""
        self._writer.add(json_line(record).encode("utf-8", "replace"))

    def flush(self) -> None:
        """Write what is queued; the logging module calls this when the process ends."""
        self._writer.flush()


def json_line(record: logging.LogRecord) -> str:
    """Return a record of the logging module as a line."""
    raised = logging.Formatter().formatException(record.exc_info) if record.exc_info else None
    line = LogLine(
        datetime.fromtimestamp(record.created, UTC),
        record.levelname.lower(),
        record.name,
        record.getMessage()[:_LONGEST_MESSAGE],
        None if raised is None else raised[-_LONGEST_MESSAGE:],
    )
    return redact_keys(_encode(line).decode())


_writer: LineWriter | None = None


def log_to_stderr() -> None:
    """Send what this process logs to stderr, as JSON lines."""
    global _writer
    _writer = LineWriter(stderr_descriptor())
    logging.basicConfig(level=logging.INFO, handlers=[JsonHandler(_writer)], force=True)


def stderr_descriptor() -> int | None:
    """Return the descriptor of stderr; None if it is closed."""
    with suppress(AttributeError, OSError, ValueError):
        return sys.stderr.fileno()
    return None


class AccessLine(msgspec.Struct, kw_only=True):
    """One request of a surface as it is logged.

    REST names the parameters, MCP the method of its protocol (``rpc``) and the tool.
    """

    time: datetime
    logger: str = ACCESS_LOG
    surface: str
    client: str
    method: str = ""
    path: str = ""
    parameters: list[str] | msgspec.UnsetType = msgspec.UNSET
    rpc: str | msgspec.UnsetType = msgspec.UNSET
    tool: str | msgspec.UnsetType | None = msgspec.UNSET
    status: int
    milliseconds: float = 0.0
    bytes: int
    key: str | None = None
    data_version: str | None = None
    request_id: str


def logged_path(path: str) -> str:
    """Return a path as it is logged: without keys, and not longer than a real one."""
    return redact_keys(path)[:_LONGEST_PATH]


def log_access(line: AccessLine) -> None:
    """Log one request; in a server past the logging module, which costs more than the line."""
    encoded = _encode(line)
    if _writer is None:
        _ACCESS.info(encoded.decode())
    else:
        _writer.add(encoded)


def lines_dropped() -> int:
    """Return how many lines this process has lost."""
    return 0 if _writer is None else _writer.dropped


def flush_log() -> None:
    """Write the queued lines, before a process ends."""
    if _writer is not None:
        _writer.flush()


def _pieces(lines: list[bytes]) -> list[bytes]:
    """Join lines to pieces that are written whole."""
    pieces = [b""]
    for line in lines:
        if pieces[-1] and len(pieces[-1]) + len(line) >= _PIECE_BYTES:
            pieces.append(b"")
        pieces[-1] += line + b"\n"
    return pieces if pieces[0] else []


def _dropped_line(number: int) -> bytes:
    line = LogLine(
        datetime.now(UTC),
        "warning",
        "sankofa.log",
        "lines were dropped: the log could not be written, or its reader was too slow",
        lines_dropped=number,
    )
    return _encode(line)


def server_options(settings: Settings, **values: object) -> dict[str, Any]:
    """Return the options of a server by name: its own values, and what its argument says as JSON.

    The commands `serve` and `mcp` write the argument.
    """
    # Not in the argument: a URL can contain a password, and everyone on a machine can read the
    # arguments of its processes. Without a usage store requests are neither counted nor limited,
    # without a folder for metrics none are kept.
    stores = {name: settings.explicit(name) for name in ("usage", "metrics")}
    places = {"marts": settings.marts, "control": settings.control, "host": "127.0.0.1"}
    given = msgspec.json.decode(sys.argv[1]) if len(sys.argv) > 1 else {}
    return {**stores, **places, "workers": cores(), **values, **given}
