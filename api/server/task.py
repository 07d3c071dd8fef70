"""How a request is worked off and its answer written, with less motion than waitress has."""

from functools import lru_cache
from typing import Any, ClassVar

from waitress.parser import HTTPRequestParser
from waitress.task import ThreadedTaskDispatcher, WSGITask
from waitress.utilities import build_http_date

_HOW_IT_GOES_ON = frozenset({"CONNECTION", "CONTENT_LENGTH", "EXPECT", "TRANSFER_ENCODING"})
_LONGEST_HELD, _MOST_HELD = 2_048, 2_048


class AtOnce(ThreadedTaskDispatcher):
    """Works a request off in the main loop, right where it was read.

    For a service whose stores are local files: nothing of a request waits, so that a thread
    of its own would only fight for the interpreter. See ``Channel.work``.
    """

    def add_task(self, channel: Any) -> None:
        """Note that the connection has a request to be worked off."""
        channel.owed = True

    def set_thread_count(self, count: int) -> None:
        """Have no threads."""

    def shutdown(self, cancel_pending: bool = True, timeout: float = 5) -> bool:
        """End: nothing is ever under way here."""
        return True


class Parser(HTTPRequestParser):
    """Reads headers that it has just read, byte for byte, from memory: a client repeats its own.

    What says how the request goes on is always read anew.
    """

    _held: ClassVar[dict[bytes, dict[str, str]]] = {}

    def parse_header(self, header_plus: bytes) -> None:
        """Read the first line, and the headers unless they are known."""
        first, _, rest = header_plus.partition(b"\r\n")
        known = self._held.get(rest)
        if known is not None:
            super().parse_header(first + b"\r\n")
            self.headers = {**self.headers, **known}
            return
        super().parse_header(header_plus)
        ordinary = not self.chunked and _HOW_IT_GOES_ON.isdisjoint(self.headers)
        if ordinary and len(rest) <= _LONGEST_HELD:
            if len(self._held) >= _MOST_HELD:
                self._held.clear()
            self._held[rest] = dict(self.headers)


class Answer(WSGITask):
    """Writes the head of an answer and its whole body in one step."""

    def write(self, data: bytes) -> None:
        """Send head and body together where the body is whole; else as waitress does."""
        whole = self.content_length == len(data) and self.complete and self.has_body
        if self.wrote_header or not data or not whole:
            super().write(data)
            return
        head = self.build_response_header()
        self.wrote_header = True
        if self.chunked_response:
            super().write(data)
            return
        self.content_bytes_written = len(data)
        channel: Any = self.channel
        channel.write_at_once(head, data)

    def build_response_header(self) -> bytes:
        """Write the head; that of an ordinary answer by a shorter way, to the same bytes."""
        request: Any = self.request
        ordinary = self.version == "1.1" and "CONNECTION" not in request.headers
        if not ordinary or (self.has_body and self.content_length is None):
            return bytes(super().build_response_header())
        lines = [f"{_written(name)}: {value}" for name, value in self.response_headers]
        lines.append(f"Date: {_date(int(self.start_time))}")
        lines.sort(key=_name)
        return "\r\n".join((f"HTTP/1.1 {self.status}", *lines, "\r\n")).encode("latin-1")


def _name(line: str) -> str:
    return line.partition(":")[0]


@lru_cache(256)
def _written(name: str) -> str:
    return "-".join(part.capitalize() for part in name.split("-"))


@lru_cache(2)
def _date(second: int) -> str:
    return str(build_http_date(second))
