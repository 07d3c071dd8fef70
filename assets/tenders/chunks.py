"""The bytes of a long body, chunk by chunk: decompressed, and as UTF-8."""

import codecs
import zlib
from collections.abc import Iterator
from itertools import chain
from typing import IO

from assets.parsing.limits import count_unpacked

CHUNK = 1 << 20
# Bytes given to a decompressor at once: after each member of a gzip it copies what is left.
_PACKED = 1 << 14


class Chunks:
    """The chunks of a body; where it breaks off they end, and ``broken`` says why."""

    def __init__(self, body_chunks: Iterator[bytes]) -> None:
        self._chunks = body_chunks
        self.ended = False
        self.broken: str | None = None

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        try:
            return next(self._chunks)
        except TruncatedBody as early:
            self.broken = str(early)
        except (OSError, EOFError) as error:
            self.broken = str(error)
        except StopIteration:
            pass
        self.ended = True
        raise StopIteration

    def head(self, size: int) -> bytes:
        """Return the first ``size`` bytes, or all of a shorter body."""
        beginning: list[bytes] = []
        length = 0
        while length <= size and (chunk := next(self, None)) is not None:
            beginning.append(chunk)
            length += len(chunk)
        start = b"".join(beginning)
        if length > size:
            self._chunks = chain([start[size:]], self._chunks)
        return start[:size]


class TruncatedBody(ValueError):
    """A body that could be decompressed only so far; the message says why."""


def chunks(body: IO[bytes], first: bytes = b"") -> Iterator[bytes]:
    """Yield a body as UTF-8 chunks, decompressed, none much longer than ``CHUNK``.

    ``first`` is what was already read of it.
    """
    raw = iter(lambda: body.read(CHUNK), b"")
    first = first or next(raw, b"")
    all_raw = _chain(first, raw)
    body_chunks = _decompress(_slices(all_raw)) if first.startswith(b"\x1f\x8b") else all_raw
    return _as_utf8(_counted(body_chunks))


def _counted(body_chunks: Iterator[bytes]) -> Iterator[bytes]:
    for chunk in body_chunks:
        count_unpacked(len(chunk))
        yield chunk


def _slices(raw: Iterator[bytes]) -> Iterator[bytes]:
    for chunk in raw:
        for start in range(0, len(chunk), _PACKED):
            yield chunk[start : start + _PACKED]


def _chain(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    if first:
        yield first
    yield from rest


def _decompress(rest: Iterator[bytes]) -> Iterator[bytes]:
    """Decompress gzip members in turn; no output exceeds a chunk, even of a bomb."""
    # 31: a gzip header, the largest window.
    decompressor = zlib.decompressobj(31)
    compressed = next(rest, b"")
    while True:
        try:
            chunk = decompressor.decompress(compressed, CHUNK)
        except zlib.error as error:
            raise TruncatedBody(f"the gzip is broken: {error}") from None
        if chunk:
            yield chunk
        compressed = decompressor.unconsumed_tail
        if decompressor.eof:
            # Zero bytes after a member are padding; anything else is the next member.
            compressed = (decompressor.unused_data or next(rest, b"")).lstrip(b"\0")
            if not compressed:
                return
            decompressor = zlib.decompressobj(31)
        elif not compressed:
            compressed = next(rest, b"")
            if not compressed:
                raise TruncatedBody("the gzip ends early")


def _as_utf8(body_chunks: Iterator[bytes]) -> Iterator[bytes]:
    first = next(body_chunks, b"")
    if first.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        decoder = codecs.getincrementaldecoder("utf-16")("replace")
        for chunk in _chain(first, body_chunks):
            yield decoder.decode(chunk).encode("utf-8", "replace")
        return
    yield from _chain(first.removeprefix(codecs.BOM_UTF8), body_chunks)
