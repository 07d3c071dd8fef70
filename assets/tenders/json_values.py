"""From bytes to JSON values with their places; nothing here knows what a release is.

Numbers are read exactly. Bytes that are no JSON are named with their place, never replaced.
"""

import gzip
import io
import json
import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import msgspec

# A gzip that opens to more than this is refused: it is a bomb, or no page of a portal.
LARGEST = 1 << 30

_BOMS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))
_DECODER = msgspec.json.Decoder(float_hook=Decimal)
_ENDS = json.JSONDecoder(parse_float=Decimal)
_RESTART = re.compile(r"\n(?=[\[{])")
_SPACE = re.compile(r"\s*")
MISREAD = (ValueError, ArithmeticError, RecursionError)


@dataclass(frozen=True)
class Part:
    """One JSON value; ``broken`` where some of its text is not what was written."""

    place: str
    value: Any
    broken: bool = False


@dataclass(frozen=True)
class Unread:
    """A place of which nothing could be read, and why."""

    place: str
    reason: str


# Reads a text that is one value; what it raises is in MISREAD.
Decode = Callable[[str], Any]


def decoded(text: str) -> Any:
    """Read a text that is one JSON value, numbers exactly."""
    return _DECODER.decode(text)


def parts(body: bytes, decode: Decode = decoded) -> Iterator[Part | Unread]:
    """Read one JSON value, JSON Lines or values one after another, gzipped or not."""
    try:
        text = as_text(_unpacked(body))
    except (OSError, EOFError, zlib.error, ValueError) as error:
        yield Unread("", f"the body cannot be opened: {error}")
        return
    if not text.strip():
        yield Unread("", "the body is empty")
        return
    try:
        yield Part("", decode(text))
    except MISREAD:
        yield from one_after_another(text, decode)


def _unpacked(body: bytes) -> bytes:
    if not body.startswith(b"\x1f\x8b"):
        return body
    with gzip.GzipFile(fileobj=io.BytesIO(body)) as packed:
        opened = packed.read(LARGEST + 1)
    if len(opened) > LARGEST:
        raise ValueError(f"it opens to more than {LARGEST} bytes")
    return opened


def as_text(body: bytes) -> str:
    """Decode; a byte that is neither UTF-8 nor Latin-1 stays marked as a lone surrogate."""
    for mark, encoding in _BOMS:
        if body.startswith(mark):
            return body[len(mark) :].decode(encoding, "surrogateescape")
    try:
        return body.decode()
    except UnicodeDecodeError:
        marked = body.decode("utf-8", "surrogateescape")
        latin = body.decode("latin-1")
        mixed = any("\x7f" < each < "\ud800" or each > "\udfff" for each in marked)
        return marked if mixed or re.search("[\x80-\x9f]", latin) else latin


def one_after_another(
    text: str, decode: Decode = decoded, first_line: int = 1
) -> Iterator[Part | Unread]:
    """Read values that follow each other, each with the line on which it begins."""
    start, line, counted = _space(text, 0), first_line, 0
    while start < len(text):
        line += text.count("\n", counted, start)
        counted = start
        value, end = _value(text, start, decode)
        if isinstance(value, Unread):
            whole = first_line == 1 and start == _space(text, 0) and end == len(text)
            yield Unread("" if whole else f"line {line}", value.reason)
        else:
            yield Part(f"line {line}", value.value, value.broken)
        start = _space(text, end)


def _value(text: str, start: int, decode: Decode) -> tuple[Part | Unread, int]:
    """Read the value that starts here: the line if it is one, else as far as it goes."""
    end = text.find("\n", start)
    end = len(text) if end < 0 else end
    try:
        return Part("", decode(text[start:end])), end
    except MISREAD:
        pass
    try:
        value, end = _ENDS.raw_decode(text, start)
        return Part("", value, broken=True), end
    except MISREAD as error:
        restart = _RESTART.search(text, start + 1)
        return Unread("", f"not JSON: {_words(error)}"), restart.end() if restart else len(text)


def _words(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "nested too deeply"
    return error.msg if isinstance(error, json.JSONDecodeError) else "a number out of range"


def _space(text: str, start: int) -> int:
    found = _SPACE.match(text, start)
    return found.end() if found else start
