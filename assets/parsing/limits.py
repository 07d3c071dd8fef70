"""How much one document may cost: bytes when unpacked, memory, CPU seconds and rejections.

Parsers count what they unpack and reject here; a document that exceeds a limit raises
LimitExceeded. Memory and CPU are limited by the process that reads (``assets/ingest/workers.py``).
Without a budget nothing is limited, so that a parser stays a function of its document.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from warehouse.shared.settings import Settings

_MB = 1 << 20
# What a long document may cost beyond the base, for each megabyte of it.
_SECONDS_PER_MB = 3
_MEMORY_MB_PER_MB = 16
_REJECTIONS_PER_MB = 500
# Data is compressed to a tenth or a fiftieth; what becomes far less was made to. A short document
# may unpack to so much in any case.
_MOST_COMPRESSED, _SMALL = 100, 8 * _MB


class LimitExceeded(Exception):
    """A document needs more than it may; the message is the reason in the quarantine."""


@dataclass(frozen=True)
class DocumentLimits:
    """The limits of one document.

    ``whole_mb``: unpacked size of one that is read as a whole, ``stream_mb`` of one that is read
    part by part. ``memory_mb`` is what its process may take beyond what it had before, ``seconds``
    what it may compute. These and ``rejections`` grow with the size of the document.
    """

    whole_mb: int = 128
    stream_mb: int = 64 << 10
    memory_mb: int = 192
    seconds: int = 10
    rejections: int = 20_000

    @classmethod
    def of(cls, settings: Settings) -> "DocumentLimits":
        """Return the limits of an installation."""
        return cls(
            settings.document_mb,
            settings.stream_mb,
            settings.document_memory_mb,
            settings.document_seconds,
            settings.document_rejections,
        )

    def cpu_seconds(self, size: int) -> float:
        """Return the CPU seconds that so many bytes may take."""
        return self.seconds + _SECONDS_PER_MB * size / _MB

    def memory(self, size: int) -> int:
        """Return the bytes of memory that reading so many bytes may take."""
        return self.memory_mb * _MB + _MEMORY_MB_PER_MB * size

    def most_rejections(self, size: int) -> int:
        """Return how many records of so many bytes may be rejected."""
        return self.rejections + _REJECTIONS_PER_MB * size // _MB

    def out_of_memory(self, size: int) -> str:
        """Return the reason against a document of so many bytes that needs too much memory."""
        return (
            f"limit of memory exceeded: more than {self.memory(size) // _MB} MB for {size:,} "
            f"bytes; the limit is SANKOFA_DOCUMENT_MEMORY_MB={self.memory_mb} and "
            f"{_MEMORY_MB_PER_MB} MB for each MB"
        )

    def out_of_time(self, size: int) -> str:
        """Return the reason against a document, or a part of so many bytes, that takes too long."""
        return (
            f"limit of CPU time exceeded: more than {self.cpu_seconds(size):.0f} s for "
            f"{size:,} bytes; the limit is SANKOFA_DOCUMENT_SECONDS={self.seconds} and "
            f"{_SECONDS_PER_MB} s for each MB"
        )

    def killed(self, how: str, size: int) -> str:
        """Return the reason against a document whose readers ended, for example for a signal.

        A library that checks no allocation ends like this too, so the setting is named.
        """
        return (
            f"its reader ended ({how}), within the limits of {self.memory(size) // _MB} MB "
            f"of memory and {self.cpu_seconds(size):.0f} s of CPU time; if it ran out of memory, "
            f"raise SANKOFA_DOCUMENT_MEMORY_MB={self.memory_mb}"
        )

    def too_many_rejections(self, count: int, size: int) -> str:
        """Return the reason against a document of which too much is rejected."""
        return (
            f"limit of rejections exceeded: {count:,} records in {size:,} bytes could not be read; "
            f"the limit is SANKOFA_DOCUMENT_REJECTIONS={self.rejections} and "
            f"{_REJECTIONS_PER_MB:,} for each MB"
        )


class Budget:
    """What a document, or a part of one, has used of its limits."""

    def __init__(
        self,
        limits: DocumentLimits,
        size: int = 0,
        *,
        is_stream: bool = False,
        unpacking: Callable[[int], None] | None = None,
    ) -> None:
        self._limits, self._size, self._is_stream = limits, size, is_stream
        self._unpacked = self._rejected = 0
        # Whoever limits memory and CPU is told what is unpacked: they grow with it.
        self._unpacking = unpacking

    @property
    def size(self) -> int:
        """The bytes of the document, unpacked if it is packed."""
        return max(self._size, self._unpacked)

    def unpack(self, count: int) -> None:
        """Count bytes that were unpacked."""
        self._unpacked += count
        self.require_size(self._unpacked)
        if self._size and self._unpacked > max(_SMALL, _MOST_COMPRESSED * self._size):
            raise LimitExceeded(
                f"limit of compression exceeded: {self._size:,} bytes unpack to at least "
                f"{self._unpacked:,}; the limit is {_MOST_COMPRESSED} times"
            )
        if self._unpacking is not None:
            self._unpacking(count)

    def require_size(self, size: int) -> None:
        """Raise LimitExceeded if a document of so many bytes is too long."""
        most = self._limits.stream_mb if self._is_stream else self._limits.whole_mb
        if size > most * _MB:
            setting = "SANKOFA_STREAM_MB" if self._is_stream else "SANKOFA_DOCUMENT_MB"
            raise LimitExceeded(
                f"limit of unpacked size exceeded: at least {size:,} bytes; the limit is "
                f"{most * _MB:,} bytes ({setting}={most})"
            )

    def reject(self) -> None:
        """Count a record that could not be read."""
        self._rejected += 1
        if self._rejected > self._limits.most_rejections(self.size):
            raise LimitExceeded(self._limits.too_many_rejections(self._rejected, self.size))


# Of each thread.
_budget: ContextVar[Budget | None] = ContextVar("budget", default=None)


@contextmanager
def spending(budget: Budget) -> Iterator[None]:
    """Let what is read within this block count against a budget."""
    before = _budget.get()
    _budget.set(budget)
    try:
        yield
    finally:
        _budget.set(before)


def count_unpacked(size: int) -> None:
    """Count bytes that a parser is about to unpack, or has unpacked."""
    if budget := _budget.get():
        budget.unpack(size)


def count_rejected() -> None:
    """Count a record that a parser rejects."""
    if budget := _budget.get():
        budget.reject()
