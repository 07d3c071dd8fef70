"""The members of a zip, one after the other, however large it is."""

import io
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, Any, cast

from assets.parsing.unpacking import counted
from assets.parsing.zip_directory import member_count

# What reading a damaged, encrypted or unknown member raises.
UNREADABLE = (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, NotImplementedError)

LocatedRecords = Iterator[tuple[str, Any]]
Read = Callable[["io.BufferedReader[Any]"], LocatedRecords]

_CHUNK = 1 << 20
# Each member of an open zip takes half a kilobyte of memory.
_MOST_MEMBERS = 200_000


def located_records(body: IO[bytes], read: Read) -> LocatedRecords:
    """Yield the located records of a body or, if it is a zip, of all its members.

    If a record is a text, it says why there is none; records before the damage are yielded.
    """
    buffered = io.BufferedReader(cast(io.RawIOBase, body), 1 << 16)
    if buffered.peek(4)[:4] != b"PK\x03\x04":
        yield from read(counted(cast(IO[bytes], buffered)))
        return
    try:
        with open_zip(cast(IO[bytes], buffered)) as archive:
            for info in zip_members(archive):
                yield from _inside(archive, info, read)
    except zipfile.BadZipFile as error:
        yield "", f"not a zip: {error}"


@contextmanager
def open_zip(body: IO[bytes]) -> Iterator[zipfile.ZipFile]:
    """Open a zip; a body that cannot seek is copied to a temporary file first.

    The directory of a zip is at its end.
    """
    if body.seekable():
        _refuse_too_many(body)
        with zipfile.ZipFile(body) as archive:
            yield archive
        return
    with tempfile.TemporaryFile() as spooled:
        shutil.copyfileobj(body, spooled, _CHUNK)
        _refuse_too_many(spooled)
        with zipfile.ZipFile(spooled) as archive:
            yield archive


def _refuse_too_many(body: IO[bytes]) -> None:
    count = member_count(body)
    if count > _MOST_MEMBERS:
        raise zipfile.BadZipFile(f"it has {count:,} members; {_MOST_MEMBERS:,} are allowed")


def zip_members(archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    """Return the members that are files, in their order."""
    return [info for info in archive.infolist() if not info.is_dir()]


def _inside(archive: zipfile.ZipFile, info: zipfile.ZipInfo, read: Read) -> LocatedRecords:
    try:
        with archive.open(info) as member:
            for location, record in read(counted(member)):
                yield (f"{info.filename}#{location}" if location else info.filename), record
    except UNREADABLE as error:
        yield info.filename, f"damaged from here on: {type(error).__name__}"
