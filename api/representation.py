"""How an answer travels: its ETag, compressed or not, for whom and how long it may be kept."""

import zlib
from collections.abc import Callable
from functools import lru_cache

import falcon
import xxhash
import zstandard

from warehouse.contract.problems import Problem

# Below this a compressed body is hardly smaller than what it costs.
_WORTH_IT = 1_024
_TEXTS = ("application/json", "application/problem+json", "application/openapi+json", "text/")
_LONGEST_URL = 8_192


def _gzip(body: bytes) -> bytes:
    packer = zlib.compressobj(level=4, wbits=31)
    return packer.compress(body) + packer.flush()


def _zstd(body: bytes) -> bytes:
    return zstandard.ZstdCompressor(level=3).compress(body)


# In the order we prefer.
_CODINGS: dict[str, Callable[[bytes], bytes]] = {"zstd": _zstd, "gzip": _gzip}


class Representation:
    """Gives every whole answer an ETag, answers 304 where nothing changed, and compresses.

    Add it last: what comes before it then sees the answer as it leaves.
    """

    def process_request(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Refuse an address that no client of ours would write."""
        asked = req.query_string
        if len(req.path) + len(asked) + bool(asked) > _LONGEST_URL:
            raise Problem("uri_too_long", f"The address is longer than {_LONGEST_URL} characters.")

    def process_response(
        self, req: falcon.Request, resp: falcon.Response, resource: object, succeeded: bool
    ) -> None:
        """Settle how the answer travels; a file is settled already."""
        cached = _say_how_long(req, resp)
        if resp.stream is not None or resp.get_header("Accept-Ranges"):
            return
        body = resp.render_body()
        if not body:
            return
        keyed = req.context.key is not None
        resp.append_header(
            "Vary", "Accept-Encoding, X-Data-Version" if keyed else "Accept-Encoding"
        )
        coding = _coding(req, resp, body)
        if resp.status_code == 200 and "no-store" not in cached:
            etag = f'"{xxhash.xxh3_128_hexdigest(body)}{f"-{coding}" if coding else ""}"'
            resp.set_header("ETag", etag)
            if matches(req.env.get("HTTP_IF_NONE_MATCH"), etag):
                _say_unchanged(resp)
                return
        resp.text, resp.data = None, _CODINGS[coding](body) if coding else body
        if coding:
            resp.set_header("Content-Encoding", coding)


def matches(if_none_match: str | None, etag: str) -> bool:
    """Tell whether a client holds what it would get."""
    if if_none_match is None:
        return False
    held = (each.strip().removeprefix("W/") for each in if_none_match.split(","))
    return any(each in ("*", etag) for each in held)


@lru_cache(256)
def accepted(header: str | None) -> str | None:
    """Choose a coding that the client takes; None for the plain body."""
    weights: dict[str, float] = {}
    for each in (header or "").lower().split(","):
        name, _, weight = each.partition(";")
        weights[name.strip()] = _weight(weight.strip())
    best = max(_CODINGS, key=lambda name: weights.get(name, 0.0))
    return best if weights.get(best, 0.0) > 0 else None


def _weight(text: str) -> float:
    try:
        return float(text.removeprefix("q=")) if text else 1.0
    except ValueError:
        return 0.0


def _coding(req: falcon.Request, resp: falcon.Response, body: bytes) -> str | None:
    if len(body) < _WORTH_IT or not (resp.content_type or "").startswith(_TEXTS):
        return None
    return accepted(req.env.get("HTTP_ACCEPT_ENCODING"))


def _say_how_long(req: falcon.Request, resp: falcon.Response) -> str:
    said = "no-store" if resp.status_code >= 400 else resp.get_header("Cache-Control")
    if said is None:
        said = "no-cache" if req.context.key is None else "private"
    resp.set_header("Cache-Control", said)
    return said


def _say_unchanged(resp: falcon.Response) -> None:
    resp.status = falcon.HTTP_304
    resp.text = resp.data = None
    resp.delete_header("Content-Type")
