"""Archives that carry documents: the members of a zip, the content of a gzip.

A zip is a container if its members are the documents; its own address is then part of theirs. A
zip that is itself the document a source publishes is landed as it is and does not come here.
"""

import gzip
import io
import re
import stat
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import IO
from urllib.parse import quote

from assets.parsing.unpacking import UNREADABLE, zip_members
from warehouse.shared.errors import SankofaError

_CHUNK = 1 << 20
# Smaller members are decompressed once and kept in memory; larger ones whenever they are read.
_IN_MEMORY = 16 << 20
# Between the address of a container and the name of a member, as in the addresses of Java.
_SEPARATOR = "!/"
# As Windows begins an absolute path.
_DRIVE = re.compile(r"[A-Za-z]:[\\/]")


@dataclass(frozen=True)
class ContainerLimits:
    """Most members, and most bytes when decompressed: of one member and of all together."""

    members: int = 2_000_000
    member: int = 2 << 30
    total: int = 64 << 30


def member_url(url: str, name: str) -> str:
    """Return the address of a member: ``<address of the container>!/<name>``."""
    return f"{url}{_SEPARATOR}{quote(name)}"


def container_url(url: str) -> str:
    """Return the address of the container that a document came in; else its own."""
    return url.partition(_SEPARATOR)[0]


def zip_documents(
    body: IO[bytes], wanted: Callable[[str], bool], on_error: Callable[[SankofaError], None]
) -> Iterator[tuple[str, IO[bytes]]]:
    """Yield name and content of the wanted members of a zip; raise SankofaError for a bad one.

    A member that cannot be read is reported to ``on_error``, and the others follow. So is one that
    is a link, or whose name is absolute or leads out of the zip.
    """
    try:
        archive = zipfile.ZipFile(body)
    except UNREADABLE as error:
        raise SankofaError(f"the zip is damaged ({error}); get it again") from None
    with archive:
        chosen = [info for info in zip_members(archive) if wanted(info.filename)]
        _refuse_bombs(chosen, ContainerLimits())
        for info in chosen:
            try:
                member = _verified(archive, info)
            except SankofaError as error:
                on_error(error)
                continue
            with member:
                yield info.filename, member


@contextmanager
def gunzipped(body: IO[bytes]) -> Iterator[IO[bytes]]:
    """Open the content of a gzip, copied to a temporary file: memory stays flat."""
    limits = ContainerLimits()
    with tempfile.TemporaryFile() as content:
        try:
            with gzip.GzipFile(fileobj=body, mode="rb") as packed:
                while chunk := packed.read(_CHUNK):
                    content.write(chunk)
                    if content.tell() > limits.member:
                        raise SankofaError(_too_large("the gzip", limits.member))
        except (EOFError, OSError, zlib.error) as error:
            raise SankofaError(f"the gzip is damaged ({error}); get it again") from None
        content.seek(0)
        yield content


def _why_refused(info: zipfile.ZipInfo) -> str | None:
    """Return why a member is no document below its zip: it would lead out of it."""
    name = PurePosixPath(info.filename.replace("\\", "/"))
    if name.is_absolute() or _DRIVE.match(info.filename):
        return "its name is absolute"
    if ".." in name.parts:
        return "its name leads out of the zip"
    # Zips made on Unix state the mode of a file in the upper half.
    return "it is a link" if stat.S_ISLNK(info.external_attr >> 16) else None


def _verified(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> IO[bytes]:
    """Open a member that was read to its end, where its checksum is compared."""
    if (reason := _why_refused(info)) is not None:
        raise SankofaError(f"{info.filename} in the zip is refused: {reason}")
    try:
        with archive.open(info) as member:
            if info.file_size <= _IN_MEMORY:
                return io.BytesIO(member.read())
            while member.read(_CHUNK):
                pass
        return archive.open(info)
    except UNREADABLE as error:
        words = str(error) or type(error).__name__
        raise SankofaError(f"{info.filename} in the zip cannot be read ({words})") from None


def _refuse_bombs(chosen: list[zipfile.ZipInfo], limits: ContainerLimits) -> None:
    """Refuse by the sizes that the directory states: no more than those are ever read."""
    if len(chosen) > limits.members:
        raise SankofaError(f"the zip has {len(chosen):,} members; {limits.members:,} are allowed")
    names: set[str] = set()
    for info in chosen:
        if info.file_size > limits.member:
            raise SankofaError(_too_large(info.filename, limits.member))
        if info.filename in names:
            raise SankofaError(f"the zip has two members called {info.filename}; give one")
        names.add(info.filename)
    if sum(info.file_size for info in chosen) > limits.total:
        raise SankofaError(_too_large("the zip", limits.total))


def _too_large(what: str, limit: int) -> str:
    return f"{what} decompresses to more than {limit:,} bytes, which is not accepted"
