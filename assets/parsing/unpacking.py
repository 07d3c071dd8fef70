"""Unpack gzips and zips within the limits of a document, also zips too large for memory."""

import gzip
import io
import shutil
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import IO, Any, TypeVar, cast
from zipfile import BadZipFile

from assets.parsing.limits import count_unpacked

_CHUNK = 1 << 20


def gunzip(body: bytes) -> bytes:
    """Return the content of a gzip; OSError, EOFError or zlib.error if it is damaged."""
    with gzip.GzipFile(fileobj=io.BytesIO(body)) as packed:
        return read_member(cast(IO[bytes], packed))


class TruncatedBody(ValueError):
    """A body that could be decompressed only so far; the message says why."""


def gunzip_chunks(rest: Iterator[bytes]) -> Iterator[bytes]:
    """Decompress a gzip, member after member; no output exceeds a megabyte, even of a bomb.

    Raise TruncatedBody where it is damaged or ends early.
    """
    # 31: a gzip header, the largest window.
    decompressor = zlib.decompressobj(31)
    compressed = next(rest, b"")
    while True:
        try:
            chunk = decompressor.decompress(compressed, _CHUNK)
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


def counted(member: IO[bytes]) -> "io.BufferedReader[Any]":
    """Return a member of an archive, each byte of which counts as unpacked when it is read."""
    return io.BufferedReader(cast(io.RawIOBase, _Counted(member)), 1 << 16)


def read_member(member: IO[bytes]) -> bytes:
    """Return all of a member of an archive; each chunk is counted before the next is unpacked."""
    content = bytearray()
    while chunk := member.read(_CHUNK):
        count_unpacked(len(chunk))
        content += chunk
    return bytes(content)


class _Counted(io.RawIOBase):
    """A file that counts the bytes read from it."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read into a buffer; return how many bytes were read."""
        content = self._file.read(len(buffer))
        count_unpacked(len(content))
        buffer[: len(content)] = content
        return len(content)


# The members of a zip, one after the other, however large it is.
#
# ``zipfile`` makes an object for every member when it opens a zip, half a kilobyte each: they are
# counted before. Signatures and fields as in PKWARE's APPNOTE, sections 4.3.12 to 4.3.16.
_END = struct.Struct("<4s4H2LH")
_END_LOCATOR = struct.Struct("<4sLQL")
_END_64 = struct.Struct("<4sQ2H2L4Q")
_LONGEST_COMMENT = (1 << 16) - 1
_SIGNATURE = b"PK\x01\x02"


def _member_count(body: IO[bytes]) -> int:
    """Return the number of members, or some more, whatever number is stated; 0 if unreadable."""
    try:
        size, offset = _directory(body)
    except BadZipFile:
        return 0
    count = 0
    for start in range(offset, offset + size, _CHUNK):
        body.seek(start)
        count += body.read(min(_CHUNK, offset + size - start)).count(_SIGNATURE)
    body.seek(0)
    return count


def _directory(body: IO[bytes]) -> tuple[int, int]:
    """Return the size and the position of the directory."""
    length = body.seek(0, 2)
    start = max(length - _END.size - _LONGEST_COMMENT, 0)
    body.seek(start)
    tail = body.read()
    end = tail.rfind(b"PK\x05\x06")
    if end < 0 or len(tail) - end < _END.size:
        raise BadZipFile("it has no directory")
    *_, size, offset, _ = _END.unpack_from(tail, end)
    position = start + end
    body.seek(max(position - _END_LOCATOR.size, 0))
    locator = body.read(_END_LOCATOR.size)
    if locator.startswith(b"PK\x06\x07") and len(locator) == _END_LOCATOR.size:
        position = _END_LOCATOR.unpack(locator)[2]
        body.seek(position)
        end_64 = body.read(_END_64.size)
        if len(end_64) < _END_64.size or not end_64.startswith(b"PK\x06\x06"):
            raise BadZipFile("its directory is not where it says")
        *_, size, offset = _END_64.unpack(end_64)
    if offset + size > position:
        raise BadZipFile("its directory is not where it says")
    return size, offset


# What reading a damaged, encrypted or unknown member raises.
UNREADABLE = (BadZipFile, zlib.error, EOFError, OSError, RuntimeError, NotImplementedError)

Item = TypeVar("Item")
LocatedRecords = Iterator[tuple[str, Any]]
Read = Callable[["io.BufferedReader[Any]"], LocatedRecords]

# A hundred megabytes of memory.
_MOST_MEMBERS = 200_000


def located_records(body: IO[bytes], read: Read) -> LocatedRecords:
    """Yield the located records of a body or, if it is a zip, of all its members.

    If a record is a text, it says why there is none; records before the damage are yielded.
    """
    buffered = io.BufferedReader(cast(io.RawIOBase, body), 1 << 16)
    if buffered.peek(4)[:4] != b"PK\x03\x04":
        yield from read(counted(cast(IO[bytes], buffered)))
        return
    for name, found in in_zip(cast(IO[bytes], buffered), lambda member: read(counted(member))):
        location, record = ("", found) if isinstance(found, str) else found
        yield located_in(name, location), record


def in_zip(
    body: IO[bytes], read: Callable[[IO[bytes]], Iterator[Item]]
) -> Iterator[tuple[str, Item | str]]:
    """Yield what ``read`` finds in each member of a zip, with the name of the member.

    A text in its place says that the member, or the zip, is damaged.
    """
    try:
        with open_zip(body) as archive:
            for info in zip_members(archive):
                try:
                    with archive.open(info) as member:
                        for item in read(member):
                            yield info.filename, item
                except UNREADABLE as error:
                    yield info.filename, f"damaged from here on: {type(error).__name__}"
    except BadZipFile as error:
        yield "", f"not a zip: {error}"


def located_in(member: str, location: str) -> str:
    """Return a location in a member of a zip."""
    return f"{member}#{location}" if location and member else member or location


@contextmanager
def open_zip(body: IO[bytes], most_members: int = _MOST_MEMBERS) -> Iterator[zipfile.ZipFile]:
    """Open a zip; a body that cannot seek is copied to a temporary file first.

    The directory of a zip is at its end.
    """
    with ExitStack() as opened:
        if not body.seekable():
            spooled = opened.enter_context(tempfile.TemporaryFile())
            shutil.copyfileobj(body, spooled, _CHUNK)
            body = cast(IO[bytes], spooled)
        count = _member_count(body)
        if count > most_members:
            raise BadZipFile(f"it has {count:,} members; {most_members:,} are allowed")
        yield opened.enter_context(zipfile.ZipFile(body))


def zip_members(archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    """Return the members that are files, in their order."""
    return [info for info in archive.infolist() if not info.is_dir()]
