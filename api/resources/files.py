"""The files behind the export manifest, whole or in parts, the same bytes forever."""

from collections.abc import Iterator, Mapping
from typing import BinaryIO

import falcon

from api.representation import matches
from api.resources.ranges import Unsatisfiable, part
from warehouse.contract.problems import Problem
from warehouse.errors import UnknownVersion
from warehouse.exports.published import LATEST, PUBLIC_KEY, Published, PublishedFile
from warehouse.tiers import TIERS, Tier

_FOREVER = "max-age=31536000, immutable"
_FOR_A_MINUTE = "max-age=60"
_PIECE = 262_144


def routes(published: Published) -> dict[str, object]:
    """Give the addresses of files, and that of the key their manifests are signed with."""
    return {
        "/exports/{version}/{name}": Files(published),
        f"/exports/{PUBLIC_KEY}": SigningKey(published),
    }


class Files:
    """Answers with a file that a manifest names; a licensed one needs a key of its tier."""

    def __init__(self, published: Published) -> None:
        self._published = published

    def open(self, params: Mapping[str, str]) -> bool:
        """Tell whether a file is read without a key; so is the news that there is none."""
        try:
            file = _find(self._published, params["version"], params["name"])
        except Problem:
            return True
        return file.required_tier is None

    def on_get(self, req: falcon.Request, resp: falcon.Response, version: str, name: str) -> None:
        """Answer with the file or a part of it."""
        file = _find(self._published, version, name)
        if file.required_tier is not None:
            _refuse_below(TIERS[file.required_tier], req.context.key.tier)
        _answer(req, resp, file, latest=version == LATEST)

    on_head = on_get


class SigningKey:
    """Answers with the public key, which is the same for every version."""

    open = True

    def __init__(self, published: Published) -> None:
        self._published = published

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Answer with the key of the latest version."""
        _answer(req, resp, _find(self._published, LATEST, PUBLIC_KEY), latest=True)

    on_head = on_get


def _find(published: Published, version: str, name: str) -> PublishedFile:
    try:
        file = published.file(version, name)
    except (UnknownVersion, FileNotFoundError):
        file = None
    if file is None:
        raise _gone(version, name)
    return file


def _gone(version: str, name: str) -> Problem:
    return Problem("not_found", f"The exports have no file {version[:32]}/{name[:100]}.")


def _refuse_below(required: Tier, tier: Tier) -> None:
    order = list(TIERS)
    if order.index(tier.name) < order.index(required.name):
        raise Problem(
            "licensed_export",
            f"This file needs a key of the {required.name} tier; yours is of the {tier.name} tier.",
            tier=tier.name,
            required_tier=required.name,
        )


def _answer(req: falcon.Request, resp: falcon.Response, file: PublishedFile, latest: bool) -> None:
    etag = f'"{file.sha256 or f"{file.data_version}/{file.name}"}"'
    resp.set_header("Accept-Ranges", "bytes")
    span = _span(req, resp, file.size_bytes, etag)
    try:
        opened = file.open()
    except FileNotFoundError as error:
        raise _gone(file.data_version, file.name) from error
    resp.set_header("ETag", etag)
    resp.set_header("X-Data-Version", file.data_version)
    who = "public" if file.required_tier is None else "private"
    resp.set_header("Cache-Control", f"{who}, {_FOR_A_MINUTE if latest else _FOREVER}")
    resp.content_type = file.media_type
    if latest:
        resp.set_header("Content-Location", f"/exports/{file.data_version}/{file.name}")
    if matches(req.get_header("If-None-Match"), etag):
        opened.close()
        resp.status = falcon.HTTP_304
        return
    start, end = span or (0, file.size_bytes - 1)
    if span is not None:
        resp.status = falcon.HTTP_206
        resp.set_header("Content-Range", f"bytes {start}-{end}/{file.size_bytes}")
    if req.method == "HEAD":
        opened.close()
        resp.set_header("Content-Length", str(end - start + 1))
        return
    opened.seek(start)
    # A local file is sent by the server itself; one that is far away by the request's thread.
    length = end - start + 1
    stream = opened if file.place.is_local else _pieces(opened, length)
    resp.set_stream(stream, length)


def _span(
    req: falcon.Request, resp: falcon.Response, size: int, etag: str
) -> tuple[int, int] | None:
    """Give the part that is asked for; a HEAD, or a part of other bytes, is of the whole."""
    if req.method == "HEAD" or req.get_header("If-Range", default=etag) != etag:
        return None
    try:
        return part(req.get_header("Range"), size)
    except Unsatisfiable as error:
        resp.set_header("Content-Range", f"bytes */{size}")
        raise Problem(
            "range_not_satisfiable", f"The file has {size} bytes, none of which is in the range."
        ) from error


def _pieces(opened: BinaryIO, length: int) -> Iterator[bytes]:
    with opened:
        while length > 0 and (piece := opened.read(min(_PIECE, length))):
            length -= len(piece)
            yield piece
