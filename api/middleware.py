"""What every request goes through: its id, its key, its limits, one line of log."""

import re
import time
from random import getrandbits

import falcon
from msgspec.json import encode

from api.server.access_log import log_access
from warehouse.contract.credentials import admitted, sent_key
from warehouse.contract.limits import headers_of, refuse_above
from warehouse.keys import KeyStore, hidden
from warehouse.usage import Standing, Usage

API_VERSION = "1.0.0"
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,128}")
_READ_WITH = ("GET", "HEAD", "OPTIONS")
# A part of a licensed file is charged as the whole is.
_CHARGED = (200, 206, 400, 402, 404)


class Requests:
    """Names each request, sets the headers of all answers, and logs; never the key."""

    def process_request(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Keep the client's request id where it is a valid one."""
        context, sent = req.context, req.env.get("HTTP_X_REQUEST_ID", "")
        kept = sent and _REQUEST_ID.fullmatch(sent) and hidden(sent) == sent
        context.request_id = sent if kept else f"{getrandbits(128):032x}"
        context.started = time.perf_counter()
        context.key = context.standing = None

    def process_response(
        self, req: falcon.Request, resp: falcon.Response, resource: object, succeeded: bool
    ) -> None:
        """Set the headers that every answer has, errors included."""
        key, request_id = req.context.key, req.context.request_id
        resp.set_header("X-Service-API-Version", API_VERSION)
        resp.set_header("X-Request-Id", request_id)
        if key is not None:
            resp.set_header("X-Service-Tier", key.tier.name)
            resp.append_header("Vary", "X-API-Key, Authorization")
        line = {
            "request_id": request_id,
            "method": req.method,
            "path": hidden(req.path)[:200],
            "status": resp.status_code,
            "key": None if key is None else key.prefix,
            "bytes": len(resp.data or b""),
            "milliseconds": round((time.perf_counter() - req.context.started) * 1000, 3),
        }
        log_access(encode(line).decode())


class Keys:
    """Lets a request with a valid key in; resources that say ``open`` need none."""

    def __init__(self, store: KeyStore) -> None:
        self._store = store

    def process_resource(
        self,
        req: falcon.Request,
        resp: falcon.Response,
        resource: object,
        params: dict[str, object],
    ) -> None:
        """Check the method, then that a key is there, then that it is one of ours."""
        if req.method not in _READ_WITH:
            raise falcon.HTTPMethodNotAllowed(_READ_WITH)
        if req.method == "OPTIONS" or _is_open(resource, params):
            return
        sent = sent_key(req.env.get("HTTP_X_API_KEY"), req.env.get("HTTP_AUTHORIZATION"))
        req.context.key = admitted(self._store, sent)


class Limits:
    """Counts what a key asks; add it after the keys and before what turns a 200 into a 304."""

    def __init__(self, usage: Usage) -> None:
        self._usage = usage

    def process_resource(
        self,
        req: falcon.Request,
        resp: falcon.Response,
        resource: object,
        params: dict[str, object],
    ) -> None:
        """Count the request, and refuse it above a limit."""
        if req.context.key is None:
            return
        standing = self._usage.take(req.context.key, req.remote_addr)
        req.context.standing = standing
        refuse_above(standing)

    def process_response(
        self, req: falcon.Request, resp: falcon.Response, resource: object, succeeded: bool
    ) -> None:
        """Say how the key stands; an answer that does not count gives its charge back."""
        standing: Standing | None = req.context.standing
        if standing is None:
            return
        if resp.status_code not in _CHARGED:
            standing = self._usage.give_back(standing)
        for name, value in headers_of(standing).items():
            resp.set_header(name, value)


def _is_open(resource: object, params: dict[str, object]) -> bool:
    """Tell whether no key is needed; a resource can say so of some of its addresses only."""
    told = getattr(resource, "open", False)
    return bool(told(params) if callable(told) else told)
