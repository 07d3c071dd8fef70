"""Middleware for every request: request id, API key, tier cap, rate limits, version headers."""

import re
import time
from contextlib import suppress
from random import getrandbits

import falcon

from api.cors import METHODS
from api.server.access_log import log_request
from warehouse.contract import API_VERSION
from warehouse.contract.limits import (
    authenticate,
    check_rate_limit,
    key_from_headers,
    rate_limit_headers,
)
from warehouse.contract.pagination import mart_at_version
from warehouse.control.keys import KeyStore, redact_keys
from warehouse.data_version import DATA_VERSION
from warehouse.errors import SankofaError
from warehouse.read.mart import Mart
from warehouse.usage.store import QuotaStatus, Usage

_API_VERSION = ("X-Service-API-Version", API_VERSION)
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,128}")
# 206 is charged like 200: otherwise a licensed file would be free in parts.
_CHARGED_STATUSES = (200, 206, 400, 402, 404)


class RequestMiddleware:
    """Assigns the request id, sets the headers of every response, writes the access log."""

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
        """Set the headers of every response, errors included, and log one line."""
        key = req.context.key
        headers = [_API_VERSION, ("X-Request-Id", req.context.request_id)]
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
