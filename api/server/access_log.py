"""The log of a server: lines are gathered and written where the main loop has a moment."""

import logging
import sys
from collections import deque

_ACCESS = logging.getLogger("sankofa.access")


class Gathered(logging.Handler):
    """Writes to stderr when it is told to; anything worse than information at once."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: deque[str] = deque()

    def emit(self, record: logging.LogRecord) -> None:
        """Take a line."""
        self.lines.append(self.format(record))
        if record.levelno > logging.INFO:
            self.write_out()

    def write_out(self) -> None:
        """Write what was gathered, in one piece."""
        lines = [self.lines.popleft() for _ in range(len(self.lines))]
        if lines:
            sys.stderr.write("\n".join((*lines, "")))
            sys.stderr.flush()


_gathered: Gathered | None = None


def log_to_stderr() -> None:
    """Log as a server does."""
    global _gathered
    _gathered = Gathered()
    logging.basicConfig(level=logging.INFO, format="%(name)s %(message)s", handlers=[_gathered])


def log_access(line: str) -> None:
    """Log a line of a request; a server, which logs one for each, does it by the short way."""
    if _gathered is None:
        _ACCESS.info(line)
    else:
        _gathered.lines.append(f"{_ACCESS.name} {line}")


def write_log() -> None:
    """Write what the log has gathered."""
    if _gathered is not None:
        _gathered.write_out()
