"""A long body of releases, read part by part: memory is flat however long it is.

JSON Lines and values one after another are read value by value; one value that is longer
than fits, a package or an array, is read release by release. What breaks off is rejected,
what came before it is kept.
"""

import codecs
import gc
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain, islice
from typing import IO

from assets.parsing.parsed import Parsed
from assets.tenders.json_lines import first_is_whole, values
from assets.tenders.json_values import Unread
from assets.tenders.packages import members
from assets.tenders.parse import Reader
from assets.tenders.portals import PORTALS, Portal
from assets.tenders.releases import Found, inside, releases
from warehouse.record.landing import Document
from warehouse.record.tables import TENDER_RELEASES

# Releases in a part: enough to make a commit worth while, few enough to stay small.
PART = 10_000
# As much of a body as is looked at to know what it is; all of a short one.
HEAD = 16 << 20


def stream(document: Document, body: IO[bytes], key: bytes) -> Iterator[Parsed]:
    """Read a document of a portal in the table of portals, in parts."""
    portal = PORTALS.get(document.source)
    if portal is None:
        parsed = Parsed()
        parsed.reject(TENDER_RELEASES, document, "", f"{document.source}: no such portal")
        yield parsed
        return
    yield from stream_portal(document, body, portal, key)


def stream_portal(
    document: Document,
    body: IO[bytes],
    portal: Portal,
    key: bytes,
    *,
    part: int = PART,
    head: int = HEAD,
) -> Iterator[Parsed]:
    """Read every release; what cannot be kept is rejected with its place and the reason."""
    reader = Reader(document, portal, key)
    found = _found(body, head)
    while parsed := _part(reader, islice(found, part)):
        yield parsed


def _part(reader: Reader, found: Iterator[Found | Unread]) -> Parsed | None:
    """Read one part; None after the last."""
    with no_garbage():
        first = next(found, None)
        if first is None:
            return None
        for each in chain([first], found):
            reader.read(each)
        return reader.parsed()


@contextmanager
def no_garbage() -> Iterator[None]:
    """Look for no cycles: reading makes none, and looking takes a tenth of its time."""
    looked = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if looked:
            gc.enable()


def _found(body: IO[bytes], head: int) -> Iterator[Found | Unread]:
    pieces = _Pieces(chunks(body))
    start = pieces.head(head)
    if pieces.ended and not pieces.broken:
        yield from releases(start)
    elif first_is_whole(start):
        for value in values(chain([start], pieces)):
            yield from [value] if isinstance(value, Unread) else inside(value)
    else:
        for each in members(chain([start], pieces)):
            yield from [each] if isinstance(each, Unread) else inside(*each)
    if pieces.broken:
        yield Unread("", f"the body cannot be opened: {pieces.broken}")


class _Pieces:
    """The pieces of a body; where it breaks off they end, and it is known why."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self.ended = False
        self.broken: str | None = None

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        try:
            return next(self._pieces)
        except EndsEarly as early:
            self.broken = str(early)
        except (OSError, EOFError) as error:
            self.broken = str(error)
        except StopIteration:
            pass
        self.ended = True
        raise StopIteration

    def head(self, size: int) -> bytes:
        """Give so many bytes of the beginning; all where there are no more."""
        held: list[bytes] = []
        length = 0
        while length <= size and (piece := next(self, None)) is not None:
            held.append(piece)
            length += len(piece)
        start = b"".join(held)
        if length > size:
            self._pieces = chain([start[size:]], self._pieces)
        return start[:size]


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
