"""Unpack gzips and the members of zips within the limits of a document."""

import gzip
import io
from typing import IO, Any, cast

from assets.parsing.limits import count_unpacked

_CHUNK = 1 << 20


def gunzip(body: bytes) -> bytes:
    """Return the content of a gzip; OSError, EOFError or zlib.error if it is damaged."""
    with gzip.GzipFile(fileobj=io.BytesIO(body)) as packed:
        return read_member(cast(IO[bytes], packed))


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
    """A file that counts what is read of it."""

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
