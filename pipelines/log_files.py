"""Log files of servers that cannot fill the disk: a file that is full becomes an older one."""

import os
from itertools import pairwise
from pathlib import Path

# The file that is written and three older ones: `rest.log`, `rest.log.1` and so on.
FILES = 4


class LogFile:
    """A log file; ``write`` begins a new one before it would grow beyond its share of the bytes.

    All files together take at most ``most_bytes``, whatever is written.
    """

    def __init__(self, path: Path, most_bytes: int) -> None:
        self.path, self._file_bytes = path, most_bytes // FILES
        self._descriptor: int | None = None
        self._size = 0

    def write(self, piece: bytes) -> int:
        """Append bytes; return how many were written. Raise OSError if none can be."""
        if self._descriptor is None:
            self._open()
        if self._size and self._size + len(piece) > self._file_bytes:
            self._begin_new()
        assert self._descriptor is not None
        written = os.write(self._descriptor, piece[: self._file_bytes])
        self._size += written
        return written

    def close(self) -> None:
        """Close the file; the next write opens it again."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _open(self) -> None:
        self.path.parent.mkdir(0o700, parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        self._descriptor = os.open(self.path, flags, 0o600)
        self._size = os.fstat(self._descriptor).st_size

    def _begin_new(self) -> None:
        self.close()
        names = [self.path, *(Path(f"{self.path}.{number}") for number in range(1, FILES))]
        # From the oldest, which is replaced.
        for newer, older in reversed(list(pairwise(names))):
            if newer.exists():
                newer.replace(older)
        self._open()
