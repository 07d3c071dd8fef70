"""The access log: lines are buffered and written between two turns of the main loop."""

import logging
import sys
from collections import deque

_ACCESS_LOG = logging.getLogger("sankofa.access")


class BufferedStderrHandler(logging.Handler):
    """Writes to stderr when flushed; warnings and errors at once."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: deque[str] = deque()

    def emit(self, record: logging.LogRecord) -> None:
        """Buffer a line."""
        self.lines.append(self.format(record))
        if record.levelno > logging.INFO:
            self.write_lines()

    def write_lines(self) -> None:
        """Write the buffered lines in one call."""
        # Threads may append meanwhile: take as many as there are now.
        lines = [self.lines.popleft() for _ in range(len(self.lines))]
        if lines:
            sys.stderr.write("\n".join((*lines, "")))
            sys.stderr.flush()


_handler: BufferedStderrHandler | None = None


def log_to_stderr() -> None:
    """Set up logging for a server process."""
    global _handler
    _handler = BufferedStderrHandler()
    logging.basicConfig(level=logging.INFO, format="%(name)s %(message)s", handlers=[_handler])


def log_access(line: str) -> None:
    """Log one request; in a server past the logging module, which costs more than the line."""
    if _handler is None:
        _ACCESS_LOG.info(line)
    else:
        _handler.lines.append(f"{_ACCESS_LOG.name} {line}")


def flush_log() -> None:
    """Write the buffered lines."""
    if _handler is not None:
        _handler.write_lines()
