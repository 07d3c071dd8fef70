"""Middleware for every request: id, API key, tier cap, rate limits, and the form of responses."""

import re
import time
import zlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import lru_cache
from random import getrandbits
from urllib.parse import urlsplit

import falcon
import xxhash
import zstandard

from api.endpoints.endpoint import RESPONSE_HEADERS, etag_matches
from api.server.proxies import log_request
from warehouse.contract import API_VERSION
from warehouse.contract.limits import (
    authenticate,
    check_rate_limit,
    key_from_headers,
    rate_limit_headers,
)
from warehouse.contract.pagination import mart_at_version
from warehouse.contract.problems import Problem
from warehouse.control.keys import KeyStore
from warehouse.serve.build import Mart
from warehouse.serve.usage import QuotaStatus, Usage
from warehouse.shared.errors import SankofaError
from warehouse.shared.texts import DATA_VERSION, redact_keys
from warehouse.shared.urls import valid_host

# Access from web pages of any origin: keys are sent in headers, never in cookies.

# What every resource answers; ``KeyMiddleware`` refuses all other methods.
METHODS = ("GET", "HEAD", "OPTIONS")
ALLOW = ", ".join(METHODS)
# ``*`` is every header but Authorization; browsers that do not know it find ours by name.
_REQUEST_HEADERS = (
    "*, X-API-Key, Authorization, X-Data-Version, X-Request-Id, Accept, Content-Type, "
    "If-None-Match, If-Range, Range"
)
# Response headers that scripts of other origins may read.
_EXPOSED_HEADERS = ", ".join(
    (
        *(row["name"] for row in RESPONSE_HEADERS),
        *("Accept-Ranges", "Content-Encoding", "Content-Length", "Content-Location"),
        "Content-Range",
    )
)
_ONE_DAY = "86400"
_OF_EVERY_RESPONSE = (
    ("X-Service-API-Version", API_VERSION),
    ("Access-Control-Allow-Origin", "*"),
    ("Access-Control-Expose-Headers", _EXPOSED_HEADERS),
)
_OF_OPTIONS = (
    ("Allow", ALLOW),
    ("Access-Control-Allow-Methods", ALLOW),
    ("Access-Control-Allow-Headers", _REQUEST_HEADERS),
    ("Access-Control-Max-Age", _ONE_DAY),
)


# The base URL of links in responses: one that was configured, else the one that was asked.


class BaseUrlMiddleware:
    """Sets ``req.context.base_url`` to the configured URL that matches Host, else to the first.

    Without any configured URL it is the address under which the request came here.
    ``req.context.exports_url`` is where the bulk files are, by default below it.
    """

    def __init__(self, base_urls: Sequence[str] = (), exports_url: str | None = None) -> None:
        self._by_host = {_host(url): url.rstrip("/") for url in base_urls}
        self._default = next(iter(self._by_host.values()), None)
        self._exports_url = exports_url
        self._urls = lru_cache(256)(self._find_urls)

    def process_request(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Set both URLs."""
        context = req.context
        context.base_url, context.exports_url = self._urls(req.env.get("HTTP_HOST"), req.scheme)

    def _find_urls(self, host_header: str | None, scheme: str) -> tuple[str, str]:
        """Accept any Host header if no URL is configured, else only one of ours."""
        host = valid_host(host_header)
        if self._default is not None:
            base_url = self._by_host.get(host or "", self._default)
        else:
            # Without a host, as in HTTP/1.0, links start at the root.
            base_url = "" if host is None else f"{scheme}://{host}"
        return base_url, self._exports_url or f"{base_url}/exports"


def _host(base_url: str) -> str:
    parts = urlsplit(base_url)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise SankofaError(f"{base_url!r} is not a base URL; write it as https://host")
    return parts.netloc.lower()


_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,128}")
# 206 is charged like 200: otherwise a licensed file would be free in parts.
_CHARGED_STATUSES = (200, 206, 400, 402, 404)


class RequestMiddleware:
    """Assigns the request id, sets the headers of every response, writes the access log.

    Scripts of any origin may read every response. The headers do not depend on the request: a
    response that a cache stored for a client without an origin is right for a browser too. Add it
    first, so that no response goes without them.
    """

    def process_request(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Accept the client's request id if it is valid and contains no key."""
        context, sent_id = req.context, req.env.get("HTTP_X_REQUEST_ID", "")
        # It goes into headers and the log, so it may contain neither separators nor a secret.
        valid = sent_id and _REQUEST_ID.fullmatch(sent_id) and redact_keys(sent_id) == sent_id
        context.request_id = sent_id if valid else f"{getrandbits(128):032x}"
        context.started = time.perf_counter()
        context.key = context.standing = None

    def process_response(
        self, req: falcon.Request, resp: falcon.Response, resource: object, succeeded: bool
    ) -> None:
        """Set the headers of every response, errors included, and log one line.

        OPTIONS is answered whether or not a browser asks before a request.
        """
        key = req.context.key
        headers = [*_OF_EVERY_RESPONSE, ("X-Request-Id", req.context.request_id)]
        if req.method == "OPTIONS" and succeeded:
            headers += _OF_OPTIONS
        if key is not None:
            headers.append(("X-Service-Tier", key.tier.name))
            # The tier decides how much is in the body: a cache must not hand it to another key.
            resp.append_header("Vary", "X-API-Key, Authorization")
        resp.set_headers(headers)
        log_request(req, resp)


class KeyMiddleware:
    """Authenticates requests by API key; a resource with ``open = True`` needs none."""

    def __init__(self, store: KeyStore) -> None:
        self._store = store

    def process_resource(
        self,
        req: falcon.Request,
        resp: falcon.Response,
        resource: object,
        params: dict[str, object],
    ) -> None:
        """Check the method, then the key."""
        req.context.endpoint = getattr(resource, "endpoint", None)
        if req.method not in METHODS:
            raise falcon.HTTPMethodNotAllowed(METHODS)
        # A browser sends no key with the OPTIONS request that precedes a cross-origin call.
        if req.method == "OPTIONS" or _is_open(resource, params):
            return
        sent = key_from_headers(req.env.get("HTTP_X_API_KEY"), req.env.get("HTTP_AUTHORIZATION"))
        req.context.key = authenticate(self._store, sent, req.remote_addr)


class TierCapMiddleware:
    """Answers 500 instead of sending a key anything that did not pass the tier cap.

    Add it last: responses pass the middleware in reverse, and this one must come first.
    """

    def process_response(
        self, req: falcon.Request, resp: falcon.Response, resource: object, succeeded: bool
    ) -> None:
        """Drop a body that no function of the tier cap let through."""
        if not succeeded or req.context.key is None:
            return
        if not getattr(resp.context, "passed_tier_cap", False):
            resp.text = resp.data = resp.media = resp.stream = None
            raise RuntimeError(f"the response of {req.path[:200]} did not pass the tier cap")


class RateLimitMiddleware:
    """Counts requests per key. Add it after KeyMiddleware and before RepresentationMiddleware.

    Responses pass the middleware in reverse: the count must see a 304, which is not charged.
    """

    def __init__(self, usage: Usage) -> None:
        self._usage = usage

    def process_resource(
        self,
        req: falcon.Request,
        resp: falcon.Response,
        resource: object,
        params: dict[str, object],
    ) -> None:
        """Count the request; refuse it above a limit."""
        if req.context.key is None:
            return
        # Counted before the read and refunded after it: parallel requests cannot pass a limit
        # together.
        standing = self._usage.take(req.context.key, req.remote_addr)
        req.context.standing = standing
        check_rate_limit(standing)

    def process_response(
        self, req: falcon.Request, resp: falcon.Response, resource: object, succeeded: bool
    ) -> None:
        """Set the RateLimit headers; refund a response that is not charged."""
        standing: QuotaStatus | None = req.context.standing
        if standing is None:
            return
        if resp.status_code not in _CHARGED_STATUSES:
            standing = self._usage.give_back(standing)
        resp.set_headers(rate_limit_headers(standing))


def _is_open(resource: object, params: dict[str, object]) -> bool:
    """Return whether no key is needed; ``open`` may be a function of the path parameters."""
    is_open = getattr(resource, "open", False)
    return bool(is_open(params) if callable(is_open) else is_open)


_STATUSES_WITH_VERSION = (400, 402, 403, 404, 406)


class VersionHeadersMiddleware:
    """Adds deprecation headers, and X-Data-Version to the errors of a valid key."""

    def __init__(self, mart: Mart) -> None:
        self._mart = mart

    def process_response(
        self, req: falcon.Request, resp: falcon.Response, resource: object, succeeded: bool
    ) -> None:
        """Set the headers; while the datastore is down there is no version to name."""
        deprecation = getattr(getattr(resource, "endpoint", None), "deprecation", None)
        if deprecation is not None:
            for name, value in deprecation.headers().items():
                resp.append_header(name, value)
        if succeeded or req.context.key is None or resp.status_code not in _STATUSES_WITH_VERSION:
            return
        # A pinned version that does not exist may be the error itself: name the current one then.
        pin = req.get_header("X-Data-Version")
        candidates = (pin, None) if pin and DATA_VERSION.fullmatch(pin) else (None,)
        for version in candidates:
            with suppress(SankofaError):
                data_version = mart_at_version(self._mart, version).build().data_version
                resp.set_header("X-Data-Version", data_version)
                return


# The form a response is sent in: ETag, compression, Cache-Control.

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
