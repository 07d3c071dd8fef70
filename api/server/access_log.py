"""The access log: one JSON line for each request, without its key and without what it asked for.

Of the client only the network is logged, of the query only the names of its parameters: an address
is personal data, and so may be what somebody searches for.
"""

import time
from datetime import UTC, datetime
from typing import Any

import msgspec

from api.endpoints.declarations import ENDPOINTS
from warehouse.control.keys import redact_keys
from warehouse.metrics.counts import observe_request
from warehouse.server_log import ACCESS_LOG, log_access
from warehouse.usage.store import network_of

# Whatever else a query names is no parameter of ours, and may be a secret.
_PARAMETERS = frozenset(name for endpoint in ENDPOINTS for name in endpoint.query)
_LONGEST_PATH = 200
# The endpoint of requests to paths that do not exist: their number has no bound.
_NO_ROUTE = "none"


class AccessLine(msgspec.Struct):
    """One request as it is logged."""

    time: datetime
    logger: str
    surface: str
    client: str
    method: str
    path: str
    parameters: list[str]
    status: int
    milliseconds: float
    bytes: int
    key: str | None
    data_version: str | None
    request_id: str


def log_request(req: Any, resp: Any) -> None:
    """Log and count one request."""
    context, env, status = req.context, req.env, resp.status_code
    seconds = time.perf_counter() - context.started
    body, key = resp.data, context.key
    line = AccessLine(
        datetime.now(UTC),
        ACCESS_LOG,
        "rest",
        network_of(env.get("REMOTE_ADDR")),
        req.method,
        redact_keys(req.path)[:_LONGEST_PATH],
        [name for name in req.params if name in _PARAMETERS],
        status,
        round(seconds * 1000, 3),
        len(body) if body else int(resp.get_header("Content-Length") or 0),
        None if key is None else key.prefix,
        resp.get_header("X-Data-Version"),
        context.request_id,
    )
    log_access(line)
    observe_request(req.uri_template or _NO_ROUTE, status, seconds)


def log_refusal(address: str, status: int, size: int, request_id: str) -> None:
    """Log and count a request that could not be parsed, and of which nothing else is certain."""
    now, client = datetime.now(UTC), network_of(address)
    line = AccessLine(
        now, ACCESS_LOG, "rest", client, "", "", [], status, 0.0, size, None, None, request_id
    )
    log_access(line)
    observe_request(_NO_ROUTE, status, 0.0)
