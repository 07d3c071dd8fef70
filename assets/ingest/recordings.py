"""Recordings: files, folders and archives, read as if they had been fetched.

A file does not say where and when it was read: its address at the publisher and the day it was read
there are given with it. Nothing is guessed, and nothing of this machine gets into the landing.
"""

import csv
import hashlib
import io
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time
from pathlib import Path, PurePosixPath
from typing import IO, Any
from urllib.parse import quote, urlsplit

from assets.fetching.addresses import without_secrets
from assets.fetching.containers import gunzipped, member_url, zip_documents
from assets.source import Source
from warehouse.record.landing import FetchedResponse
from warehouse.shared.errors import SankofaError
from warehouse.shared.urls import why_not_public

# What a file does not say of itself: its headers are next to it, its time follows from a day.
#
# Response headers that a parser needs are in a JSON file next to the document, named like it plus
# ``.headers.json``.

_HEADERS = ".headers.json"


def _is_headers_name(name: str) -> bool:
    return name.endswith(_HEADERS)


def is_hidden(name: str) -> bool:
    """Return whether a path is one that systems leave next to files: .DS_Store, __MACOSX."""
    return any(
        (part.startswith(".") and not part.startswith("..")) or part == "__MACOSX"
        for part in PurePosixPath(name).parts
    )


def is_document(path: Path) -> bool:
    """Return whether a path is a file that is not the headers of another."""
    return path.is_file() and not _is_headers_name(path.name)


def headers_beside(path: Path) -> dict[str, str]:
    """Return the headers in the file next to a document; none if there is no such file."""
    file = path.with_name(path.name + _HEADERS)
    if file.is_symlink() and not file.resolve().is_relative_to(path.parent.resolve()):
        raise SankofaError(f"{file} is a link out of its folder, not followed; copy it here")
    return _read_headers(file.read_bytes() if file.is_file() else None, str(file))


def _read_headers(content: bytes | None, name: str) -> dict[str, str]:
    """Read a file of headers; None is no such file."""
    try:
        headers = {} if content is None else json.loads(content)
    except (ValueError, RecursionError) as error:
        raise SankofaError(f"{name}: not JSON ({error}); correct it or remove it") from None
    if not isinstance(headers, dict):
        raise SankofaError(f"{name}: write one JSON object of header names and values")
    return {str(key).lower(): str(value) for key, value in headers.items()}


def start_of_reading(day: date) -> datetime:
    """Return the time that is used for a day: a fixed hour, so that keys are reproducible."""
    return datetime.combine(day, time(6), UTC)


_ZIP, _GZIP = b"PK\x03\x04", b"\x1f\x8b"
# Archives in archives: a zip of gzips is usual, more is a bomb or a mistake.
_DEEPEST = 3
_HIDDEN = "hidden files"


@dataclass(frozen=True)
class Origin:
    """Where and when a plain file was read.

    ``is_base``: the name of each file is appended to the address.
    """

    url: str
    observed_at: datetime
    is_base: bool = False
    headers: Mapping[str, str] = field(default_factory=dict)

    def of(self, name: str) -> "Origin":
        """Return the origin of a file in a folder whose origin this is."""
        return replace(self, url=f"{self.url.rstrip('/')}/{quote(name)}", is_base=False)


@dataclass
class Recordings:
    """Reads recordings of one source; what it could not take is in ``failed`` and ``skipped``."""

    source: Source
    failed: list[str] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)

    def read(
        self, paths: Iterable[Path], origin: Origin | None = None
    ) -> Iterator[FetchedResponse]:
        """Yield the documents of files and folders; a bad file is noted, and the others go on.

        A body is open until the next one is requested.
        """
        for path in paths:
            try:
                if path.is_dir():
                    yield from self._folder(path, origin)
                else:
                    yield from self._file(path, path.name, origin)
            except (SankofaError, OSError) as error:
                self._fail(str(path), error)

    def _folder(self, folder: Path, origin: Origin | None) -> Iterator[FetchedResponse]:
        if origin is not None:
            _refuse_base_with_query(origin)
        documents = list(self._documents_in(folder))
        if not documents:
            raise SankofaError("the folder contains no files that can be read")
        for path in documents:
            name = path.relative_to(folder).as_posix()
            base = origin and replace(origin, is_base=True)
            try:
                yield from self._file(path, name, base)
            except (SankofaError, OSError) as error:
                self._fail(str(path), error)

    def _documents_in(self, folder: Path) -> Iterator[Path]:
        """Yield the files of a folder that are documents; note what else there is."""
        whole = folder.resolve()
        for path in sorted(folder.rglob("*")):
            if is_hidden(path.relative_to(folder).as_posix()):
                if not path.is_dir():
                    self.skipped[_HIDDEN] += 1
            elif not path.resolve().is_relative_to(whole):
                self._fail(str(path), "a link out of the folder, not followed; copy the file here")
            elif path.is_symlink() and path.is_dir():
                self._fail(str(path), "a link to a folder, not followed; copy the folder here")
            elif is_document(path):
                yield path
            elif not path.is_dir() and not path.is_file():
                self._fail(str(path), "neither a file nor a folder")

    def _file(self, path: Path, name: str, origin: Origin | None) -> Iterator[FetchedResponse]:
        with path.open("rb") as body:
            recorded = _Recorded(str(path), name, body, lambda: headers_beside(path), origin)
            yield from self._recorded(recorded)

    def _recorded(self, recorded: "_Recorded", depth: int = 0) -> Iterator[FetchedResponse]:
        """Yield the documents of one file, or of one member of an archive."""
        start = recorded.start
        if not start:
            raise SankofaError("the file is empty")
        if depth > _DEEPEST:
            raise SankofaError("archives are nested too deeply; unpack them first")
        name = recorded.name.lower()
        if start.startswith(_ZIP) and "zip" not in self.source.archives:
            yield from self._unzipped(recorded, depth)
        elif start.startswith(_GZIP) and "gzip" not in self.source.archives:
            with gunzipped(recorded.body) as content:
                plain = recorded.name[:-3] if name.endswith(".gz") else recorded.name
                yield from self._recorded(replace(recorded, name=plain, body=content), depth + 1)
        else:
            yield self._document(recorded)

    def _unzipped(self, recorded: "_Recorded", depth: int) -> Iterator[FetchedResponse]:
        def refuse(error: SankofaError) -> None:
            self._fail(recorded.label, error)

        def is_member(name: str) -> bool:
            if is_hidden(name):
                self.skipped[_HIDDEN] += 1
            return not is_hidden(name) and not _is_headers_name(name)

        members = zip_documents(recorded.body, _is_headers_name, refuse)
        headers = {name: body.read() for name, body in members}
        found = False
        for name, body in zip_documents(recorded.body, is_member, refuse):
            found = True
            label = f"{recorded.label}!/{name}"

            def member_headers(name: str = name, label: str = label) -> dict[str, str]:
                return _read_headers(headers.get(f"{name}{_HEADERS}"), f"{label}{_HEADERS}")

            origin = recorded.member_origin(name, self.source)
            member = _Recorded(label, name, body, member_headers, origin)
            try:
                yield from self._recorded(member, depth + 1)
            except SankofaError as error:
                self._fail(label, error)
        if not found:
            raise SankofaError("the zip contains no files that can be read")

    def _document(self, recorded: "_Recorded") -> FetchedResponse:
        origin = recorded.own_origin()
        if origin is None:
            raise SankofaError(
                "a plain file does not say where and when it was read: give --origin, its address "
                "at the publisher, and --observed-at, the day it was read there"
            )
        url = without_secrets(origin.url)
        why = why_not_public(url)
        if why is not None:
            raise SankofaError(f"{url!r:.200} is not a publisher's address: {why}")
        if not self.source.is_published_at(url):
            published = ", ".join(self.source.published_at)
            raise SankofaError(
                f"{url:.200} is not an address of {self.source.key}, which is published at "
                f"{published}: give the publisher's address with --origin"
            )
        return FetchedResponse(
            source=self.source.key,
            url=url,
            body=recorded.body,
            license_class=self.source.license_class,
            observed_at=origin.observed_at,
            headers=recorded.headers() | dict(origin.headers),
            world=self.source.world,
        )

    def _fail(self, label: str, error: object) -> None:
        words = error.strerror if isinstance(error, OSError) and error.strerror else error
        self.failed.append(f"{label}: {words}")


@dataclass(frozen=True)
class _Recorded:
    """One file or member: what to call it, its name below what was given, and its bytes."""

    label: str
    name: str
    body: IO[bytes]
    headers: Callable[[], dict[str, str]]
    origin: Origin | None

    @property
    def start(self) -> bytes:
        self.body.seek(0)
        start = self.body.read(8)
        self.body.seek(0)
        return start

    def own_origin(self) -> Origin | None:
        is_base = self.origin is not None and self.origin.is_base
        return self.origin.of(self.name) if self.origin and is_base else self.origin

    def member_origin(self, name: str, source: Source) -> Origin | None:
        """Return the origin of a member of this zip.

        If the zip has an address of its own, the member is named within it, unless the publisher
        has the same file at an address of its own.
        """
        own = self.own_origin()
        if own is None:
            return None
        if urlsplit(own.url).path.lower().endswith(".zip"):
            published = source.member_url(name) if source.member_url is not None else None
            return replace(own, url=published or member_url(own.url, name))
        _refuse_base_with_query(own)
        return own.of(name)


def observed_at(text: str) -> datetime:
    """Read the moment of a recording: a day, or a moment (UTC unless it says otherwise)."""
    try:
        if len(text.strip()) == 10:
            moment = start_of_reading(date.fromisoformat(text.strip()))
        else:
            moment = datetime.fromisoformat(text.strip())
    except ValueError:
        raise SankofaError(
            f"{text!r:.40} is neither a day (2026-02-20) nor a moment (2026-02-20T14:30Z)"
        ) from None
    moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    if moment > datetime.now(UTC):
        raise SankofaError(f"{text} has not come yet: give the day on which it was read")
    return moment


def _refuse_base_with_query(origin: Origin) -> None:
    if urlsplit(origin.url).query:
        raise SankofaError(
            f"{without_secrets(origin.url):.200} has a query, so that no names can be appended to "
            "it: give the address of each file in a manifest"
        )


# A manifest says of each recorded file where and when it was read: a CSV or TSV file with a header
# line; docs/recordings.md explains its columns.

_REQUIRED = ("path", "url", "observed_at")
_SHORTEST_DIGEST = 12


@dataclass(frozen=True)
class ManifestEntry:
    """One recorded file, with the key of its source if the manifest names it."""

    path: Path
    source: str | None
    origin: Origin | None
    sha256: str = ""

    def verify(self) -> None:
        """Raise SankofaError if the file is not the one that the manifest describes."""
        if not self.sha256:
            return
        with self.path.open("rb") as body:
            digest = hashlib.file_digest(body, "sha256").hexdigest()
        if not digest.startswith(self.sha256):
            raise SankofaError(f"its SHA-256 is {digest}, and the manifest says {self.sha256}")


def read_manifest(file: Path) -> list[ManifestEntry]:
    """Read a manifest; raise SankofaError that names the file and the line for a bad one."""
    try:
        text = file.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        words = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise SankofaError(f"{file}: the manifest cannot be read ({words})") from None
    entries = []
    first_line = text.partition("\n")[0]
    lines = csv.DictReader(io.StringIO(text), delimiter="\t" if "\t" in first_line else ",")
    missing = [name for name in _REQUIRED if name not in (lines.fieldnames or ())]
    if missing:
        raise SankofaError(
            f"{file}: the manifest has no column {', '.join(missing)}; it needs "
            f"{', '.join(_REQUIRED)}"
        )
    for row in lines:
        try:
            entries.append(_entry(file.parent, row))
        except SankofaError as error:
            raise SankofaError(f"{file}, line {lines.line_num}: {error}") from None
    if not entries:
        raise SankofaError(f"{file}: the manifest names no files")
    return entries


def _entry(folder: Path, row: Mapping[str, Any]) -> ManifestEntry:
    path, url, moment = (_cell(row, name) for name in _REQUIRED)
    digest = _cell(row, "sha256").lower()
    if not path:
        raise SankofaError("it names no path")
    # Who writes an absolute path means it; a manifest that came with its files must stay with them.
    is_outside = not (folder / path).resolve().is_relative_to(folder.resolve())
    if is_outside and not Path(path).is_absolute():
        raise SankofaError(
            f"{path} leads out of the folder of the manifest; copy it there, or write where it is "
            "from the root on"
        )
    if bool(url) != bool(moment):
        raise SankofaError(f"{path} needs both url and observed_at")
    if digest and len(digest) < _SHORTEST_DIGEST:
        raise SankofaError(f"{path}: give at least {_SHORTEST_DIGEST} characters of its SHA-256")
    origin = None
    if url:
        stated = _cell(row, "headers").encode()
        headers = _read_headers(stated or None, f"the headers of {path}")
        origin = Origin(url, observed_at(moment), url.endswith("/"), headers)
    return ManifestEntry(folder / path, _cell(row, "source") or None, origin, digest)


def _cell(row: Mapping[str, Any], name: str) -> str:
    return str(row.get(name) or "").strip()
