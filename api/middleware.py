"""What every request passes: its id, its key, its limits, and the form of its response."""

import hashlib
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from random import getrandbits
from typing import Any, cast
from urllib.parse import urlsplit

import falcon
import xxhash
import zstandard
from isal import isal_zlib

from api.endpoints.endpoint import METHODS, RESPONSE_HEADERS, etag_matches
from api.endpoints.known_answers import QUESTION, Header, KeptAnswer, KeyedQuestion, KnownResponses
from api.errors import send_unexpected
from api.server.proxies import log_request
from warehouse.contract import API_VERSION
from warehouse.contract.limits import (
    authenticate,
    check_rate_limit,
    key_from_headers,
    rate_limit_headers,
)
from warehouse.contract.pagination import build_at
from warehouse.contract.problems import Problem
from warehouse.contract.receipts import Receipts
from warehouse.control.keys import KeyStore
from warehouse.serve.build import Mart
from warehouse.serve.usage import Usage
from warehouse.shared.errors import SankofaError
from warehouse.shared.texts import DATA_VERSION, redact_keys
from warehouse.shared.urls import valid_host

_LONGEST_URL = 8_192
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,128}")
# 206 is charged like 200: otherwise a licensed file would be free in parts.
_CHARGED_STATUSES = (200, 206, 400, 402, 404)
_STATUSES_WITH_VERSION = (400, 402, 403, 404, 406)
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
# Scripts of any origin may read every response: keys are sent in headers, never in cookies. The
# headers do not depend on the request: a response that a cache stored for a client without an
# origin is right for a browser too.
_OF_EVERY_RESPONSE = (
    ("x-service-api-version", API_VERSION),
    ("access-control-allow-origin", "*"),
    ("access-control-expose-headers", _EXPOSED_HEADERS),
)
_ONE_DAY = "86400"
_OF_OPTIONS = (
    ("Access-Control-Allow-Headers", _REQUEST_HEADERS),
    ("Access-Control-Max-Age", _ONE_DAY),
)
# The tier decides how much is in the body: a cache must not hand it to another key.
_KEY_HEADERS = "X-API-Key, Authorization"
_VARY_OF_KEYED = f"Accept, Accept-Encoding, X-Data-Version, {_KEY_HEADERS}"
# The variable of a request that was counted already, and is refused.
_STANDING = "sankofa.standing"


class Middleware:
    """Everything that a request passes before its resource, and its response after it.

    One class, because the order matters: a request is counted before anything is read, and refunded
    when its status is known; the access log sees the response as it is sent. A resource with
    ``open = True`` needs no key.
    """

    def __init__(
        self,
        mart: Mart,
        keys: KeyStore,
        known: KnownResponses,
        usage: Usage | None = None,
        base_urls: Sequence[str] = (),
        exports_url: str | None = None,
        receipts: Receipts = Receipts(None),  # noqa: B008
    ) -> None:
        self._mart, self._keys, self._known, self._usage = mart, keys, known, usage
        self._receipts = receipts
        self._find_urls = url_finder(base_urls, exports_url)

    def known(
        self, env: dict[str, Any], endpoint_of: Callable[[str], str | None]
    ) -> tuple[str, list[Header], bytes] | None:
        """Return status, headers and body of an answer that the client has, or that is kept.

        Whoever has the tag of an answer got it before: it is made with a secret, and sent with a
        200 alone. So what is known has passed the tier cap, for a tier with the same limits. It
        passes no framework, which would take longer than all this.
        """
        started, path, query = time.perf_counter(), env["PATH_INFO"], env["QUERY_STRING"]
        sent = key_from_headers(env.get("HTTP_X_API_KEY"), env.get("HTTP_AUTHORIZATION"))
        if not sent or env["REQUEST_METHOD"] not in ("GET", "HEAD") or not path.isascii():
            return None
        address, coding = env.get("REMOTE_ADDR"), accepted_coding(env.get("HTTP_ACCEPT_ENCODING"))
        parameters = falcon.uri.parse_query_string(query) if query else {}
        try:
            key = authenticate(self._keys, sent, address)
            question = self._known.question_of(env, key, parameters, coding)
        except SankofaError:
            # The resource says what is wrong.
            return None
        env[QUESTION] = question
        headers = [
            ("x-request-id", _request_id(env.get("HTTP_X_REQUEST_ID"))),
            ("cache-control", question.cache_control),
        ]
        body, is_unchanged = b"", question.etag in env.get("HTTP_IF_NONE_MATCH", "")
        if is_unchanged:
            headers += _OF_EVERY_RESPONSE
            headers += _of_unchanged(key.tier.name, question.build.data_version)
            headers.append(("etag", question.etag))
        elif (kept := self._known.kept.get(question.etag)) is not None:
            body = kept.body
            headers += (*kept.headers, ("content-length", str(len(body))))
        else:
            return None
        if self._usage is not None:
            standing = self._usage.take(key, address, is_free=is_unchanged)
            if standing.violated:
                env[_STANDING] = standing
                return None
            headers += rate_limit_headers(standing).items()
        log_request(
            env,
            endpoint_of(path),
            started,
            path=path,
            parameters=parameters,
            status=304 if is_unchanged else 200,
            bytes=len(body),
            key=key.prefix,
            data_version=question.build.data_version,
            request_id=headers[0][1],
        )
        return falcon.HTTP_304 if is_unchanged else falcon.HTTP_200, headers, body

    def process_request(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Set what resources and errors need; refuse a URL longer than any that is defined."""
        context, answered, env = req.context, resp.context, req.env
        context.started = time.perf_counter()
        context.request_id = _request_id(env.get("HTTP_X_REQUEST_ID"))
        context.key = context.standing = context.posted = None
        context.wants_receipt = False
        context.base_url, context.exports_url = self._find_urls(env.get("HTTP_HOST"), req.scheme)
        context.coding = accepted_coding(env.get("HTTP_ACCEPT_ENCODING"))
        # Set by functions of the tier cap; for lists and records; by pages that are kept.
        answered.passed_tier_cap = answered.is_repeated = False
        answered.etag = answered.codings = answered.as_of = None
        query = req.query_string
        if len(req.path) + len(query) + bool(query) > _LONGEST_URL:
            raise Problem("uri_too_long", f"The URL is longer than {_LONGEST_URL} characters.")

    def process_resource(
        self,
        req: falcon.Request,
        resp: falcon.Response,
        resource: object,
        params: dict[str, object],
    ) -> None:
        """Check the method, then the key, then its limits."""
        if req.method not in (methods := _methods_of(resource)):
            raise falcon.HTTPMethodNotAllowed(methods)
        # A browser sends no key with the OPTIONS request that precedes a cross-origin call.
        if req.method == "OPTIONS" or _is_open(resource, params):
            return
        context, env = req.context, req.env
        address, context.build = req.remote_addr, None
        question: KeyedQuestion | None = env.get(QUESTION)
        if question is None:
            sent = key_from_headers(env.get("HTTP_X_API_KEY"), env.get("HTTP_AUTHORIZATION"))
            context.key = authenticate(self._keys, sent, address)
        else:
            context.key = question.key
        context.wants_receipt = (
            hasattr(resource, "endpoint") and req.params.get("receipt") == "true"
        )
        if context.wants_receipt:
            # It states the time of this answer, which has no tag of its question: none is known.
            self._receipts.check()
        elif question is not None and getattr(resource, "has_known_answers", False):
            context.build, resp.context.etag = question.build, question.etag
            resp.context.is_repeated = self._known.is_repeated(question.etag)
        if self._usage is not None:
            # Counted before the read and refunded after it: parallel requests cannot pass a limit
            # together.
            context.standing = env.get(_STANDING) or self._usage.take(context.key, address)
            check_rate_limit(context.standing)

    def process_response(
        self, req: falcon.Request, resp: falcon.Response, resource: object, succeeded: bool
    ) -> None:
        """Write the headers, encode the body, refund what is not charged, and log one line."""
        context, answered = req.context, resp.context
        key, standing = context.key, context.standing
        if key is not None and succeeded and not answered.passed_tier_cap:
            # Nothing is sent to a key that no function of the tier cap let through.
            resp.text = resp.data = resp.media = resp.stream = None
            reason = f"the response of {req.path[:200]} did not pass the tier cap"
            send_unexpected(req, resp, RuntimeError(reason))
            succeeded = False
        headers = [("X-Request-Id", context.request_id)]
        headers += self._headers(req, resp, resource, succeeded)
        if standing is not None and self._usage is not None:
            if resp.status_code not in _CHARGED_STATUSES:
                standing = self._usage.give_back(standing)
            headers += rate_limit_headers(standing).items()
        resp.set_headers(headers)
        body = resp.data
        log_request(
            req.env,
            req.uri_template,
            context.started,
            path=req.path,
            parameters=req.params,
            status=resp.status_code,
            bytes=len(body) if body else int(resp.get_header("Content-Length") or 0),
            key=None if key is None else key.prefix,
            data_version=resp.get_header("X-Data-Version"),
            request_id=context.request_id,
        )

    def _headers(
        self, req: falcon.Request, resp: falcon.Response, resource: object, succeeded: bool
    ) -> list[Header]:
        """Encode the body; return the headers that are the same each time it is sent."""
        key, answered = req.context.key, resp.context
        headers = [*_OF_EVERY_RESPONSE]
        if req.method == "OPTIONS" and succeeded:
            allowed = ", ".join(_methods_of(resource))
            headers += [("Allow", allowed), ("Access-Control-Allow-Methods", allowed)]
            headers += _OF_OPTIONS
        _announce_removal(resp, resource)
        if key is not None:
            headers.append(("X-Service-Tier", key.tier.name))
            if not succeeded and resp.status_code in _STATUSES_WITH_VERSION:
                headers += self._version_of_error(req)
        if req.context.wants_receipt and succeeded and resp.status_code == 200:
            headers.append(("X-Receipt", self._receipt(req, resp)))
        headers += _represent(req, resp)
        if succeeded and answered.is_repeated and resp.data and resp.status_code == 200:
            # In lower case, as the framework writes them. Whether a question is pinned differs.
            named = ((name.lower(), text) for name, text in headers if name != "Cache-Control")
            kept = KeptAnswer(resp.data, (*resp.headers.items(), *named))
            self._known.keep(answered.etag, kept, len(resp.data))
        return headers

    def _receipt(self, req: falcon.Request, resp: falcon.Response) -> str:
        """Return the receipt of a response, whose body is then in one piece."""
        if resp.stream is not None:
            resp.data, resp.stream = b"".join(cast("Iterable[bytes]", resp.stream)), None
        question = {"method": req.method, "path": req.path, "query": req.query_string}
        if req.context.posted is not None:
            question["body_sha256"] = hashlib.sha256(req.context.posted).hexdigest()
        version = resp.get_header("X-Data-Version")
        return self._receipts.write(
            question, resp.context.as_of, version, resp.render_body() or b""
        )

    def _version_of_error(self, req: falcon.Request) -> list[Header]:
        """Return X-Data-Version for an error of a valid key; none while the datastore is down."""
        # A pinned version that does not exist may be the error itself: name the current one then.
        pin = req.env.get("HTTP_X_DATA_VERSION")
        for version in (pin, None) if pin and DATA_VERSION.fullmatch(pin) else (None,):
            with suppress(SankofaError):
                return [("X-Data-Version", build_at(self._mart, version).data_version)]
        return []


@lru_cache(16)
def _of_unchanged(tier: str, data_version: str) -> tuple[Header, ...]:
    """Return the headers of every 304 to a tier from a build."""
    return (
        ("x-service-tier", tier),
        ("vary", _VARY_OF_KEYED),
        ("x-data-version", data_version),
    )


def _request_id(sent: str | None) -> str:
    """Return the client's request id if it is valid and contains no key, else a new one."""
    # It goes into headers and the log, so it may contain neither separators nor a secret.
    if sent and _REQUEST_ID.fullmatch(sent) and redact_keys(sent) == sent:
        return sent
    return f"{getrandbits(128):032x}"


def _is_open(resource: object, params: dict[str, object]) -> bool:
    """Return whether no key is needed; ``open`` may be a function of the path parameters."""
    is_open = getattr(resource, "open", False)
    return bool(is_open(params) if callable(is_open) else is_open)


def _methods_of(resource: object) -> tuple[str, ...]:
    methods: tuple[str, ...] = getattr(resource, "methods", METHODS)
    return methods


def _announce_removal(resp: falcon.Response, resource: object) -> None:
    deprecation = getattr(getattr(resource, "endpoint", None), "deprecation", None)
    if deprecation is not None:
        for name, value in deprecation.headers().items():
            resp.append_header(name, value)


def url_finder(
    base_urls: Sequence[str], exports_url: str | None = None
) -> Callable[[str | None, str], tuple[str, str]]:
    """Return a function of Host and scheme: the base URL of links, and where the bulk files are.

    The base URL is the configured one that matches Host, else the first; without any it is the
    address under which the request came here. The bulk files are below it by default.
    """
    by_host = {_host(url): url.rstrip("/") for url in base_urls}
    default = next(iter(by_host.values()), None)

    @lru_cache(256)
    def find(host_header: str | None, scheme: str) -> tuple[str, str]:
        host = valid_host(host_header)
        if default is not None:
            base_url = by_host.get(host or "", default)
        else:
            # Without a host, as in HTTP/1.0, links start at the root.
            base_url = "" if host is None else f"{scheme}://{host}"
        return base_url, exports_url or f"{base_url}/exports"

    return find


def _host(base_url: str) -> str:
    parts = urlsplit(base_url)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise SankofaError(f"{base_url!r} is not a base URL; write it as https://host")
    return parts.netloc.lower()


# The form a response is sent in: ETag, compression, Cache-Control.

# Compressing a smaller body costs more than it saves.
_SMALLEST_COMPRESSED = 1_024
_COMPRESSIBLE = (
    "application/json",
    "application/problem+json",
    "application/openapi+json",
    "application/x-ndjson",
    "text/",
    "image/svg+xml",
)
_OF_THREAD = threading.local()


def _gzip(body: bytes) -> bytes:
    # wbits=31: the gzip format, with its header and checksum. A third of the time that zlib takes,
    # and no larger.
    return isal_zlib.compress(body, level=1, wbits=31)


def _zstd(body: bytes) -> bytes:
    # A compressor is costly to make, and serves one thread at a time.
    compressor = _OF_THREAD.__dict__.get("compressor")
    if compressor is None:
        compressor = _OF_THREAD.compressor = zstandard.ZstdCompressor(level=1)
    compressed: bytes = compressor.compress(body)
    return compressed


_STREAM_CODINGS: dict[str, Callable[[], Any]] = {
    "zstd": lambda: zstandard.ZstdCompressor(level=1).compressobj(),
    "gzip": lambda: isal_zlib.compressobj(1, wbits=31),
}
# In order of preference.
_CODINGS: dict[str, Callable[[bytes], bytes]] = {"zstd": _zstd, "gzip": _gzip}


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


def _represent(req: falcon.Request, resp: falcon.Response) -> list[Header]:
    """Compress the body, or leave it out if the client has it; return the headers that say so.

    Files have set their own headers. A list in pieces or in a stream has the ETag of its question.
    """
    keyed, status = req.context.key is not None, resp.status_code
    cache_control = "no-store" if status >= 400 else resp.get_header("Cache-Control")
    if cache_control is None and resp.context.etag is not None and keyed:
        cache_control = req.env[QUESTION].cache_control
    elif cache_control is None:
        # Only the client itself may store what its key may read.
        cache_control = "private" if keyed else "no-cache"
    headers = [("Cache-Control", cache_control)]
    is_stream = resp.stream is not None or resp.get_header("Accept-Ranges") is not None
    body = None if is_stream else resp.render_body()
    etag: str | None = resp.context.etag
    if not body and etag is None:
        return headers + ([("Vary", _joined(resp, _KEY_HEADERS))] if keyed else [])
    headers.append(("Vary", _VARY_OF_KEYED if keyed else _joined(resp, "Accept-Encoding")))
    coding = _coding(req, resp, body)
    if body and status == 200 and "no-store" not in cache_control:
        if etag is None:
            # Of the uncompressed body, so that it does not depend on the compressor's version.
            etag = f'"{xxhash.xxh3_128_hexdigest(body)}{f"-{coding}" if coding else ""}"'
        if etag_matches(req.env.get("HTTP_IF_NONE_MATCH"), etag):
            resp.status, body = falcon.HTTP_304, None
    if etag is not None and resp.status_code in (200, 304):
        headers.append(("ETag", etag))
    resp.text, resp.data = None, body
    if resp.status_code == 304:
        resp.delete_header("Content-Type")
    elif body and coding:
        # A page that is kept is compressed once.
        codings: dict[str, bytes] = {} if resp.context.codings is None else resp.context.codings
        if coding not in codings:
            codings[coding] = _CODINGS[coding](body)
        resp.data = codings[coding]
        headers.append(("Content-Encoding", coding))
    elif coding:
        resp.stream = _compressed(cast("Iterable[bytes]", resp.stream), coding)
        headers.append(("Content-Encoding", coding))
    return headers


def _joined(resp: falcon.Response, names: str) -> str:
    """Return Vary with more names than the resource has set."""
    vary = resp.get_header("Vary")
    return names if vary is None else f"{vary}, {names}"


def _coding(req: falcon.Request, resp: falcon.Response, body: bytes | None) -> str | None:
    """Return how to compress a body, or a stream; an answer in pieces is for clients without."""
    if len(body) < _SMALLEST_COMPRESSED if body else resp.stream is None:
        return None
    compressible = (resp.content_type or "").startswith(_COMPRESSIBLE)
    return req.context.coding if compressible else None


def _compressed(pieces: Iterable[bytes], coding: str) -> Iterator[bytes]:
    """Yield pieces of a stream compressed, as they come."""
    compressor = _STREAM_CODINGS[coding]()
    for piece in pieces:
        yield compressor.compress(piece)
    yield compressor.flush()
