"""The endpoints that are declared: lists and records, the state of the service, its description."""

import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version

import falcon

from api.endpoints import declarations
from api.endpoints.endpoint import (
    POSTED,
    Endpoint,
    mcp_url_for,
    pinned_build,
    read_body,
    read_parameters,
    tier_of,
)
from api.endpoints.openapi import openapi_document
from api.endpoints.response import requested_format, send_list, send_without_rows
from warehouse.contract import API_VERSION
from warehouse.contract.listing import answer
from warehouse.contract.problems import RETRY_AFTER_SECONDS
from warehouse.serve.build import Mart, check_readable
from warehouse.serve.examples import examples
from warehouse.shared.errors import SankofaError
from warehouse.shared.json_encoding import encode


class ListResource:
    """One list, as its declaration says; all pages of a question come from one data_version."""

    def __init__(self, endpoint: Endpoint, mart: Mart, secret: Callable[[], bytes]) -> None:
        self.endpoint = endpoint
        self.has_known_answers = endpoint.listing is not None and endpoint.listing.of_one_build
        self._mart, self._secret = mart, secret

    def on_get(self, req: falcon.Request, resp: falcon.Response, **path: str) -> None:
        """Send a page and, unless it is the last one, ``next_cursor``."""
        listing = self.endpoint.listing
        assert listing is not None
        parameters = read_parameters(req, self.endpoint, **path)
        form = requested_format(req, parameters["format"])
        page = answer(
            listing,
            self._mart,
            self._secret(),
            tier_of(req),
            parameters,
            req.env.get("HTTP_X_DATA_VERSION"),
            form != "json",
            req.context.build,
        )
        send_list(req, resp, page, form)


class PostedResource(ListResource):
    """A list that answers what is sent as the body of a POST; its answers are never kept."""

    methods = POSTED

    def on_post(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Send an answer to each of what was sent."""
        listing = self.endpoint.listing
        assert listing is not None
        parameters = read_parameters(req, self.endpoint) | read_body(req, self.endpoint)
        pinned = req.env.get("HTTP_X_DATA_VERSION")
        page = answer(listing, self._mart, self._secret(), tier_of(req), parameters, pinned)
        send_list(req, resp, page)
        resp.set_header("Cache-Control", "no-store")


_DEADLINE_SECONDS = 1.0
# Reads that never return occupy a thread each; this many may hang before others must wait.
_MOST_READS = 12


class HealthResource:
    """Liveness: the process answers. Touches no store."""

    endpoint = declarations.HEALTH
    open = not endpoint.needs_key

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Send a constant; any parameter is ignored."""
        resp.data = b'{"status":"ok"}'
        resp.content_type = falcon.MEDIA_JSON


class StatusResource:
    """Makes a real read of every store and names those that fail."""

    endpoint = declarations.STATUS
    open = not endpoint.needs_key

    def __init__(self, mart: Mart, stores: Mapping[str, Callable[[], object]]) -> None:
        self._service_version = version("sankofa")
        self._reads = {"datastore": lambda: check_readable(mart), **stores}
        self._executor = ThreadPoolExecutor(_MOST_READS, "status")

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Send 200 if every store answered in time, else 503 with ``degraded``."""
        read_parameters(req, self.endpoint)
        deadline = time.monotonic() + _DEADLINE_SECONDS
        futures = {
            name: self._executor.submit(_timed_read, read) for name, read in self._reads.items()
        }
        results = {name: _result(future, deadline) for name, future in futures.items()}
        degraded = [name for name, result in results.items() if result.status != "ok"]
        resp.status = 503 if degraded else 200
        resp.content_type = falcon.MEDIA_JSON
        resp.set_header("Cache-Control", "no-store")
        if degraded:
            resp.set_header("Retry-After", str(RETRY_AFTER_SECONDS))
        resp.data = encode(
            {
                "status": "degraded" if degraded else "ok",
                "build": self._service_version,
                "version": API_VERSION,
                "data_version": results["datastore"].value,
                "checks": {name: result.as_json() for name, result in results.items()},
                "degraded": degraded,
            }
        )


_EXAMPLE_VERSION = b"20261114.3"


class OpenApiResource:
    """The OpenAPI description, with examples of the build that is served."""

    endpoint = declarations.OPENAPI
    open = not endpoint.needs_key

    def __init__(self, mart: Mart, mcp_url: str = "") -> None:
        self._mart, self._mcp_url = mart, mcp_url
        # The last document, and what it was written for.
        self._written: tuple[object, bytes] = (None, b"")

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Send the document."""
        read_parameters(req, self.endpoint)
        resp.data = self._document(mcp_url_for(req, self._mcp_url))
        resp.content_type = falcon.MEDIA_JSON

    def _document(self, mcp_url: str) -> bytes:
        build = None
        with suppress(SankofaError):
            build = self._mart.build()
        written_for, body = self._written
        current = (None if build is None else build.data_version, mcp_url)
        if written_for != current:
            of_build = None if build is None else examples(build)
            body = encode(openapi_document(declarations.ENDPOINTS, of_build, mcp_url))
            if build is not None:
                # Programs send the version that the examples of answers have.
                body = body.replace(_EXAMPLE_VERSION, build.data_version.encode())
            self._written = current, body
        return body


class UsageResource:
    """The limits of the key that was sent, and how much of each is used."""

    endpoint = declarations.USAGE

    def __init__(self, mart: Mart) -> None:
        self._mart = mart

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Send each limit as this request left it."""
        read_parameters(req, self.endpoint)
        tier, standing = tier_of(req), req.context.standing
        quotas = {"burst": tier.per_minute, "monthly": tier.per_month}
        limits = [
            {
                "name": name,
                "quota": quotas[name],
                "used": quotas[name] - remaining,
                "remaining": remaining,
                "resets_in": seconds,
            }
            # A service without counters limits nothing.
            for name, remaining, seconds in (standing.remaining() if standing else ())
        ]
        body = encode({"tier": tier.name, "limits": limits})
        send_without_rows(resp, body, pinned_build(req, self._mart).data_version)
        resp.set_header("Cache-Control", "no-store")


@dataclass(frozen=True)
class _ReadResult:
    """The result of one read and how long it took."""

    status: str
    latency_ms: float
    value: object = None

    def as_json(self) -> dict[str, str | float]:
        return {"status": self.status, "latency_ms": self.latency_ms}


def _timed_read(read: Callable[[], object]) -> _ReadResult:
    started = time.perf_counter()
    try:
        value, status = read(), "ok"
    except (SankofaError, OSError):
        value, status = None, "failed"
    return _ReadResult(status, round((time.perf_counter() - started) * 1000, 3), value)


def _result(future: Future[_ReadResult], deadline: float) -> _ReadResult:
    try:
        return future.result(max(0.0, deadline - time.monotonic()))
    except TimeoutError:
        # Only a read that has not begun can be cancelled; a running one keeps its thread.
        future.cancel()
        return _ReadResult("failed", _DEADLINE_SECONDS * 1000)
