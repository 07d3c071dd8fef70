"""Bulk exports: the manifest, the signing key, and the files, whole or in byte ranges."""

import re
from collections.abc import Iterator, Mapping
from typing import BinaryIO

import falcon

from api.endpoints import declarations
from api.endpoints.endpoint import etag_matches, pinned_build, read_parameters
from api.endpoints.response import send_without_rows
from warehouse.contract.limits import check_file_tier
from warehouse.contract.problems import Problem, unknown_word
from warehouse.serve.build import Mart
from warehouse.serve.catalogue import export_body
from warehouse.serve.exports import (
    LATEST,
    MANIFEST_FILE,
    PUBLIC_KEY,
    PublishedExports,
    PublishedFile,
)
from warehouse.shared.errors import UnknownVersion

_IMMUTABLE = "max-age=31536000, immutable"
_ONE_MINUTE = "max-age=60"
_CHUNK_BYTES = 262_144
# 18 digits are enough for any file; a longer number is treated as malformed.
_SINGLE_RANGE = re.compile(r"bytes=[ \t]*([0-9]{0,18})-([0-9]{0,18})[ \t]*")


def file_routes(published: PublishedExports) -> dict[str, object]:
    """Return the routes of the files and of the key that signs their manifests."""
    version = ExportVersionResource(published)
    return {
        "/exports/{version}/{name}": ExportFileResource(published),
        **dict.fromkeys(("/exports/{version}", "/exports/{version}/"), version),
        f"/exports/{PUBLIC_KEY}": SigningKeyResource(published),
    }


class ExportManifestResource:
    """The manifest of a build's exports; an empty list if it exported nothing."""

    endpoint = declarations.EXPORT

    def __init__(self, mart: Mart) -> None:
        self._mart = mart

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Send the manifest and the licence notice."""
        read_parameters(req, self.endpoint)
        build = pinned_build(req, self._mart)
        send_without_rows(resp, export_body(build, req.context.exports_url), build.data_version)


class ExportFileResource:
    """A file that a manifest lists; a licensed one needs a key of its tier."""

    def __init__(self, published: PublishedExports) -> None:
        self._published = published

    def open(self, params: Mapping[str, str]) -> bool:
        """Return whether a file needs no key; neither does the 404 of a missing one."""
        try:
            file = _find(self._published, params["version"], params["name"])
        except Problem:
            return True
        return file.required_tier is None

    def on_get(self, req: falcon.Request, resp: falcon.Response, version: str, name: str) -> None:
        """Send the file or a part of it."""
        file = _find(self._published, version, name)
        _send_file(req, resp, file, latest=version == LATEST)


class ExportVersionResource:
    """A version without the name of a file: leads to the manifest or the page that lists them."""

    open = True

    def __init__(self, published: PublishedExports) -> None:
        self._published = published

    def on_get(self, req: falcon.Request, resp: falcon.Response, version: str) -> None:
        """Redirect, relative: the service may be reached below another path."""
        file = _find(self._published, version, MANIFEST_FILE)
        up = "../" if req.path.endswith("/") else "./"
        to = f"{file.data_version}/{file.name}"
        if "text/html" in req.accept:
            to = f"?data_version={file.data_version}"
        # Not for ever: ``latest`` moves with the next build.
        raise falcon.HTTPFound(f"{up}{to}", headers={"Vary": "Accept"})


class SigningKeyResource:
    """The public key that signs manifests, the same for every version."""

    open = True

    def __init__(self, published: PublishedExports) -> None:
        self._published = published

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Send the key of the latest version."""
        _send_file(req, resp, _find(self._published, LATEST, PUBLIC_KEY), latest=True)


class RangeNotSatisfiable(Exception):
    """The file has no byte in the requested range."""


def requested_range(header: str | None, size: int) -> tuple[int, int] | None:
    """Return the first and last byte of a Range header; None for the whole file.

    A malformed header, another unit or several ranges may be answered with the whole file
    (RFC 9110, section 14).
    """
    match = _SINGLE_RANGE.fullmatch(header or "")
    if match is None or match.groups() == ("", ""):
        return None
    first, last = match.groups()
    if not first:
        # ``bytes=-500`` is the last 500 bytes.
        start, end = max(size - int(last), 0), size - 1
    else:
        start, end = int(first), min(int(last), size - 1) if last else size - 1
        if last and int(last) < start:
            return None
    if start > end:
        raise RangeNotSatisfiable
    return start, end


def _find(published: PublishedExports, version: str, name: str) -> PublishedFile:
    try:
        file = published.file(version, name)
    except (UnknownVersion, FileNotFoundError) as error:
        detail = f"The exports have no version {version[:32]!r}; see /v1/versions, or use {LATEST}."
        raise Problem("not_found", detail, nearest=[LATEST]) from error
    if file is None:
        raise unknown_word("file", name, published.names(version))
    return file


def _send_file(
    req: falcon.Request, resp: falcon.Response, file: PublishedFile, latest: bool
) -> None:
    """Send a file whole or in part; the only way a file leaves, so the tier is checked here."""
    key = req.context.key
    check_file_tier(None if key is None else key.tier, file.required_tier, file.dataset)
    resp.context.passed_tier_cap = True
    etag = f'"{file.sha256 or f"{file.data_version}/{file.name}"}"'
    # This header also tells the middleware that a file has a form of its own.
    resp.set_header("Accept-Ranges", "bytes")
    byte_range = _byte_range(req, resp, file.size_bytes, etag)
    stream = file.open()
    resp.set_header("ETag", etag)
    resp.set_header("X-Data-Version", file.data_version)
    scope = "public" if file.required_tier is None else "private"
    # ``latest`` moves with the next build; a named version never changes.
    resp.set_header("Cache-Control", f"{scope}, {_ONE_MINUTE if latest else _IMMUTABLE}")
    resp.content_type = file.media_type
    if latest:
        resp.set_header("Content-Location", f"/exports/{file.data_version}/{file.name}")
    if etag_matches(req.get_header("If-None-Match"), etag):
        stream.close()
        resp.status = falcon.HTTP_304
        return
    start, end = byte_range or (0, file.size_bytes - 1)
    if byte_range is not None:
        resp.status = falcon.HTTP_206
        resp.set_header("Content-Range", f"bytes {start}-{end}/{file.size_bytes}")
    if req.method == "HEAD":
        stream.close()
        resp.set_header("Content-Length", str(end - start + 1))
        return
    stream.seek(start)
    length = end - start + 1
    resp.set_stream(_chunks(stream, length), length)


def _byte_range(
    req: falcon.Request, resp: falcon.Response, size: int, etag: str
) -> tuple[int, int] | None:
    """Return the requested range; None for HEAD, or if If-Range names other bytes."""
    if req.method == "HEAD" or req.get_header("If-Range", default=etag) != etag:
        return None
    try:
        return requested_range(req.get_header("Range"), size)
    except RangeNotSatisfiable as error:
        resp.set_header("Content-Range", f"bytes */{size}")
        raise Problem(
            "range_not_satisfiable", f"The file has {size} bytes, none of them in the range."
        ) from error


def _chunks(stream: BinaryIO, length: int) -> Iterator[bytes]:
    with stream:
        while length > 0 and (chunk := stream.read(min(_CHUNK_BYTES, length))):
            length -= len(chunk)
            yield chunk
