"""A landed document as its metadata file describes it, and a local copy of many such files."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from uuid import uuid4

import msgspec

from warehouse.tables import LicenseClass


@dataclass(frozen=True)
class Document:
    """A landed body and how it was fetched; the bytes are read from the landing."""

    sha256: str
    source: str
    url: str
    license_class: LicenseClass
    observed_at: datetime
    status: int
    headers: dict[str, str]
    size: int

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
            decoded = [_decode(line) for line in lines]
        except msgspec.DecodeError:
            # Cut short by a power cut, or of another version: it is made again.
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
    return b"".join(line + b"\n" for line in encoded)
