"""From bytes to located JSON values; nothing here knows what a release is.

Numbers are read exactly. Bytes that are not JSON are reported with their location, never replaced.
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

# A gzip that decompresses to more is refused: it is a bomb, not a page of a portal.
LARGEST = 1 << 30

_BOMS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))
_DECODER = msgspec.json.Decoder(float_hook=Decimal)
# Decodes a value and returns where it ends, which msgspec does not; slower.
# Only the standard library says where a value ends; msgspec refuses anything after it.
_ENDS = json.JSONDecoder(parse_float=Decimal)
# After a value that cannot be read: the next line that could begin one.
_RESTART = re.compile(r"\n(?=[\[{])")
_SPACE = re.compile(r"\s*")
DECODE_ERRORS = (ValueError, ArithmeticError, RecursionError)


@dataclass(frozen=True)
class JsonValue:
    """One JSON value; ``damaged`` if its text may contain undecodable bytes.

    ``location`` is empty if it is the whole body; ``line`` is where it begins then.
    """

    location: str
    value: Any
    damaged: bool = False
    line: int = 1


@dataclass(frozen=True)
class Unreadable:
    """A location where nothing could be read, and why."""

    location: str
    reason: str


# Decodes a text that is one value; raises only DECODE_ERRORS.
Decode = Callable[[str], Any]


def decode_json(text: str) -> Any:
    """Decode a text that is one JSON value, with exact numbers."""
    return _DECODER.decode(text)


def json_values(body: bytes, decode: Decode = decode_json) -> Iterator[JsonValue | Unreadable]:
    """Yield the values of a body: one value, JSON Lines or concatenated, gzipped or not."""
    try:
        text = decode_text(_decompressed(body))
    except (OSError, EOFError, zlib.error, ValueError) as error:
        yield Unreadable("", f"the body cannot be opened: {error}")
        return
    if not text.strip():
        yield Unreadable("", "the body is empty")
        return
    try:
        yield JsonValue("", decode(text), line=1 + text.count("\n", 0, _space(text, 0)))
    except DECODE_ERRORS:
        yield from read_concatenated(text, decode)


def _decompressed(body: bytes) -> bytes:
    if not body.startswith(b"\x1f\x8b"):
        return body
    with gzip.GzipFile(fileobj=io.BytesIO(body)) as compressed:
        content = compressed.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise ValueError(f"it opens to more than {LARGEST} bytes")
    return content


def decode_text(body: bytes) -> str:
    """Decode as UTF-8 or UTF-16, else Latin-1; undecodable bytes stay as lone surrogates.

    A text that mixes real UTF-8 with wrong bytes, or has C1 control characters if read as
    Latin-1, is damaged UTF-8 rather than Latin-1.
    """
    for mark, encoding in _BOMS:
        if body.startswith(mark):
            return body[len(mark) :].decode(encoding, "surrogateescape")
    try:
        return body.decode()
    except UnicodeDecodeError:
        marked = body.decode("utf-8", "surrogateescape")
        latin = body.decode("latin-1")
        mixed = any("\x7f" < char < "\ud800" or char > "\udfff" for char in marked)
        return marked if mixed or re.search("[\x80-\x9f]", latin) else latin


def read_concatenated(
    text: str, decode: Decode = decode_json, first_line: int = 1
) -> Iterator[JsonValue | Unreadable]:
    """Yield concatenated values, located by the line on which each begins."""
    start, line, counted = _space(text, 0), first_line, 0
    while start < len(text):
        line += text.count("\n", counted, start)
        counted = start
        value, end = _value(text, start, decode)
        if isinstance(value, Unreadable):
            whole = first_line == 1 and start == _space(text, 0) and end == len(text)
            yield Unreadable("" if whole else f"line {line}", value.reason)
        else:
            yield JsonValue(f"line {line}", value.value, value.damaged)
        start = _space(text, end)


def _value(text: str, start: int, decode: Decode) -> tuple[JsonValue | Unreadable, int]:
    """Decode the value at ``start``: the line if it is one, else as far as the value goes.

    On failure, resume at the next line that could begin a value.
    """
    end = text.find("\n", start)
    end = len(text) if end < 0 else end
    try:
        return JsonValue("", decode(text[start:end])), end
    except DECODE_ERRORS:
        pass
    try:
        value, end = _ENDS.raw_decode(text, start)
        return JsonValue("", value, damaged=True), end
    except DECODE_ERRORS as error:
        restart = _RESTART.search(text, start + 1)
        return Unreadable("", f"not JSON: {_reason(error)}"), restart.end() if restart else len(
            text
        )


def _reason(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "nested too deeply"
    return error.msg if isinstance(error, json.JSONDecodeError) else "a number out of range"


def _space(text: str, start: int) -> int:
    space = _SPACE.match(text, start)
    return space.end() if space else start
