"""The landing: fetched bodies, compressed and stored once under their SHA-256.

Nothing here looks into a body; that belongs to the parser of its source.
"""

import hashlib
import io
from collections.abc import Iterable, Iterator, Set
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import IO, cast, get_args
from uuid import uuid4

import msgspec
import pyarrow as pa
from pyarrow import fs

from warehouse.record.documents import Document as Document
from warehouse.record.documents import FetchedResponse as FetchedResponse
from warehouse.record.documents import (
    Removal,
    compact_moment,
    copied_documents,
    decode_note,
    document_key,
    encode_note,
    mixed_worlds,
    require_landable,
    url_hash,
)
from warehouse.record.documents import World as World
from warehouse.shared.errors import BadStore, DamagedFile, LandingError
from warehouse.shared.file_store import is_object_store
from warehouse.shared.files import decode_sealed, private_folder, seal
from warehouse.shared.locks import file_lock, shared_file_lock
from warehouse.shared.settings import SETTINGS, Settings
from warehouse.shared.urls import is_fictional

_CHUNK = 1 << 20
# The note of a document, and of one whose body was removed.
_NOTE, _REMOVED_NOTE = ".json", ".removed.json"
# What a killed writer leaves behind ends with it.
_PART = ".part"
_FETCHED_AT = "fetched_at"
_decode_fetched = msgspec.json.Decoder(dict[str, datetime]).decode
# Metadata files read at the same time from an object store.
_REQUESTS = 16
_WORLDS: dict[bytes, World] = {world.encode(): world for world in get_args(World)}


class Landing:
    """A folder or an object store of bodies, with a metadata file for each reading of a URL.

    ``caches`` is a local folder in which copies of the metadata are kept, so that each file of it
    is read once; it may be deleted at any time.
    """

    def __init__(self, url: str, caches: Path | None = None) -> None:
        self._is_folder = not is_object_store(url)
        self._files, self._root = _open(url)
        self._caches = None if caches is None else caches / "landing" / url_hash(url)
        self._entered: World | None = None

    def world(self) -> World | None:
        """Return of which world the landed documents are; None if there are none."""
        path = self._world_path
        if not self._exists(path):
            # The mark is lost: any document tells.
            addresses = (self._document(note).url for note in self._all_notes())
            worlds = ("fictional" if is_fictional(url) else "real" for url in addresses)
            return cast(World | None, next(worlds, None))
        # A person may have written it, but nothing else than a line break may follow.
        mark = self._read_whole(path).removesuffix(b"\n")
        if mark not in _WORLDS:
            raise LandingError(f"{path} is damaged: write real, starter or fictional into it")
        return _WORLDS[mark]

    def enter(self, world: World) -> None:
        """Mark the landing as of a world; raise SankofaError if it is of another."""
        if self._entered != world:
            self.refuse_other_world(world)
            # A home that began with the starter documents goes on as a real one.
            if not self._exists(self._world_path) or self.world() != world:
                self._write(self._world_path, [f"{world}\n".encode()])
            self._entered = world

    def refuse_other_world(self, world: World) -> None:
        """Raise SankofaError if documents of another world are landed here.

        Real documents may follow those of the starter world, which are real as well.
        """
        landed = self.world()
        if landed not in (None, world) and (landed, world) != ("starter", "real"):
            raise mixed_worlds(landed)

    def land(self, response: FetchedResponse) -> tuple[Document, bool]:
        """Store a response; return its document and whether that is new.

        A URL that returns the same bytes as last time adds nothing. If it goes back to bytes it
        returned earlier, that is a new document. Bytes that were erased are not stored again, and
        those that were removed only for a new document.
        """
        require_landable(response)
        self.enter(response.world)
        body = io.BytesIO(response.body) if isinstance(response.body, bytes) else response.body
        digest, size = _hash_and_size(body)
        document = Document(
            digest,
            response.source,
            response.url,
            response.license_class,
            response.observed_at.astimezone(UTC),
            response.status,
            response.headers,
            size,
        )
        with self.bodies_kept():
            return self._store(document, body)

    def _store(self, document: Document, body: IO[bytes]) -> tuple[Document, bool]:
        digest = document.sha256
        folder = f"{self._root}/documents/{document.source}/{url_hash(document.url)}"
        moment = compact_moment(document.observed_at)
        # Documents can be landed out of order: compare with the one observed before this one. The
        # name of a file says when its document was observed, in a form that sorts.
        until = f"{folder}/{moment}-~"
        earlier = sorted(path for path in self._metadata_paths(folder) if path <= until)[-1:]
        same = [path for path in earlier if _digest_of(path) == digest]
        # The body goes first, so that no metadata ever names a body that is missing. Two processes
        # that write the same body at once write the same bytes.
        is_stored = self._exists(self._body_path(digest))
        is_erased = not is_stored and self._exists(self._erased_path(digest))
        if not (is_stored or is_erased or any(map(_is_removed, same))):
            self._write(self._body_path(digest), _chunks(body), "zstd")
        if same:
            return self._document(same[0]), False
        if is_erased:
            return document, False
        self._write(f"{folder}/{moment}-{digest}{_NOTE}", [encode_note(document)])
        return document, True

    def documents(self, source: str) -> list[Document]:
        """Return every document of a source, in the order in which they were observed."""
        paths = self._metadata_paths(f"{self._root}/documents/{source}")
        return sorted(
            self._read_metadata(source, paths),
            key=lambda document: (document.observed_at, document.url, document.sha256),
        )

    def keys(self, source: str) -> set[str]:
        """Return the key of every document of a source, from file names alone."""
        return set(map(_key_of, self._metadata_paths(f"{self._root}/documents/{source}")))

    def readable_keys(self, source: str) -> set[str]:
        """Return the keys of those documents of a source whose bodies were not removed."""
        paths = self._metadata_paths(f"{self._root}/documents/{source}")
        return {_key_of(path) for path in paths if not _is_removed(path)}

    def mark_fetched(self, source: str, fetched_at: datetime) -> None:
        """Note when a source was last fetched with success, also if nothing had changed."""
        body = msgspec.json.encode({_FETCHED_AT: fetched_at.astimezone(UTC)})
        self._write(self._fetched_path(source), [seal(body)])

    def last_fetched(self, source: str) -> datetime | None:
        """Return when a source was last fetched with success; None if that is not known."""
        path = self._fetched_path(source)
        if not self._exists(path):
            return None
        try:
            return decode_sealed(_decode_fetched, self._read_whole(path), path)[_FETCHED_AT]
        except (DamagedFile, KeyError):
            raise LandingError(f"{path} is damaged: delete it") from None

    def erase(self, sha256: str) -> None:
        """Delete a body and the notes of its readings, and never store these bytes again."""
        # The mark goes first, and every step can be repeated: see ``land``.
        self._write(self._erased_path(sha256), [b""])
        for path in self._all_paths(f"{self._root}/documents"):
            # The name of a file contains the hash; one of a killed writer has an ending more.
            if sha256 in path.rsplit("/", 1)[-1]:
                self._files.delete_file(path)
        self._delete_body(sha256)

    def bodies_of_none_but(self, keys: Set[str]) -> set[str]:
        """Return the SHA-256 of the bodies all of whose readings are among these documents."""
        paths = [path for path in self._all_notes() if not _is_removed(path)]
        others = {_digest_of(path) for path in paths if _key_of(path) not in keys}
        return {_digest_of(path) for path in paths} - others

    def remove_bodies(self, chosen: Set[str], removal: Removal) -> int:
        """Delete bodies, and say so in the notes of their readings, which stay; return how many.

        It can be repeated: a body that an interrupted removal left is deleted, too. In an object
        store no one may land the same bytes meanwhile: they would be missing, and fetched again.
        """
        with self.bodies_kept(exclusively=True):
            for path in self._all_notes():
                if _digest_of(path) in chosen and not _is_removed(path):
                    note = replace(self._document(path), removal=removal)
                    self._write(path.removesuffix(_NOTE) + _REMOVED_NOTE, [encode_note(note)])
                    self._files.delete_file(path)
            notes = self._all_notes()
            live = {_digest_of(path) for path in notes if not _is_removed(path)}
            removed = {_digest_of(path) for path in notes} - live
            bodies = self._all_paths(f"{self._root}/bodies")
            left = removed & {path.rsplit("/", 1)[-1].partition(".")[0] for path in bodies}
            for sha256 in left:
                self._delete_body(sha256)
        return len(left)

    def _delete_body(self, sha256: str) -> None:
        """Delete the bytes of a document, and what a killed writer left of them.

        Erasures and removals both end here: whatever else is stored of the content of a document,
        apart from its rows, is deleted here as well.
        """
        for path in self._all_paths(self._body_path(sha256).rsplit("/", 1)[0]):
            if sha256 in path.rsplit("/", 1)[-1]:
                self._files.delete_file(path)

    @contextmanager
    def bodies_kept(self, *, exclusively: bool = False) -> Iterator[None]:
        """Keep removals and copies of bodies apart from those who land some, on this machine."""
        if not self._is_folder:
            yield
            return
        lock = private_folder(Path(self._root)) / ".lock"
        with file_lock(lock) if exclusively else shared_file_lock(lock):
            yield

    def find(
        self, *, url: str | None = None, sha256: str | tuple[str, ...] | None = None
    ) -> list[Document]:
        """Return the documents of all sources that were read from a URL, or have a SHA-256.

        The beginning of the SHA-256 is enough; of several, each is looked for.
        """
        paths = [
            path
            for path in self._all_notes()
            if (url is None or path.split("/")[-2] == url_hash(url))
            and (sha256 is None or path.rsplit("-", 1)[-1].startswith(sha256))
        ]
        found = [self._document(path) for path in paths]
        return sorted(found, key=lambda document: (document.observed_at, document.url))

    def _read_metadata(self, source: str, paths: list[str]) -> list[Document]:
        """Return the documents of metadata files, reading each file once if there are caches."""
        if self._caches is None:
            return [self._document(path) for path in paths]
        # Files never change, and what was erased is not listed.
        below = [path[len(self._root) + 1 :] for path in paths]
        return copied_documents(self._caches / f"{source}.jsonl", below, self._of)

    def _of(self, paths: list[str]) -> list[Document]:
        # In an object store each is a request: most of the time goes to waiting.
        with ThreadPoolExecutor(1 if self._is_folder else _REQUESTS) as threads:
            return list(threads.map(lambda path: self._document(f"{self._root}/{path}"), paths))

    def _metadata_paths(self, folder: str) -> list[str]:
        # A writer that was killed can leave a temporary file behind, one that removed a body the
        # note before.
        paths = {path for path in self._all_paths(folder) if path.endswith(_NOTE)}
        replaced = {path.removesuffix(_REMOVED_NOTE) + _NOTE for path in paths if _is_removed(path)}
        return list(paths - replaced)

    def _all_notes(self) -> list[str]:
        return self._metadata_paths(f"{self._root}/documents")

    def _all_paths(self, folder: str) -> list[str]:
        # A source that was never fetched has no folder.
        below = fs.FileSelector(folder, allow_not_found=True, recursive=True)
        return [info.path for info in self._files.get_file_info(below) if info.is_file]

    def read(self, document: Document) -> bytes:
        """Return the body; bytes that no longer match their SHA-256 are an error."""
        with self._body(document) as path, self._files.open_input_file(path) as compressed:
            body = cast(
                bytes, pa.decompress(compressed.read(), document.size, codec="zstd", asbytes=True)
            )
            _require_digest(hashlib.sha256(body).hexdigest(), document)
        return body

    def beginning(self, document: Document, size: int) -> bytes:
        """Return the first bytes of a body, which nothing verifies."""
        with self._body(document) as path, self._unpacked(path) as stream:
            return stream.read(size)

    @contextmanager
    def open(self, document: Document) -> Iterator[IO[bytes]]:
        """Open a body of any size; all of it is verified before the first byte is returned."""
        digest = hashlib.sha256()
        with self._body(document) as path, self._unpacked(path) as stream:
            while chunk := stream.read(_CHUNK):
                digest.update(chunk)
            _require_digest(digest.hexdigest(), document)
        with self._unpacked(path) as stream:
            yield stream

    def _unpacked(self, path: str) -> IO[bytes]:
        return cast(IO[bytes], self._files.open_input_stream(path, compression="zstd"))

    @contextmanager
    def _body(self, document: Document) -> Iterator[str]:
        """Yield where a body is; say what to do if it was removed, is missing or damaged."""
        if document.removal is not None:
            raise LandingError(
                f"{document.url} cannot be read again: {document.removal.words}; the rows that "
                "were read from it stay"
            )
        path = self._body_path(document.sha256)
        try:
            yield path
        except FileNotFoundError:
            raise LandingError(f"{path} is missing: fetch {document.url} again") from None
        except (OSError, ValueError) as error:
            raise LandingError(
                f"{path} is not what was fetched from {document.url} ({error}): delete it and "
                "fetch again"
            ) from error

    def damage(self) -> Iterator[LandingError]:
        """Yield an error for each mark and note that is damaged, and each body that is another."""
        yield from self._damaged_marks()
        documents: dict[str, Document] = {}
        for path in sorted(self._all_notes()):
            try:
                document = self._document(path)
            except LandingError as error:
                yield error
                continue
            source, hashed_url, name = path.split("/")[-3:]
            moment = compact_moment(document.observed_at)
            if (source, hashed_url, name) != (
                document.source,
                url_hash(document.url),
                f"{moment}-{document.sha256}{_NOTE if document.removal is None else _REMOVED_NOTE}",
            ):
                yield LandingError(f"{path} is damaged: what it says does not fit its name")
            elif document.removal is None:
                documents[document.sha256] = document
        for document in documents.values():
            try:
                with self.open(document):
                    pass
            except LandingError as error:
                yield error

    def _damaged_marks(self) -> Iterator[LandingError]:
        marks = [self.world] + [
            partial(self.last_fetched, path.rsplit("/", 1)[-1])
            for path in self._all_paths(f"{self._root}/fetched")
            if not path.endswith(_PART)
        ]
        for read in marks:
            try:
                read()
            except LandingError as error:
                yield error

    @property
    def _world_path(self) -> str:
        return f"{self._root}/world"

    def _body_path(self, digest: str) -> str:
        return f"{self._root}/bodies/{digest[:2]}/{digest}.zst"

    def _fetched_path(self, source: str) -> str:
        return f"{self._root}/fetched/{source}"

    def _erased_path(self, digest: str) -> str:
        return f"{self._root}/erased/{digest}"

    def _document(self, path: str) -> Document:
        try:
            return decode_note(self._read_whole(path), path)
        except DamagedFile as error:
            raise LandingError(f"{error}; delete it and fetch the document again") from error

    def _read_whole(self, path: str) -> bytes:
        with self._files.open_input_file(path) as stream:
            return cast(bytes, stream.read())

    def _exists(self, path: str) -> bool:
        return bool(self._files.get_file_info(path).type == fs.FileType.File)

    def _write(self, path: str, chunks: Iterable[bytes], compression: str | None = None) -> None:
        """Write to a temporary file, then rename: a reader never sees half a file."""
        # An object appears when its upload is complete, and needs no folder.
        written = path
        if self._is_folder:
            private_folder(Path(self._root))
            self._files.create_dir(path.rsplit("/", 1)[0], recursive=True)
            written = f"{path}.{uuid4().hex}{_PART}"
        with self._files.open_output_stream(written, compression=compression) as stream:
            for chunk in chunks:
                stream.write(chunk)
        if self._is_folder:
            self._files.move(written, path)


def open_landing(settings: Settings) -> Landing:
    """Open the landing of an installation, with its caches in the home."""
    return Landing(settings.landing, settings.caches)


def _open(url: str) -> tuple[fs.FileSystem, str]:
    if not is_object_store(url):
        return fs.LocalFileSystem(), url
    if url.startswith("s3://") and "allow_delayed_open" not in url:
        # Without it every file, however small, is a multipart upload: three requests, which some
        # stores refuse.
        url += ("&" if "?" in url else "?") + "allow_delayed_open=true"
    try:
        files, root = fs.FileSystem.from_uri(url)
    except pa.ArrowException as error:
        scheme = url.partition("://")[0]
        raise BadStore(
            f"{SETTINGS['landing'].name} cannot be opened as {scheme}://… ({error}); give a "
            "folder, or the URL of an object store such as s3://BUCKET/FOLDER"
        ) from error
    return files, root


def _hash_and_size(body: IO[bytes]) -> tuple[str, int]:
    digest, size = hashlib.sha256(), 0
    for chunk in _chunks(body):
        digest.update(chunk)
        size += len(chunk)
    return digest.hexdigest(), size


def _chunks(body: IO[bytes]) -> Iterator[bytes]:
    """Read a body from its start, one chunk in memory at a time."""
    body.seek(0)
    return iter(lambda: body.read(_CHUNK), b"")


def _is_removed(path: str) -> bool:
    return path.endswith(_REMOVED_NOTE)


def _digest_of(path: str) -> str:
    """Return the SHA-256 of a document, from the name of its note."""
    return path.rsplit("-", 1)[-1].partition(".")[0]


def _key_of(path: str) -> str:
    folder, name = path.split("/")[-2:]
    return document_key(folder, name.partition(".")[0])


def observed_at_of(key: str) -> datetime:
    """Return when a document was observed, which its key says to the second."""
    moment = key.rpartition("-")[2]
    return datetime.strptime(moment[:15], "%Y%m%dT%H%M%S").replace(tzinfo=UTC)


def _require_digest(digest: str, document: Document) -> None:
    if digest != document.sha256:
        raise ValueError("its SHA-256 differs")
