"""The concatenated JSON values of a long body, located by the line on which each begins.

Usually a line is a value. Where it is not, the lines up to the next one that could begin a value
are read together. A value that is too long is rejected, so that memory stays flat.
"""

import json
from collections.abc import Iterable, Iterator

from assets.tenders.json_values import (
    DECODE_ERRORS,
    JsonValue,
    Unreadable,
    decode_text,
    read_concatenated,
)
from assets.tenders.ocds import decode_release
from assets.tenders.releases import decode_release_or_value

# A longer value is refused: it is not a release, or it is a bomb.
LONGEST = 64 << 20

Line = tuple[int, bytes | None]


def first_value_is_complete(start: bytes) -> bool:
    """Return whether the first value of a body ends within its beginning ``start``."""
    # The usual case, decided without decoding megabytes.
    line = start.lstrip().partition(b"\n")[0].rstrip()
    if line.startswith(b"{") and line.endswith(b"}"):
        return True
    try:
        json.JSONDecoder().raw_decode(start.decode("utf-8", "replace").lstrip())
    except DECODE_ERRORS:
        return False
    return True


def values(chunks: Iterable[bytes], longest: int = LONGEST) -> Iterator[JsonValue | Unreadable]:
    """Yield the values of a body of any length."""
    reader = _ValueReader()
    for number, line in _lines(chunks, longest):
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

    def __init__(self) -> None:
        self._pending: list[bytes] = []
        self._first = 1
        # Once a line was UTF-8 beyond ASCII, wrong bytes are damage and not Latin-1.
        self._utf8 = False
        self.size = 0

    def read(self, number: int, line: bytes) -> Iterator[JsonValue | Unreadable]:
        """Yield the values that end before this line, and the line itself if it is a release."""
        if self._pending and line[:1] not in (b"{", b"["):
            self._add(line)
            return
        yield from self.rest()
        # The usual line is a release: decode it straight to its struct, without a text first.
        if release := decode_release(line):
            self._utf8 = self._utf8 or not line.isascii()
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
        self._utf8 = self._utf8 or not text.isascii()
        return text

    def _marked(self, pending: bytes) -> str:
        """Decode what is not UTF-8; in a UTF-8 body the wrong bytes become surrogates."""
        return pending.decode("utf-8", "surrogateescape") if self._utf8 else decode_text(pending)


def _lines(chunks: Iterable[bytes], longest: int) -> Iterator[Line]:
    """Yield numbered lines; None instead of one that is too long, which is not kept in memory."""
    number, rest, too_long = 1, b"", False
    for chunk in chunks:
        first, *following = chunk.split(b"\n")
        too_long = too_long or len(rest) + len(first) > longest
        rest = b"" if too_long else rest + first
        for line in following:
            yield number, None if too_long else rest
            number, rest, too_long = number + 1, line, False
    if rest or too_long:
        yield number, None if too_long else rest
