"""Writes the HTTP response to one request: exact values, our headers, problems."""

import time
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime

import msgspec
from starlette.types import Message, Scope, Send

from mcp_server.service import REFUSED_CODE, Call, Service
from warehouse.contract import API_VERSION
from warehouse.contract.agent_discovery import CARD_PATH, WELL_KNOWN_CARD, WELL_KNOWN_CATALOG
from warehouse.contract.limits import rate_limit_headers
from warehouse.contract.problems import CHALLENGE, Problem, is_solved_by_upgrade
from warehouse.serve.usage import network_of
from warehouse.shared.json_encoding import encode
from warehouse.shared.metrics import observe_request
from warehouse.shared.server_log import ACCESS_LOG, log_access
from warehouse.shared.texts import redact_keys

# The access log: a JSON line for each request, without its key, its address, its arguments.

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


Settle = Callable[[Call], Awaitable[None]]


class Peek(msgspec.Struct):
    """The members of a JSON-RPC message that are needed to count and log it."""

    method: str = ""
    id: int | str | None = None


class ResponseWriter:
    """Sends the response to one request; ``begun`` once its head has been sent."""

    def __init__(self, service: Service, call: Call, send: Send, settle: Settle) -> None:
        self.call, self.message, self.begun = call, Peek(), False
        self._service, self._send, self._settle = service, send, settle
        self._start_message: Message | None = None
        self._status = self._size = 0
        self._started = time.perf_counter()

    async def forward(self, message: Message) -> None:
        """Send on a response of the SDK, with exact values."""
        if message["type"] == "http.response.start":
            # Held back: the length is known, and the quota settled, only with the body.
            self._start_message = message
            return
        body = self.call.exact.insert(message.get("body", b""))
        if self._start_message is not None:
            headers = [
                pair for pair in self._start_message["headers"] if pair[0] != b"content-length"
            ]
            if not message.get("more_body"):
                headers.append((b"content-length", b"%d" % len(body)))
            await self._settle(self.call)
            await self._begin(self._start_message["status"], headers)
            self._start_message = None
        self._size += len(body)
        await self._send({**message, "body": body})

    async def respond(self, status: int, body: bytes) -> None:
        """Send a JSON-RPC response, with exact values."""
        await self._settle(self.call)
        await self.write(status, self.call.exact.insert(body), "application/json")

    async def write(self, status: int, body: bytes, media_type: str, **headers: str) -> None:
        """Send a whole response."""
        fields = {"content-type": media_type, "content-length": str(len(body)), **headers}
        pairs = [(name.replace("_", "-"), value) for name, value in fields.items()]
        await self._begin(status, [(n.lower().encode(), v.encode()) for n, v in pairs])
        self._size += len(body)
        await self._send({"type": "http.response.body", "body": body})

    async def refuse(self, problem: Problem) -> None:
        """Send a problem; as a JSON-RPC error if the id of the request is known."""
        status = self.call.status = problem.kind.status
        body = self._service.problem_body(problem, self.call)
        await self._settle(self.call)
        headers = {}
        if status == 401:
            headers["www_authenticate"] = CHALLENGE
        if status == 405:
            headers["allow"] = "POST"
        if is_solved_by_upgrade(problem):
            headers["x_upgrade_url"] = self._service.upgrade_url(self.call)
        if "retry_after" in problem.members:
            headers["retry_after"] = str(problem.members["retry_after"])
        # A client whose key is refused shows its user an error of the protocol, and no other body.
        if self.message.id is None and status not in (401, 403):
            return await self.write(status, body, "application/problem+json", **headers)
        error = {"code": REFUSED_CODE, "message": problem.detail, "data": msgspec.Raw(body)}
        payload = encode({"jsonrpc": "2.0", "id": self.message.id, "error": error})
        return await self.write(status, payload, "application/json", **headers)

    def log(self, scope: Scope) -> None:
        """Log the request in one line, and count it."""
        log_request(scope, self.call, self.message.method, self._status, self._size, self._started)

    async def _begin(self, status: int, headers: list[tuple[bytes, bytes]]) -> None:
        self.begun, self._status = True, status
        start = {"type": "http.response.start", "status": status}
        await self._send({**start, "headers": [*headers, *_pairs(self._common_headers())]})

    def _common_headers(self) -> Mapping[str, str]:
        call = self.call
        fields = {"x-service-api-version": API_VERSION, "x-request-id": call.request_id}
        if call.key is not None:
            fields |= {"x-service-tier": call.key.tier.name, "cache-control": "no-store"}
        return fields | ({} if call.standing is None else rate_limit_headers(call.standing))


def _pairs(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.lower().encode(), value.encode()) for name, value in headers.items()]
