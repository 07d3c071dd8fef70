"""A landed document as its note, a sealed file, describes it; and local copies of many notes."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from uuid import uuid4

import msgspec
import xxhash

from warehouse.shared.errors import DamagedFile
from warehouse.shared.files import decode_sealed, seal
from warehouse.tables import LicenseClass


@dataclass(frozen=True)
class Removal:
    """When a body was removed, and after how many days."""

    removed_at: datetime
    days: int

    @property
    def words(self) -> str:
        """What happened, for people."""
        return (
            f"its body was removed on {self.removed_at:%Y-%m-%d}, after {self.days:,} days "
            "(SANKOFA_LANDING_DAYS)"
        )


@dataclass(frozen=True)
class Document:
    """A landed body and how it was fetched; the bytes are read from the landing.

    ``removal``: the body was read, and is no longer there.
    """

    sha256: str
    source: str
    url: str
    license_class: LicenseClass
    observed_at: datetime
    status: int
    headers: dict[str, str]
    size: int
    removal: Removal | None = None

    @property
    def key(self) -> str:
        """Identify these bytes, from this URL, at this moment."""
        return document_key(url_hash(self.url), f"{compact_moment(self.observed_at)}-{self.sha256}")


def document_key(url_hash: str, file_name: str) -> str:
    """Build a document's key from the folder and the name of its metadata file."""
    # Neither part contains a hyphen: see ``compact_moment``.
    observed_at, digest = file_name.split("-")
    return f"{digest}-{url_hash}-{observed_at}"


def compact_moment(observed_at: datetime) -> str:
    """Write a moment without any hyphen, in a form that sorts."""
    return f"{observed_at:%Y%m%dT%H%M%S%f}"


def url_hash(url: str) -> str:
    """Return the name of the folder of a URL."""
    return hashlib.sha256(url.encode()).hexdigest()[:16]


# It accepts no other class of licence than the declared ones.
_decode_note = msgspec.json.Decoder(Document).decode


def encode_note(document: Document) -> bytes:
    """Encode the note of a document, sealed: a changed byte of it is found whenever it is read."""
    return seal(msgspec.json.format(msgspec.json.encode(document), indent=1))


def decode_note(body: bytes, name: str) -> Document:
    """Decode the note of a document; raise ``DamagedFile`` if it is not as it was written."""
    return decode_sealed(_decode_note, body, name)


class _Line(msgspec.Struct):
    path: str
    document: Document


_decode = msgspec.json.Decoder(_Line).decode


class MetadataCache:
    """Copies of metadata files, one to a line of a local file, by their path in the landing.

    Processes may use it at once: each adds lines, and an incomplete last line is not counted.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def documents(
        self, paths: Sequence[str], read: Callable[[list[str]], list[Document]]
    ) -> list[Document]:
        """Return the documents at these paths, calling ``read`` for those that are not copied."""
        copied = self._copied()
        missing = [path for path in paths if path not in copied]
        new = dict(zip(missing, read(missing), strict=True))
        known = {**copied, **new}
        wanted = {path: known[path] for path in paths}
        if len(wanted) < len(known):
            # Of what was erased nothing stays, here neither.
            self._replace(wanted)
        elif new:
            self._add(new)
        return list(wanted.values())

    def _copied(self) -> dict[str, Document]:
        try:
            lines = self._path.read_bytes().splitlines()
        except FileNotFoundError:
            return {}
        try:
            decoded = [_decode_line(line) for line in lines]
        except (msgspec.DecodeError, DamagedFile):
            # Cut short by a power cut, damaged, or of another version: it is made again.
            self._path.unlink(missing_ok=True)
            return {}
        return {line.path: line.document for line in decoded}

    def _add(self, documents: dict[str, Document]) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("ab") as file:
            file.write(_lines(documents))

    def _replace(self, documents: dict[str, Document]) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        partial = self._path.with_name(f"{self._path.name}.{uuid4().hex}.part")
        partial.write_bytes(_lines(documents))
        partial.replace(self._path)


def _lines(documents: dict[str, Document]) -> bytes:
    encoded = (msgspec.json.encode(_Line(*item)) for item in documents.items())
    return b"".join(_check(line) + b" " + line + b"\n" for line in encoded)


def _decode_line(line: bytes) -> _Line:
    check, _, encoded = line.partition(b" ")
    if check != _check(encoded):
        raise DamagedFile("a line of the copies is not as it was written")
    return _decode(encoded)


def _check(line: bytes) -> bytes:
    return xxhash.xxh3_64_hexdigest(line).encode()
