"""Cut a long body of releases into pieces that can be read by themselves, in any process.

JSON Lines and concatenated values are cut between lines; of one huge value (a package or an array)
the members are taken out one by one. Cutting is cheap compared with reading: nothing here looks
into a release.
"""

import codecs
import gc
import pickle
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from typing import IO, Any

from assets.parsing.limits import count_unpacked
from assets.parsing.parsed import InPieces, Parsed
from assets.parsing.unpacking import TruncatedBody, gunzip_chunks, located_in
from assets.tenders.long_json import Part, cut_lines, first_value_is_complete, members, values
from assets.tenders.parse import ReleaseReader
from assets.tenders.portal_files import Portal
from assets.tenders.releases import (
    ZIP,
    JsonValue,
    LocatedRelease,
    Unreadable,
    members_in,
    releases_in_json,
    releases_in_value,
)
from warehouse.record.landing import Document

# The bytes of a long body, chunk by chunk: decompressed, and as UTF-8.


CHUNK = 1 << 20
# Bytes given to a decompressor at once: after each member of a gzip it copies what is left.
_PACKED_BYTES = 1 << 14


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
        except (TruncatedBody, OSError, EOFError) as error:
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


def chunks(body: IO[bytes], first: bytes = b"") -> Iterator[bytes]:
    """Yield a body as UTF-8 chunks, decompressed, none much longer than ``CHUNK``.

    ``first`` is the part of it that was already read.
    """
    raw = iter(lambda: body.read(CHUNK), b"")
    first = first or next(raw, b"")
    all_raw = chain([first] if first else [], raw)
    if first.startswith(b"\x1f\x8b"):
        slices = (
            chunk[start : start + _PACKED_BYTES]
            for chunk in all_raw
            for start in range(0, len(chunk), _PACKED_BYTES)
        )
        return _as_utf8(_counted(gunzip_chunks(slices)))
    return _as_utf8(_counted(all_raw))


def _counted(body_chunks: Iterator[bytes]) -> Iterator[bytes]:
    for chunk in body_chunks:
        count_unpacked(len(chunk))
        yield chunk


def _as_utf8(body_chunks: Iterator[bytes]) -> Iterator[bytes]:
    first = next(body_chunks, b"")
    if first.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        decoder = codecs.getincrementaldecoder("utf-16")("replace")
        for chunk in chain([first], body_chunks):
            yield decoder.decode(chunk).encode("utf-8", "replace")
        return
    first = first.removeprefix(codecs.BOM_UTF8)
    yield from chain([first] if first else [], body_chunks)


# Bytes of JSON in a piece: enough to be worth a commit, few enough to stay small in memory.
SIZE = 8 << 20
# Bytes inspected to decide how to read a body; a shorter one is read as a whole.
HEAD = 8 << 20
# Members of a huge value that are packed together.
_PACKED = 64


def cut(body: IO[bytes], *, size: int = SIZE, head: int = HEAD) -> Iterator[list[Part]]:
    """Yield the pieces of a body, each of some ``size`` bytes."""
    piece: list[Part] = []
    length = 0
    for part in _parts(body, size, head):
        if piece and length + len(part.content) > size:
            yield piece
            piece, length = [], 0
        piece.append(part)
        length += len(part.content)
    if piece:
        yield piece


def _releases(part: Part) -> Iterator[LocatedRelease | Unreadable]:
    """Yield every release of a part, located in it."""
    if part.kind == "whole":
        yield from releases_in_json(part.content)
        return
    if part.kind == "lines":
        found: Iterable[Any] = values([part.content], first_line=part.first_line, utf8=part.utf8)
    else:
        # Our own bytes, from this run.
        found = pickle.loads(part.content)  # noqa: S301
    for item in found:
        if isinstance(item, Unreadable):
            yield item
        elif isinstance(item, JsonValue):
            yield from releases_in_value(item)
        else:
            yield from releases_in_value(*item)


def _parts(body: IO[bytes], size: int, head: int) -> Iterator[Part]:
    first = body.read(CHUNK)
    if not first.startswith(ZIP):
        yield from _json_parts(body, size, head, first)
        return
    # The directory of a zip is at its end.
    with tempfile.TemporaryFile() as spooled:
        spooled.write(first)
        shutil.copyfileobj(body, spooled, CHUNK)
        spooled.seek(0)
        for name, part in members_in(spooled, lambda member: _json_parts(member, size, head)):
            found = part if isinstance(part, Part) else _packed([part])
            yield replace(found, within=name or None)


def _json_parts(body: IO[bytes], size: int, head: int, first: bytes = b"") -> Iterator[Part]:
    body_chunks = Chunks(chunks(body, first))
    start = body_chunks.head(head)
    if body_chunks.ended and not body_chunks.broken:
        yield Part("whole", start)
    elif first_value_is_complete(start):
        for lines in cut_lines(chain([start], body_chunks), size):
            yield lines if isinstance(lines, Part) else _packed([lines])
    else:
        items = members(chain([start], body_chunks))
        while pack := list(islice(items, _PACKED)):
            yield _packed(pack)
    if body_chunks.broken:
        yield _packed([Unreadable("", f"the body cannot be opened: {body_chunks.broken}")])


def _packed(items: list[Any]) -> Part:
    return Part("values", pickle.dumps(items, pickle.HIGHEST_PROTOCOL))


# Parse a long body of releases piece by piece, so that memory stays flat.
#
# A piece can be read by itself, in another process: ``pieces`` cuts them. Where a body breaks off,
# what came before is kept.


def in_pieces(portal: Portal, key: bytes, *, size: int = SIZE, head: int = HEAD) -> InPieces:
    """Return the parser of long bodies of a portal.

    ``key`` is the secret under which withheld parties are hashed. A piece has some ``size`` bytes;
    ``head`` bytes decide how a body is cut.
    """
    return InPieces(partial(cut, size=size, head=head), partial(read_piece, portal=portal, key=key))


def read_piece(document: Document, piece: list[Part], portal: Portal, key: bytes) -> Parsed:
    """Parse every release of a piece; one that cannot be stored is rejected with the reason."""
    with gc_paused():
        reader = ReleaseReader(document, portal, key)
        for part in piece:
            for item in _releases(part):
                if part.within:
                    item = replace(item, location=located_in(part.within, item.location))
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
