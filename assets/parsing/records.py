"""A file of records none of which may be too long: it would have to fit into memory."""

from typing import Protocol


class Readable(Protocol):
    """A file that can be read."""

    def read(self, size: int, /) -> bytes:
        """Read at most ``size`` bytes."""
        ...


class RecordTooLong(Exception):
    """A record is longer than any; the message is the reason."""


class BoundedRecords:
    """A file that raises RecordTooLong if too much is read of it without a record."""

    def __init__(self, file: Readable, longest: int) -> None:
        self._file, self._longest = file, longest
        self._read = 0

    def next_record(self) -> None:
        """Note that a record is complete."""
        self._read = 0

    def read(self, size: int = -1) -> bytes:
        """Read at most ``size`` bytes."""
        content = self._file.read(size)
        self._read += len(content)
        if self._read > self._longest:
            raise RecordTooLong(f"a record longer than {self._longest} bytes")
        return content
