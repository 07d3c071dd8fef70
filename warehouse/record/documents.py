"""A landed document as its note, a sealed file, describes it; and what may become one."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import IO, Literal
from uuid import uuid4

import msgspec

from warehouse.shared.errors import DamagedFile, LandingError, LicenceError, SankofaError
from warehouse.shared.files import decode_sealed, seal
from warehouse.shared.urls import is_fictional, why_not_public
from warehouse.tables.sighting import LICENSE_CLASSES, LicenseClass

# Fictional sources have the same keys and parsers as the real ones; a home has one or the other.
# ``starter`` documents are real, and come with the package.
World = Literal["real", "starter", "fictional"]


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
class EarlierReadings:
    """On which days a publisher was read before a document was.

    ``of_address``: the address of the document, last. ``of_source``: any address of its source,
    last on a day before that of the document. ``first``: the source at all.
    """

    of_address: date | None = None
    of_source: date | None = None
    first: date | None = None

    def last_after(self, day: date) -> date | None:
        """Return the day of the last reading that would have shown what was public by a day.

        Another address shows what is new while the source is followed, not what is older.
        """
        of_source = self.of_source if self.first and self.first <= day else None
        days = [each for each in (self.of_address, of_source) if each and each > day]
        return max(days, default=None)


@dataclass(frozen=True)
class Document:
    """A landed body and how it was fetched; the bytes are read from the landing.

    ``removal``: the body was read, and is no longer there. ``earlier`` is known while documents
    are read, and never written to a note.
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
    earlier: EarlierReadings = EarlierReadings()

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


_NOTED = [member.name for member in fields(Document) if member.name != "earlier"]
# It accepts no other class of licence than the declared ones.
_decode_note = msgspec.json.Decoder(Document).decode


def encode_note(document: Document) -> bytes:
    """Encode the note of a document, sealed: a changed byte of it is found whenever it is read."""
    note = {name: getattr(document, name) for name in _NOTED}
    return seal(msgspec.json.format(msgspec.json.encode(note), indent=1))


def decode_note(body: bytes, name: str) -> Document:
    """Decode the note of a document; raise ``DamagedFile`` if it is not as it was written."""
    return decode_sealed(_decode_note, body, name)


_decode_copies = msgspec.json.Decoder(dict[str, Document]).decode


def copied_documents(
    file: Path, paths: Sequence[str], read: Callable[[list[str]], list[Document]]
) -> list[Document]:
    """Return the documents at paths of a landing, of whose notes a local file has copies.

    ``read`` is called for those that are not copied. Processes may do this at once: what the file
    of the last one lacks is read again.
    """
    try:
        copied = decode_sealed(_decode_copies, file.read_bytes(), file.name)
    except (FileNotFoundError, DamagedFile):
        # Not made yet, damaged, or of another version: it is made again.
        copied = {}
    missing = [path for path in paths if path not in copied]
    known = {**copied, **dict(zip(missing, read(missing), strict=True))}
    # Of what was erased nothing stays, here neither.
    documents = {path: known[path] for path in paths}
    if documents.keys() != copied.keys():
        file.parent.mkdir(parents=True, exist_ok=True)
        partial = file.with_name(f"{file.name}.{uuid4().hex}.part")
        partial.write_bytes(seal(msgspec.json.encode(documents)))
        partial.replace(file)
    return list(documents.values())


# What was fetched, and whether it may be landed.

# The clock of whoever read a document may be ahead of ours.
_CLOCK_TOLERANCE = timedelta(days=1)


@dataclass(frozen=True)
class FetchedResponse:
    """One response of a source, unchanged; ``url`` is the publisher's, however it came here.

    A large body is an open, seekable file; it must stay open until it is landed.
    """

    source: str
    url: str
    body: bytes | IO[bytes]
    license_class: LicenseClass
    observed_at: datetime
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    world: World = "real"


def require_landable(response: FetchedResponse) -> None:
    """Raise unless the licence, the address and the moment of a response permit to land it."""
    _require_redistributable(response)
    _require_publishers_address(response)
    require_past(response.url, response.observed_at)


def require_past(url: str, observed_at: datetime) -> None:
    """Raise LandingError if a document is said to have been read at a moment yet to come."""
    if observed_at > datetime.now(UTC) + _CLOCK_TOLERANCE:
        raise LandingError(
            f"{url!r:.200} is said to have been read at {observed_at.isoformat()}, which has not "
            "come yet: correct the moment"
        )


def _require_redistributable(response: FetchedResponse) -> None:
    if response.license_class not in LICENSE_CLASSES:
        raise LicenceError(
            f"{response.source}: {response.license_class!r} is not a licence class; "
            f"use one of {', '.join(LICENSE_CLASSES)}"
        )
    if response.license_class == "restricted":
        raise LicenceError(
            f"{response.source}: the licence of {response.url} forbids redistribution; "
            "nothing of it is kept"
        )


def _require_publishers_address(response: FetchedResponse) -> None:
    fictional = is_fictional(response.url)
    why = why_not_public(response.url)
    if fictional and response.world != "fictional":
        why = "it is an address of the sample world"
    elif not fictional and response.world == "fictional":
        why = "a fictional source has none but addresses of the sample world"
    if why is not None:
        raise LandingError(
            f"{response.source}: {response.url!r:.200} cannot be the address of a document: "
            f"{why}. Give the address at which its publisher publishes it"
        )


def mixed_worlds(landed: World | None) -> SankofaError:
    """Return the error for documents of the other world than those that are landed."""
    if landed == "fictional":
        return SankofaError(
            "this home holds the sample world, which is fictional, and real documents must not be "
            "mixed with it: set SANKOFA_HOME to another folder for them"
        )
    return SankofaError(
        "this home holds real documents, and those of a world of the package must not be mixed "
        "with them: set SANKOFA_HOME to another folder for that world"
    )
