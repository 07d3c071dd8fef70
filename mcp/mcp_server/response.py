"""The answer to one request over HTTP: exact values, our headers, problems, one line of log."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping

import msgspec
from starlette.types import Message, Scope, Send

from mcp_server.service import REFUSED, Call, Service
from warehouse.contract.limits import rate_limit_headers
from warehouse.contract.problems import Problem
from warehouse.json_encoding import encode
from warehouse.keys.store import redact_keys

API_VERSION = "1.0.0"
Settle = Callable[[Call], Awaitable[None]]


class Peek(msgspec.Struct):
    """What has to be known of a message to count it."""

    method: str = ""
    id: int | str | None = None


class Answering:
    """The answer to one request, as it is sent."""

    def __init__(self, service: Service, call: Call, send: Send, settle: Settle) -> None:
        self.call, self.message, self.begun = call, Peek(), False
        self._service, self._send, self._settle = service, send, settle
        self._held: Message | None = None
        self._status = self._size = 0
        self._started = time.perf_counter()

    async def forward(self, message: Message) -> None:
        """Send what the protocol answers, exact values filled in."""
        if message["type"] == "http.response.start":
            self._held = message
            return
        body = self.call.exact.filled(message.get("body", b""))
        if self._held is not None:
            own = [pair for pair in self._held["headers"] if pair[0] != b"content-length"]
            if not message.get("more_body"):
                own.append((b"content-length", b"%d" % len(body)))
            await self._settle(self.call)
            await self._begin(self._held["status"], own)
            self._held = None
        self._size += len(body)
        await self._send({**message, "body": body})

    async def settled(self, status: int, body: bytes) -> None:
        """Send an answer of the protocol, exact values filled in."""
        await self._settle(self.call)
        await self.write(status, self.call.exact.filled(body), "application/json")

    async def write(self, status: int, body: bytes, media_type: str, **more: str) -> None:
        """Send an answer of our own."""
        fields = {"content-type": media_type, "content-length": str(len(body)), **more}
        pairs = [(name.replace("_", "-"), value) for name, value in fields.items()]
        await self._begin(status, [(n.lower().encode(), v.encode()) for n, v in pairs])
        self._size += len(body)
        await self._send({"type": "http.response.body", "body": body})

    async def refuse(self, problem: Problem) -> None:
        """Send a problem; to a request that was read, as the protocol's own error."""
        status = self.call.status = problem.kind.status
        body = self._service.problem_body(problem, self.call)
        await self._settle(self.call)
        more = {}
        if status == 401:
            more["www_authenticate"] = 'Bearer realm="sankofa"'
        if status == 405:
            more["allow"] = "POST"
        if "retry_after" in problem.members:
            more["retry_after"] = str(problem.members["retry_after"])
        if self.message.id is None:
            return await self.write(status, body, "application/problem+json", **more)
        error = {"code": REFUSED, "message": problem.detail, "data": msgspec.Raw(body)}
        payload = encode({"jsonrpc": "2.0", "id": self.message.id, "error": error})
        return await self.write(status, payload, "application/json", **more)

    def log(self, scope: Scope) -> None:
        """Write one line; never a key."""
        key = self.call.key
        line = {
            "request_id": self.call.request_id,
            "method": scope["method"],
            "path": redact_keys(scope["path"])[:200],
            "rpc": redact_keys(self.message.method)[:64],
            "status": self._status,
            "key": None if key is None else key.prefix,
            "bytes": self._size,
            "milliseconds": round((time.perf_counter() - self._started) * 1000, 3),
        }
        log_access(encode(line).decode())

    async def _begin(self, status: int, headers: list[tuple[bytes, bytes]]) -> None:
        self.begun, self._status = True, status
        start = {"type": "http.response.start", "status": status}
        await self._send({**start, "headers": [*headers, *_pairs(self._own())]})

    def _own(self) -> Mapping[str, str]:
        """Give the headers of every answer."""
        call = self.call
        fields = {"x-service-api-version": API_VERSION, "x-request-id": call.request_id}
        if call.key is not None:
            fields |= {"x-service-tier": call.key.tier.name, "cache-control": "no-store"}
        return fields | ({} if call.standing is None else rate_limit_headers(call.standing))


def _pairs(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.lower().encode(), value.encode()) for name, value in headers.items()]


_ACCESS = logging.getLogger("sankofa.access")
_A_MOMENT = 0.1
_gathered: list[str] = []


def log_access(line: str) -> None:
    """Log a line of a request; the first of many sees to it that they are written."""
    if not _gathered:
        asyncio.get_running_loop().call_later(_A_MOMENT, write_log)
    _gathered.append(line)


def write_log() -> None:
    """Write what was gathered, in one piece."""
    lines = "\n".join(_gathered[:1] + [f"{_ACCESS.name} {line}" for line in _gathered[1:]])
    _gathered.clear()
    if lines:
        _ACCESS.info(lines)
