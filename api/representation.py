"""The form a response is sent in: ETag, compression, Cache-Control."""

import zlib
from collections.abc import Callable
from functools import lru_cache

import falcon
import xxhash
import zstandard

from api.endpoints.endpoint import etag_matches
from warehouse.contract.problems import Problem

# Compressing a smaller body costs more than it saves.
_SMALLEST_COMPRESSED = 1_024
_COMPRESSIBLE = (
    "application/json",
    "application/problem+json",
    "application/openapi+json",
    "application/x-ndjson",
    "text/",
)
_LONGEST_URL = 8_192


def _gzip(body: bytes) -> bytes:
    # wbits=31: the gzip format, with its header and checksum.
    compressor = zlib.compressobj(level=4, wbits=31)
    return compressor.compress(body) + compressor.flush()


def _zstd(body: bytes) -> bytes:
    return zstandard.ZstdCompressor(level=3).compress(body)


# In order of preference.
_CODINGS: dict[str, Callable[[bytes], bytes]] = {"zstd": _zstd, "gzip": _gzip}


class RepresentationMiddleware:
    """Sets an ETag on every complete body, answers 304 if it is unchanged, and compresses it.

    Add it after the other middleware: they then see the response as it is sent.
    """

    def process_request(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Refuse a URL longer than any the service defines."""
        query = req.query_string
        if len(req.path) + len(query) + bool(query) > _LONGEST_URL:
            raise Problem("uri_too_long", f"The URL is longer than {_LONGEST_URL} characters.")

    def process_response(
        self, req: falcon.Request, resp: falcon.Response, resource: object, succeeded: bool
    ) -> None:
        """Set the headers and encode the body; files have set their own headers."""
        status, keyed = resp.status_code, req.context.key is not None
        cache_control = _set_cache_control(resp, status, keyed)
        if resp.stream is not None or resp.get_header("Accept-Ranges"):
            return
        body = resp.render_body()
        if not body:
            return
        resp.append_header(
            "Vary", "Accept-Encoding, X-Data-Version" if keyed else "Accept-Encoding"
        )
        coding = _coding(req, resp, body)
        if status == 200 and "no-store" not in cache_control:
            # Of the uncompressed body, so that it does not depend on the compressor's version. A
            # strong ETag stands for the bytes as sent (RFC 9110), so each coding has its own.
            etag = f'"{xxhash.xxh3_128_hexdigest(body)}{f"-{coding}" if coding else ""}"'
            resp.set_header("ETag", etag)
            if etag_matches(req.env.get("HTTP_IF_NONE_MATCH"), etag):
                _set_not_modified(resp)
                return
        resp.text, resp.data = None, body
        if coding:
            # A page that is kept is compressed once.
            codings: dict[str, bytes] = getattr(resp.context, "codings", {})
            if coding not in codings:
                codings[coding] = _CODINGS[coding](body)
            resp.data = codings[coding]
            resp.set_header("Content-Encoding", coding)


@lru_cache(256)
def accepted_coding(header: str | None) -> str | None:
    """Return the coding to use for an Accept-Encoding header; None for no compression."""
    weights: dict[str, float] = {}
    for coding in (header or "").lower().split(","):
        name, _, weight = coding.partition(";")
        weights[name.strip()] = _weight(weight.strip())
    best = max(_CODINGS, key=lambda name: weights.get(name, 0.0))
    return best if weights.get(best, 0.0) > 0 else None


def _weight(text: str) -> float:
    try:
        return float(text.removeprefix("q=")) if text else 1.0
    except ValueError:
        return 0.0


def _coding(req: falcon.Request, resp: falcon.Response, body: bytes) -> str | None:
    compressible = (resp.content_type or "").startswith(_COMPRESSIBLE)
    if len(body) < _SMALLEST_COMPRESSED or not compressible:
        return None
    return accepted_coding(req.env.get("HTTP_ACCEPT_ENCODING"))


def _set_cache_control(resp: falcon.Response, status: int, keyed: bool) -> str:
    value = "no-store" if status >= 400 else resp.get_header("Cache-Control")
    if value is None:
        # Only the client itself may store what its key may read.
        value = "private" if keyed else "no-cache"
    resp.set_header("Cache-Control", value)
    return value


def _set_not_modified(resp: falcon.Response) -> None:
    resp.status = falcon.HTTP_304
    resp.text = resp.data = None
    resp.delete_header("Content-Type")
