"""The access log: a JSON line for each request, without its key, its address, its arguments."""

import time
from datetime import UTC, datetime

import msgspec
from starlette.types import Scope

from mcp_server.service import Call
from warehouse.contract.agent_discovery import CARD_PATH, WELL_KNOWN_CARD, WELL_KNOWN_CATALOG
from warehouse.control.keys import redact_keys
from warehouse.metrics.counts import observe_request
from warehouse.server_log import ACCESS_LOG, log_access
from warehouse.usage.store import network_of

_LONGEST_PATH = 200
_LONGEST_METHOD = 64
# What is counted by its own name; a client can send any other.
_METHODS = frozenset(
    {
        *("initialize", "notifications/initialized", "ping", "server/discover"),
        *("tools/list", "tools/call", "prompts/list", "prompts/get"),
        *("resources/list", "resources/templates/list", "resources/read"),
    }
)
_PATHS = frozenset({"/health", CARD_PATH, WELL_KNOWN_CARD, WELL_KNOWN_CATALOG})


class AccessLine(msgspec.Struct):
    """One request as it is logged; ``rpc`` is the method of the protocol."""

    time: datetime
    logger: str
    surface: str
    client: str
    method: str
    path: str
    rpc: str
    tool: str | None
    status: int
    milliseconds: float
    bytes: int
    key: str | None
    data_version: str | None
    request_id: str


def log_request(
    scope: Scope, call: Call, rpc: str, http_status: int, size: int, started: float
) -> None:
    """Log and count one request."""
    seconds = time.perf_counter() - started
    # A tool that refuses answers 200, with the problem as its result: its status says more.
    status = http_status if call.tool is None else call.status
    path, client = scope["path"], scope.get("client")
    line = AccessLine(
        datetime.now(UTC),
        ACCESS_LOG,
        "mcp",
        network_of(client[0] if client else None),
        scope["method"],
        redact_keys(path)[:_LONGEST_PATH],
        redact_keys(rpc)[:_LONGEST_METHOD],
        call.tool,
        status,
        round(seconds * 1000, 3),
        size,
        None if call.key is None else call.key.prefix,
        call.data_version,
        call.request_id,
    )
    log_access(line)
    observe_request(_endpoint(call, rpc, path), status, seconds)


def _endpoint(call: Call, rpc: str, path: str) -> str:
    """Return what was called, out of a bounded number of names."""
    if call.tool is not None:
        return call.tool
    if rpc in _METHODS:
        return rpc
    return path if path in _PATHS else "none"
