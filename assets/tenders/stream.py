"""Parse a long body of releases part by part, so that memory stays flat.

JSON Lines and concatenated values are read value by value; one huge value (a package or an
array) is read release by release. Where a body breaks off, what came before is kept.
"""

import codecs
import gc
import shutil
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import chain, islice
from typing import IO

from assets.parsing.parsed import Parsed
from assets.tenders.json_lines import first_value_is_complete, values
from assets.tenders.json_values import Unreadable
from assets.tenders.packages import members
from assets.tenders.parse import ReleaseReader
from assets.tenders.portals import Portal
from assets.tenders.releases import (
    ZIP,
    LocatedRelease,
    releases_in_json,
    releases_in_value,
    releases_in_zip,
)
from warehouse.record.landing import Document

# Releases in a part: enough to be worth a commit, few enough to stay small in memory.
PART = 10_000
# Bytes inspected to decide how to read a body; a shorter one is read as a whole.
HEAD = 16 << 20


def stream_portal(
    document: Document,
    body: IO[bytes],
    portal: Portal,
    key: bytes,
    *,
    part: int = PART,
    head: int = HEAD,
) -> Iterator[Parsed]:
    """Parse every release; one that cannot be stored is rejected with its location and reason."""
    reader = ReleaseReader(document, portal, key)
    items = _located_releases(body, head)
    while parsed := _part(reader, islice(items, part)):
        yield parsed


def _part(reader: ReleaseReader, items: Iterator[LocatedRelease | Unreadable]) -> Parsed | None:
    """Parse one part; None after the last."""
    with gc_paused():
        first = next(items, None)
        if first is None:
            return None
        for item in chain([first], items):
            reader.read(item)
        return reader.parsed()


@contextmanager
def gc_paused() -> Iterator[None]:
    """Pause garbage collection: parsing makes no cycles, and the search takes 10 % of the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _located_releases(body: IO[bytes], head: int) -> Iterator[LocatedRelease | Unreadable]:
    first = body.read(CHUNK)
    if not first.startswith(ZIP):
        yield from _located_json(body, head, first)
        return
    # The directory of a zip is at its end.
    with tempfile.TemporaryFile() as spooled:
        spooled.write(first)
        shutil.copyfileobj(body, spooled, CHUNK)
        spooled.seek(0)
        yield from releases_in_zip(spooled, partial(_located_json, head=head))


def _located_json(
    body: IO[bytes], head: int, first: bytes = b""
) -> Iterator[LocatedRelease | Unreadable]:
    body_chunks = _Chunks(chunks(body, first))
    start = body_chunks.head(head)
    if body_chunks.ended and not body_chunks.broken:
        yield from releases_in_json(start)
    elif first_value_is_complete(start):
        for value in values(chain([start], body_chunks)):
            yield from [value] if isinstance(value, Unreadable) else releases_in_value(value)
    else:
        for member in members(chain([start], body_chunks)):
            yield from [member] if isinstance(member, Unreadable) else releases_in_value(*member)
    if body_chunks.broken:
        yield Unreadable("", f"the body cannot be opened: {body_chunks.broken}")


class _Chunks:
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


CHUNK = 1 << 20


class TruncatedBody(ValueError):
    """A body that could be decompressed only so far; the message says why."""


def chunks(body: IO[bytes], first: bytes = b"") -> Iterator[bytes]:
    """Yield a body as UTF-8 chunks, decompressed, none much longer than ``CHUNK``.

    ``first`` is what was already read of it.
    """
    raw = iter(lambda: body.read(CHUNK), b"")
    first = first or next(raw, b"")
    body_chunks = _decompress(first, raw) if first.startswith(b"\x1f\x8b") else _chain(first, raw)
    return _as_utf8(body_chunks)


def _chain(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    if first:
        yield first
    yield from rest


def _decompress(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    """Decompress gzip members in turn; no output exceeds a chunk, even of a bomb."""
    # 31: the largest window of zlib, with the header of gzip.
    decompressor = zlib.decompressobj(31)  # 31: a gzip header, the largest window
    compressed = first
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
            # Zero bytes may pad the end of a member.
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
