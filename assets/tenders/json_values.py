"""From bytes to located JSON values; nothing here knows what a release is.

Numbers are read exactly. Bytes that are not JSON are reported with their location, never replaced.
"""

import json
import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import msgspec

from assets.parsing.unpacking import gunzip

_BOMS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))
_DECODER = msgspec.json.Decoder(float_hook=Decimal)
# Decodes a value and returns where it ends, which msgspec does not; slower.
# Only the standard library says where a value ends; msgspec refuses anything after it.
_ENDS = json.JSONDecoder(parse_float=Decimal)
# After a value that cannot be read: the next line that could begin one.
_RESTART = re.compile(r"\n(?=[\[{])")
_SPACE = re.compile(r"\s*")
_BEYOND_ASCII = re.compile("[\x80-\ud7ff\ue000-\U0010ffff]")
# Characters that may be read in vain, at least and for each character of a text: a value without an
# end is read up to the end of the text, and so is the next one.
_IN_VAIN, _IN_VAIN_EACH = 1 << 20, 4
# Characters in which a value is looked for first, and of the longest token but a string or number.
_WINDOW, _LONGEST_TOKEN = 1 << 14, 16
# What failing at values that are nested too deeply costs, as characters.
_NESTED_COST = 20_000
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
        text = decode_text(gunzip(body) if body.startswith(b"\x1f\x8b") else body)
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
        mixed = _BEYOND_ASCII.search(marked)
        return marked if mixed or re.search("[\x80-\x9f]", latin) else latin


def read_concatenated(
    text: str, decode: Decode = decode_json, first_line: int = 1
) -> Iterator[JsonValue | Unreadable]:
    """Yield concatenated values, located by the line on which each begins."""
    start, line, counted = _space(text, 0), first_line, 0
    left, line_end = max(_IN_VAIN, _IN_VAIN_EACH * len(text)), -1
    while start < len(text):
        line += text.count("\n", counted, start)
        counted = start
        if left < 0:
            yield Unreadable(
                f"line {line}", "not JSON from here on: too many values without an end"
            )
            return
        # A line is tried as one value once: what follows a value on it is read value by value.
        begins_line = start > line_end
        if begins_line:
            line_end = text.find("\n", start)
            line_end = len(text) if line_end < 0 else line_end
        value, end, in_vain = _value(text, start, line_end if begins_line else None, decode)
        left -= in_vain
        if isinstance(value, Unreadable):
            whole = first_line == 1 and start == _space(text, 0) and end == len(text)
            yield Unreadable("" if whole else f"line {line}", value.reason)
        else:
            yield JsonValue(f"line {line}", value.value, value.damaged)
        start = _space(text, end)


def _value(
    text: str, start: int, line_end: int | None, decode: Decode
) -> tuple[JsonValue | Unreadable, int, int]:
    """Decode the value at ``start``: the line if it is one, else as far as the value goes.

    Return it, where to go on, and how many characters were read in vain. On failure, resume at
    the next line that could begin a value.
    """
    if line_end is not None:
        try:
            return JsonValue("", decode(text[start:line_end])), line_end, 0
        except DECODE_ERRORS:
            pass
    try:
        value, end = _decode_at(text, start)
        return JsonValue("", value, damaged=True), end, 0
    except DECODE_ERRORS as error:
        failed_at = error.pos if isinstance(error, json.JSONDecodeError) else start + _NESTED_COST
        restart = _RESTART.search(text, start + 1)
        resume = restart.end() if restart else len(text)
        return (
            Unreadable("", f"not JSON: {_reason(error)}"),
            resume,
            max(0, min(failed_at, len(text)) - resume) if restart else 0,
        )


def _decode_at(text: str, start: int) -> tuple[Any, int]:
    """Decode the value at ``start``; return it and where it ends.

    An error counts the lines before it, so no more than needed of the text is given: each error
    would cost the whole text.
    """
    size = _WINDOW
    while True:
        window, is_all = text[start : start + size], start + size >= len(text)
        try:
            value, end = _ENDS.raw_decode(window)
        except json.JSONDecodeError as error:
            cut_off = error.pos > len(window) - _LONGEST_TOKEN or "Unterminated" in error.msg
            if is_all or not cut_off:
                error.pos += start
                raise
        else:
            # A number may go on where the window ends.
            if is_all or end < len(window):
                return value, start + end
        size *= 8


def _reason(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "nested too deeply"
    return error.msg if isinstance(error, json.JSONDecodeError) else "a number out of range"


def _space(text: str, start: int) -> int:
    space = _SPACE.match(text, start)
    return space.end() if space else start
