"""What every request goes through: its id, its key, the headers, one line of log."""

import logging
import re
import time
from uuid import uuid4

import falcon

from api.problems import Problem
from warehouse.keys import KeyStore, find
from warehouse.wire import encode

API_VERSION = "1.0.0"
_ACCESS = logging.getLogger("sankofa.access")
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,128}")
_READ_WITH = ("GET", "HEAD", "OPTIONS")


class Requests:
    """Names each request, sets the headers of all answers, and logs; never the key."""

    def process_request(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Keep the client's request id where it is a valid one."""
        sent = req.get_header("X-Request-Id", default="")
        req.context.request_id = sent if _REQUEST_ID.fullmatch(sent) else uuid4().hex
        req.context.started = time.perf_counter()
        req.context.key = None

    def process_response(
        self, req: falcon.Request, resp: falcon.Response, resource: object, succeeded: bool
    ) -> None:
        """Set the headers that every answer has, errors included."""
        key = req.context.key
        resp.set_header("X-Service-API-Version", API_VERSION)
        resp.set_header("X-Request-Id", req.context.request_id)
        if key is not None:
            resp.set_header("X-Service-Tier", key.tier.name)
            resp.set_header("Cache-Control", "private")
            resp.append_header("Vary", "X-API-Key, Authorization")
        line = {
            "request_id": req.context.request_id,
            "method": req.method,
            "path": req.path[:200],
            "status": resp.status_code,
            "key": None if key is None else key.prefix,
            "bytes": len(resp.data or b""),
            "milliseconds": round((time.perf_counter() - req.context.started) * 1000, 3),
        }
        _ACCESS.info(encode(line).decode())


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
        if req.method == "OPTIONS" or getattr(resource, "open", False):
            return
        sent = _sent(req)
        if not sent:
            raise Problem("key_missing", "Send your API key in the header X-API-Key.")
        req.context.key = find(self._store, sent)
        if req.context.key is None:
            raise Problem("key_invalid", "This API key is not known.")


def _sent(req: falcon.Request) -> str | None:
    """Give the key of X-API-Key, or else the bearer's."""
    own = req.get_header("X-API-Key")
    scheme, _, token = (req.get_header("Authorization") or "").partition(" ")
    return own or (token.strip() if scheme.lower() == "bearer" else None)
