"""What every request goes through: its id, its key, its limits, one line of log."""

import logging
import re
import time
from uuid import uuid4

import falcon

from warehouse.contract.problems import Problem
from warehouse.keys import KeyStore, find, hidden
from warehouse.usage import Standing, Usage
from warehouse.wire import encode

API_VERSION = "1.0.0"
_ACCESS = logging.getLogger("sankofa.access")
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,128}")
_READ_WITH = ("GET", "HEAD", "OPTIONS")
_CHARGED = (200, 400, 402, 404)


class Requests:
    """Names each request, sets the headers of all answers, and logs; never the key."""

    def process_request(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Keep the client's request id where it is a valid one."""
        sent = req.get_header("X-Request-Id", default="")
        kept = _REQUEST_ID.fullmatch(sent) and hidden(sent) == sent
        req.context.request_id = sent if kept else uuid4().hex
        req.context.started = time.perf_counter()
        req.context.key = req.context.standing = None

    def process_response(
        self, req: falcon.Request, resp: falcon.Response, resource: object, succeeded: bool
    ) -> None:
        """Set the headers that every answer has, errors included."""
        key = req.context.key
        resp.set_header("X-Service-API-Version", API_VERSION)
        resp.set_header("X-Request-Id", req.context.request_id)
        if key is not None:
            resp.set_header("X-Service-Tier", key.tier.name)
            resp.append_header("Vary", "X-API-Key, Authorization")
        line = {
            "request_id": req.context.request_id,
            "method": req.method,
            "path": hidden(req.path)[:200],
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
        if req.method == "OPTIONS" or _is_open(resource, params):
            return
        sent = _sent(req)
        if not sent:
            raise Problem("key_missing", "Send your API key in the header X-API-Key.")
        req.context.key = find(self._store, sent)
        if req.context.key is None:
            raise Problem("key_invalid", "This API key is not known.")


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
        if violated := standing.violated:
            raise Problem(
                "rate_limited",
                f"The limits of the {standing.tier.name} tier are reached: {_told(standing)}.",
                violated_policies=violated,
                retry_after=standing.retry_after,
                retryable=True,
                tier=standing.tier.name,
            )

    def process_response(
        self, req: falcon.Request, resp: falcon.Response, resource: object, succeeded: bool
    ) -> None:
        """Say how the key stands; an answer that does not count gives its charge back."""
        standing: Standing | None = req.context.standing
        if standing is None:
            return
        if resp.status_code not in _CHARGED:
            standing = self._usage.give_back(standing)
        tier, month = standing.tier, standing.month.seconds
        resp.set_header(
            "RateLimit-Policy",
            f'"burst";q={tier.per_minute};w=60, "monthly";q={tier.per_month};w={month}',
        )
        left = (f'"{name}";r={each};t={seconds}' for name, each, seconds in standing.remaining())
        resp.set_header("RateLimit", ", ".join(left))


def _told(standing: Standing) -> str:
    numbers = {
        "burst": f"{standing.tier.per_minute} requests a minute",
        "monthly": f"{standing.tier.per_month} requests a calendar month",
    }
    return ", ".join(numbers[name] for name in standing.violated)


def _is_open(resource: object, params: dict[str, object]) -> bool:
    """Tell whether no key is needed; a resource can say so of some of its addresses only."""
    told = getattr(resource, "open", False)
    return bool(told(params) if callable(told) else told)


def _sent(req: falcon.Request) -> str | None:
    """Give the key of X-API-Key, or else the bearer's."""
    own = req.get_header("X-API-Key")
    scheme, _, token = (req.get_header("Authorization") or "").partition(" ")
    return own or (token.strip() if scheme.lower() == "bearer" else None)
