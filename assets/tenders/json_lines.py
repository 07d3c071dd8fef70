"""The concatenated JSON values of a long body, located by the line on which each begins.

Usually a line is a value. Where it is not, the lines up to the next one that could begin a value
are read together. A value that is too long is rejected, so that memory stays flat.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

import msgspec

from assets.tenders.json_values import JsonValue, Unreadable, decode_text, read_concatenated
from assets.tenders.ocds import decode_release
from assets.tenders.releases import decode_release_or_value

# A longer value is refused: it is not a release, or it is a bomb.
LONGEST = 16 << 20

# How a line that could begin a value begins, after the end of the line before it.
_BEGINNINGS = (b"\n{", b"\n[")

Line = tuple[int, bytes | None]


def first_value_is_complete(start: bytes) -> bool:
    """Return whether the first value of a body ends within its beginning ``start``."""
    # The usual case, decided without decoding megabytes.
    line = start.lstrip().partition(b"\n")[0].rstrip()
    if line.startswith(b"{") and line.endswith(b"}"):
        return True
    try:
        # Raw: nothing is built of what is read.
        msgspec.json.decode(start, type=msgspec.Raw)
    except RecursionError:
        return False
    except msgspec.DecodeError as error:
        # Something follows a complete value.
        return "trailing characters" in str(error)
    return True


@dataclass(frozen=True)
class Lines:
    """Consecutive whole lines of a body; ``utf8`` if a line before them proved it to be UTF-8."""

    content: bytes
    first_line: int
    utf8: bool


def cut_lines(
    chunks: Iterable[bytes], size: int, longest: int = LONGEST
) -> Iterator[Lines | JsonValue | Unreadable]:
    """Cut a body into parts of some ``size`` bytes, each before a line that could begin a value.

    Where there is none for too long, the rest is read here, value by value.
    """
    # Bytes that can be added to: a body of gigabytes comes in chunks of one megabyte.
    rest, first_line, utf8, searched = bytearray(), 1, False, 0
    pending = iter(chunks)
    while True:
        try:
            chunk = next(pending, None)
        except Exception:
            # The body is damaged from here on: its whole lines are kept.
            if at := rest.rfind(b"\n") + 1:
                yield Lines(bytes(rest[:at]), first_line, utf8)
            raise
        if chunk is None:
            break
        rest += chunk
        while len(rest) > size and (at := _boundary(rest, size, searched)):
            content = bytes(rest[:at])
            del rest[:at]
            searched = 0
            yield Lines(content, first_line, utf8)
            first_line += content.count(b"\n")
            utf8 = utf8 or _proves_utf8(content)
        # Up to here nothing begins a value; the last byte may be the first of a mark.
        searched = len(rest) - 1 if len(rest) > size else 0
        if len(rest) > max(size, longest):
            yield from values(chain([bytes(rest)], pending), longest, first_line, utf8)
            return
    if rest:
        yield Lines(bytes(rest), first_line, utf8)


def _boundary(lines: bytearray, size: int, searched: int) -> int:
    """Return where the last line within ``size`` that could begin a value begins, or the next.

    Before ``searched`` there is none.
    """
    if not searched and (before := max(lines.rfind(mark, 0, size + 2) for mark in _BEGINNINGS) + 1):
        return before
    start = max(size, searched)
    return min((at + 1 for mark in _BEGINNINGS if (at := lines.find(mark, start)) >= 0), default=0)


def _proves_utf8(content: bytes) -> bool:
    """Return whether a reader of these lines would know that the body is UTF-8."""
    if content.isascii():
        return False
    try:
        content.decode()
    except UnicodeDecodeError:
        reader = _ValueReader()
        for number, line in _lines([content], len(content)):
            for _ in reader.read(number, line or b""):
                pass
        for _ in reader.rest():
            pass
        return reader.utf8
    return True


def values(
    chunks: Iterable[bytes], longest: int = LONGEST, first_line: int = 1, utf8: bool = False
) -> Iterator[JsonValue | Unreadable]:
    """Yield the values of a body of any length, or of its lines from ``first_line`` on."""
    reader = _ValueReader(utf8)
    for number, line in _lines(chunks, longest, first_line):
        if line is None:
            yield from reader.rest()
            yield Unreadable(f"line {number}", f"longer than {longest} bytes")
        else:
            yield from reader.read(number, line)
            if reader.size > longest:
                yield reader.too_long(longest)
    yield from reader.rest()


class _ValueReader:
    """Collects lines until one begins a new value."""

    def __init__(self, utf8: bool = False) -> None:
        self._pending: list[bytes] = []
        self._first = 1
        # Once a line was UTF-8 beyond ASCII, wrong bytes are damage and not Latin-1.
        self.utf8 = utf8
        self.size = 0

    def read(self, number: int, line: bytes) -> Iterator[JsonValue | Unreadable]:
        """Yield the values that end before this line, and the line itself if it is a release."""
        if self._pending and line[:1] not in (b"{", b"["):
            self._add(line)
            return
        yield from self.rest()
        # The usual line is a release: decode it straight to its struct, without a text first.
        if release := decode_release(line):
            self.utf8 = self.utf8 or not line.isascii()
            yield JsonValue(f"line {number}", release)
        elif line.strip():
            self._first = number
            self._add(line)

    def rest(self) -> Iterator[JsonValue | Unreadable]:
        """Yield the values of the pending lines."""
        pending, self._pending, self.size = b"\n".join(self._pending), [], 0
        if pending:
            yield from self._numbered(self._text(pending) or self._marked(pending))

    def too_long(self, longest: int) -> Unreadable:
        """Discard the pending lines."""
        self._pending, self.size = [], 0
        return Unreadable(f"line {self._first}", f"longer than {longest} bytes")

    def _add(self, line: bytes) -> None:
        self._pending.append(line)
        self.size += len(line) + 1

    def _numbered(self, text: str) -> Iterator[JsonValue | Unreadable]:
        for value in read_concatenated(text, decode_release_or_value, self._first):
            # Only an unreadable value can have no location: give it that of the first line.
            yield value if value.location else Unreadable(f"line {self._first}", value.reason)  # type: ignore[union-attr]

    def _text(self, line: bytes) -> str | None:
        """Decode UTF-8 and remember that the body uses it; None if it is not UTF-8."""
        try:
            text = line.decode()
        except UnicodeDecodeError:
            return None
        self.utf8 = self.utf8 or not text.isascii()
        return text

    def _marked(self, pending: bytes) -> str:
        """Decode what is not UTF-8; in a UTF-8 body the wrong bytes become surrogates."""
        return pending.decode("utf-8", "surrogateescape") if self.utf8 else decode_text(pending)


def _lines(chunks: Iterable[bytes], longest: int, first_line: int = 1) -> Iterator[Line]:
    """Yield numbered lines; None instead of one that is too long, which is not kept in memory."""
    # The parts of the last line are joined once: it can be as long as many chunks.
    number, rest, length, too_long = first_line, list[bytes](), 0, False
    for chunk in chunks:
        first, *following = chunk.split(b"\n")
        length += len(first)
        too_long = too_long or length > longest
        rest = [] if too_long else [*rest, first]
        for line in following:
            yield number, None if too_long else b"".join(rest)
            number, rest, length, too_long = number + 1, [line], len(line), False
    if length or too_long:
        yield number, None if too_long else b"".join(rest)
