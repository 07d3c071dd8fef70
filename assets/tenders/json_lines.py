"""Values one after another out of a long body, each with the line on which it begins.

A value is a line; where a line is none, the lines up to the next that could begin one are
read together. A value that is too long is rejected, so that memory stays flat.
"""

import json
from collections.abc import Iterable, Iterator

from assets.tenders.json_values import MISREAD, Part, Unread, as_text, one_after_another
from assets.tenders.ocds import alone
from assets.tenders.releases import release_or_value

# A single value longer than this is refused: it is no release, or a bomb.
LONGEST = 64 << 20

Line = tuple[int, bytes | None]


def first_is_whole(start: bytes) -> bool:
    """Tell whether a body begins with a value that ends within what is given of it."""
    line = start.lstrip().partition(b"\n")[0].rstrip()
    if line.startswith(b"{") and line.endswith(b"}"):
        return True
    try:
        json.JSONDecoder().raw_decode(start.decode("utf-8", "replace").lstrip())
    except MISREAD:
        return False
    return True


def values(pieces: Iterable[bytes], longest: int = LONGEST) -> Iterator[Part | Unread]:
    """Give the values of a body that may be of any length."""
    reader = _Values()
    for number, line in _lines(pieces, longest):
        if line is None:
            yield from reader.rest()
            yield Unread(f"line {number}", f"longer than {longest} bytes")
        else:
            yield from reader.read(number, line)
            if reader.size > longest:
                yield reader.too_long(longest)
    yield from reader.rest()


class _Values:
    """The lines that are read together until one begins a value."""

    def __init__(self) -> None:
        self._held: list[bytes] = []
        self._first = 1
        self._utf8 = False
        self.size = 0

    def read(self, number: int, line: bytes) -> Iterator[Part | Unread]:
        """Give what the line ends, and the line itself where it is a value."""
        if self._held and line[:1] not in (b"{", b"["):
            self._hold(line)
            return
        yield from self.rest()
        if release := alone(line):
            self._utf8 = self._utf8 or not line.isascii()
            yield Part(f"line {number}", release)
        elif line.strip():
            self._first = number
            self._hold(line)

    def rest(self) -> Iterator[Part | Unread]:
        """Give what is held."""
        held, self._held, self.size = b"\n".join(self._held), [], 0
        if held:
            yield from self._numbered(self._text(held) or self._marked(held))

    def too_long(self, longest: int) -> Unread:
        """Let go of what is held."""
        self._held, self.size = [], 0
        return Unread(f"line {self._first}", f"longer than {longest} bytes")

    def _hold(self, line: bytes) -> None:
        self._held.append(line)
        self.size += len(line) + 1

    def _numbered(self, text: str) -> Iterator[Part | Unread]:
        for each in one_after_another(text, release_or_value, self._first):
            yield each if each.place else Unread(f"line {self._first}", each.reason)  # type: ignore[union-attr]

    def _text(self, line: bytes) -> str | None:
        """Decode UTF-8, and know that the body is written in it; None where it is not."""
        try:
            text = line.decode()
        except UnicodeDecodeError:
            return None
        self._utf8 = self._utf8 or not text.isascii()
        return text

    def _marked(self, held: bytes) -> str:
        """Decode what is not UTF-8: in a body that is, its wrong bytes stay marked."""
        return held.decode("utf-8", "surrogateescape") if self._utf8 else as_text(held)


def _lines(pieces: Iterable[bytes], longest: int) -> Iterator[Line]:
    """Give numbered lines; None for one that is too long, of which nothing is held."""
    number, rest, too_long = 1, b"", False
    for piece in pieces:
        first, *more = piece.split(b"\n")
        too_long = too_long or len(rest) + len(first) > longest
        rest = b"" if too_long else rest + first
        for line in more:
            yield number, None if too_long else rest
            number, rest, too_long = number + 1, line, False
    if rest or too_long:
        yield number, None if too_long else rest
