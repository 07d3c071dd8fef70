"""The bytes as they were fetched, compressed, named by their SHA-256.

Nothing here looks into a body; reading one belongs to the parser of its source.
"""

import hashlib
import io
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import IO, cast
from uuid import uuid4

import pyarrow as pa
from pyarrow import fs

from warehouse.errors import LandingError, LicenceError
from warehouse.tables import LICENSE_CLASSES, LicenseClass

_CHUNK = 1 << 20


@dataclass(frozen=True)
class FetchedResponse:
    """One answer of a source, as it came.

    A large body is an open file that can be read from its start; it is landed while it is open.
    """

    source: str
    url: str
    body: bytes | IO[bytes]
    license_class: LicenseClass
    observed_at: datetime
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Document:
    """A landed body and how it came; the bytes themselves are read from the landing."""

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
        """Name the reading: these bytes, from this address, at this moment."""
        return _key(_mark(self.url), f"{_moment(self.observed_at)}-{self.sha256}")


class Landing:
    """A folder or an object store of bodies, with a note of each reading of an address."""

    def __init__(self, url: str) -> None:
        if "://" in url:
            self._files, self._root = fs.FileSystem.from_uri(url)
        else:
            self._files, self._root = fs.LocalFileSystem(), url

    def land(self, fetched: FetchedResponse) -> tuple[Document, bool]:
        """Store a body; say which document it is and whether it is new.

        What an address showed last time and shows again writes nothing. What it showed
        before something else is another reading, of bytes that are stored once.
        """
        _refuse_what_may_not_be_kept(fetched)
        body = io.BytesIO(fetched.body) if isinstance(fetched.body, bytes) else fetched.body
        digest, size = _measured(body)
        if not self._exists(self._body(digest)):
            self._write(self._body(digest), _pieces(body), "zstd")
        observed_at = fetched.observed_at.astimezone(UTC)
        earlier = [each for each in self._readings(fetched) if each.observed_at <= observed_at]
        if earlier and earlier[-1].sha256 == digest:
            return earlier[-1], False
        document = Document(
            digest,
            fetched.source,
            fetched.url,
            fetched.license_class,
            observed_at,
            fetched.status,
            fetched.headers,
            size,
        )
        facts = asdict(document) | {"observed_at": observed_at.isoformat()}
        note = f"{self._address(fetched)}/{_moment(observed_at)}-{digest}.json"
        self._write(note, [json.dumps(facts, indent=1, ensure_ascii=False).encode()])
        return document, True

    def documents(self, source: str) -> list[Document]:
        """Every document of a source, in the order in which they were observed."""
        return self._notes(f"{self._root}/documents/{source}")

    def keys(self, source: str) -> set[str]:
        """Give the key of every document of a source from the names of its notes alone."""
        paths = self._paths(f"{self._root}/documents/{source}")
        return {_key(*path.removesuffix(".json").split("/")[-2:]) for path in paths}

    def _readings(self, fetched: FetchedResponse) -> list[Document]:
        return self._notes(self._address(fetched))

    def _notes(self, folder: str) -> list[Document]:
        found = [self._document(path) for path in self._paths(folder)]
        return sorted(found, key=lambda each: (each.observed_at, each.url, each.sha256))

    def _paths(self, folder: str) -> list[str]:
        below = fs.FileSelector(folder, allow_not_found=True, recursive=True)
        paths = [info.path for info in self._files.get_file_info(below) if info.is_file]
        return [path for path in paths if path.endswith(".json")]

    def read(self, document: Document) -> bytes:
        """Give the body back; bytes that no longer have their hash are an error."""
        path = self._body(document.sha256)
        try:
            with self._files.open_input_file(path) as packed:
                body = cast(
                    bytes,
                    pa.decompress(packed.read(), document.size, codec="zstd", asbytes=True),
                )
        except FileNotFoundError:
            raise LandingError(f"{path} is missing: fetch {document.url} again") from None
        except (OSError, ValueError) as error:
            raise LandingError(_damaged(path, document, str(error))) from error
        if hashlib.sha256(body).hexdigest() != document.sha256:
            raise LandingError(_damaged(path, document, "its SHA-256 is another one"))
        return body

    @contextmanager
    def open(self, document: Document) -> Iterator[IO[bytes]]:
        """Open a body of any size; it is checked as a whole before a byte is handed out."""
        path = self._body(document.sha256)
        digest = hashlib.sha256()
        try:
            with self._files.open_input_stream(path, compression="zstd") as stream:
                while chunk := stream.read(_CHUNK):
                    digest.update(chunk)
        except FileNotFoundError:
            raise LandingError(f"{path} is missing: fetch {document.url} again") from None
        except OSError as error:
            raise LandingError(_damaged(path, document, str(error))) from error
        if digest.hexdigest() != document.sha256:
            raise LandingError(_damaged(path, document, "its SHA-256 is another one"))
        with self._files.open_input_stream(path, compression="zstd") as stream:
            yield cast(IO[bytes], stream)

    def _body(self, digest: str) -> str:
        return f"{self._root}/bodies/{digest[:2]}/{digest}.zst"

    def _address(self, fetched: FetchedResponse) -> str:
        return f"{self._root}/documents/{fetched.source}/{_mark(fetched.url)}"

    def _document(self, note: str) -> Document:
        try:
            with self._files.open_input_file(note) as stream:
                facts = json.loads(stream.read())
            return Document(
                **{**facts, "observed_at": datetime.fromisoformat(facts["observed_at"])},
            )
        except (ValueError, KeyError, TypeError) as error:
            raise LandingError(
                f"{note} is damaged ({error}): delete it and fetch the document again"
            ) from error

    def _exists(self, path: str) -> bool:
        return bool(self._files.get_file_info(path).type == fs.FileType.File)

    def _write(self, path: str, pieces: Iterable[bytes], compression: str | None = None) -> None:
        """Write beside, then move: a reader never meets half a file."""
        self._files.create_dir(path.rsplit("/", 1)[0], recursive=True)
        beside = f"{path}.{uuid4().hex}.part"
        with self._files.open_output_stream(beside, compression=compression) as stream:
            for piece in pieces:
                stream.write(piece)
        self._files.move(beside, path)


def _measured(body: IO[bytes]) -> tuple[str, int]:
    """Give the hash of a body and how long it is."""
    digest, size = hashlib.sha256(), 0
    for piece in _pieces(body):
        digest.update(piece)
        size += len(piece)
    return digest.hexdigest(), size


def _pieces(body: IO[bytes]) -> Iterator[bytes]:
    """Read a body from its start, never holding more than a piece of it."""
    body.seek(0)
    return iter(lambda: body.read(_CHUNK), b"")


def _key(mark: str, note: str) -> str:
    """Name a reading by the folder of its address and the name of its note."""
    moment, digest = note.split("-")
    return f"{digest}-{mark}-{moment}"


def _moment(observed_at: datetime) -> str:
    return f"{observed_at:%Y%m%dT%H%M%S%f}"


def _mark(url: str) -> str:
    return hashlib.sha256(url.encode()).hexdigest()[:16]


def _refuse_what_may_not_be_kept(fetched: FetchedResponse) -> None:
    if fetched.license_class not in LICENSE_CLASSES:
        raise LicenceError(
            f"{fetched.source}: {fetched.license_class!r} is no licence class; "
            f"one of {', '.join(LICENSE_CLASSES)}"
        )
    if fetched.license_class == "restricted":
        raise LicenceError(
            f"{fetched.source}: the licence of {fetched.url} forbids redistribution; "
            "nothing of it is kept"
        )


def _damaged(path: str, document: Document, why: str) -> str:
    return f"{path} is not what was fetched from {document.url} ({why}): delete it and fetch again"
