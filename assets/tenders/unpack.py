"""A long body as chunks of UTF-8: gzip opened as it goes, byte order marks taken away.

A gzip that ends early, or breaks, gives what could be opened and then says so.
"""

import codecs
import zlib
from collections.abc import Iterator
from typing import IO

CHUNK = 1 << 20


class EndsEarly(ValueError):
    """A body that could be opened only so far, and why, in words."""


def chunks(body: IO[bytes]) -> Iterator[bytes]:
    """Give a body piece by piece, none of them much longer than a chunk."""
    raw = iter(lambda: body.read(CHUNK), b"")
    first = next(raw, b"")
    pieces = _opened(first, raw) if first.startswith(b"\x1f\x8b") else _chain(first, raw)
    return _as_utf8(pieces)


def _chain(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    if first:
        yield first
    yield from rest


def _opened(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    """Open gzip members one after another; no piece grows beyond a chunk, bomb or not."""
    opener = zlib.decompressobj(31)
    packed = first
    while True:
        try:
            piece = opener.decompress(packed, CHUNK)
        except zlib.error as error:
            raise EndsEarly(f"the gzip is broken: {error}") from None
        if piece:
            yield piece
        packed = opener.unconsumed_tail
        if opener.eof:
            packed = (opener.unused_data or next(rest, b"")).lstrip(b"\0")
            if not packed:
                return
            opener = zlib.decompressobj(31)
        elif not packed:
            packed = next(rest, b"")
            if not packed:
                raise EndsEarly("the gzip ends early")


def _as_utf8(pieces: Iterator[bytes]) -> Iterator[bytes]:
    first = next(pieces, b"")
    if first.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        decoder = codecs.getincrementaldecoder("utf-16")("replace")
        for piece in _chain(first, pieces):
            yield decoder.decode(piece).encode("utf-8", "replace")
        return
    yield from _chain(first.removeprefix(codecs.BOM_UTF8), pieces)
