"""Admission of HTTP requests, before the protocol sees them.

Answers wrong paths and methods, missing and unknown keys, bodies that are too large or never end,
and keys above their limits.
"""

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime

import msgspec
from anyio import to_thread
from isal import isal_zlib
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp_types import PARSE_ERROR, ErrorData, JSONRPCError
from starlette.types import Message, Receive, Scope, Send

from mcp_server.exchange import Exchange
from mcp_server.service import REFUSED_CODE, SCOPE_KEY, Call, Service
from warehouse.contract import API_VERSION, problems
from warehouse.contract.agent_discovery import (
    CARD_PATH,
    CARD_TYPE,
    CATALOG_TYPE,
    WELL_KNOWN_CARD,
    WELL_KNOWN_CATALOG,
    ai_catalog,
    server_card,
)
from warehouse.contract.limits import key_from_headers, rate_limit_headers
from warehouse.serve.usage import network_of
from warehouse.shared.json_encoding import encode
from warehouse.shared.metrics import observe_request, stop_counting
from warehouse.shared.server_log import AccessLine, flush_log, log_access, logged_path
from warehouse.shared.texts import redact_keys
from warehouse.shared.urls import valid_host

# The access log: a JSON line for each request, without its key, its address, its arguments.

_LONGEST_METHOD = 64
# Compressing a smaller body costs more than it saves.
_SMALLEST_COMPRESSED = 1_024
# In Accept-Encoding, unless its weight is zero.
_GZIP = re.compile(r"\bgzip\b(?!\s*;\s*q=0(\.0*)?\s*(,|$))", re.IGNORECASE)
# What is counted by its own name; a client can send any other.
_METHODS = frozenset(
    {
        *("initialize", "notifications/initialized", "ping", "server/discover"),
        *("tools/list", "tools/call", "prompts/list", "prompts/get"),
        *("resources/list", "resources/templates/list", "resources/read"),
    }
)
_PATHS = frozenset({"/health", CARD_PATH, WELL_KNOWN_CARD, WELL_KNOWN_CATALOG})


def log_request(
    scope: Scope, call: Call, rpc: str, http_status: int, size: int, started: float
) -> None:
    """Log and count one request."""
    seconds = time.perf_counter() - started
    # A tool that refuses answers 200, with the problem as its result: its status says more.
    status = http_status if call.tool is None else call.status
    path, client = scope["path"], scope.get("client")
    line = AccessLine(
        time=datetime.now(UTC),
        surface="mcp",
        client=network_of(client[0] if client else None),
        method=scope["method"],
        path=logged_path(path),
        rpc=redact_keys(rpc)[:_LONGEST_METHOD],
        tool=call.tool,
        status=status,
        milliseconds=round(seconds * 1000, 3),
        bytes=size,
        key=None if call.key is None else call.key.prefix,
        data_version=call.data_version,
        request_id=call.request_id,
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

    def __init__(
        self, service: Service, call: Call, send: Send, settle: Settle, takes_gzip: bool
    ) -> None:
        self.call, self.message, self.begun = call, Peek(), False
        self._takes_gzip = takes_gzip
        self._service, self._send, self._settle = service, send, settle
        self._start_message: Message | None = None
        self._status = self._size = 0
        self._started = time.perf_counter()

    async def forward(self, message: Message) -> None:
        """Send on a response of the SDK, with exact values."""
        if message["type"] == "http.response.start":
            # Sent with the body: only then is the length known, and the quota settled.
            self._start_message = message
            return
        body = self.call.exact.insert(message.get("body", b""))
        if self._start_message is not None:
            headers = [
                pair for pair in self._start_message["headers"] if pair[0] != b"content-length"
            ]
            if not message.get("more_body"):
                body, described = self._encoded(body)
                headers += described
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
        body, described = self._encoded(body)
        pairs = [(b"content-type", media_type.encode()), *described]
        pairs += _pairs({name.replace("_", "-"): value for name, value in headers.items()})
        await self._begin(status, pairs)
        self._size += len(body)
        await self._send({"type": "http.response.body", "body": body})

    def _encoded(self, body: bytes) -> tuple[bytes, list[tuple[bytes, bytes]]]:
        """Return a whole body as the client takes it, and the headers that describe it."""
        if not self._takes_gzip or len(body) < _SMALLEST_COMPRESSED:
            return body, [(b"content-length", b"%d" % len(body))]
        # wbits=31: the gzip format.
        body = isal_zlib.compress(body, level=1, wbits=31)
        length = (b"content-length", b"%d" % len(body))
        return body, [length, (b"content-encoding", b"gzip"), (b"vary", b"Accept-Encoding")]

    async def refuse(self, problem: problems.Problem) -> None:
        """Send a problem; as a JSON-RPC error if the id of the request is known."""
        status = self.call.status = problem.kind.status
        body = self._service.problem_body(problem, self.call)
        await self._settle(self.call)
        headers = {}
        if status == 401:
            headers["www_authenticate"] = problems.CHALLENGE
        if status == 405:
            headers["allow"] = "POST"
        if problems.is_solved_by_upgrade(problem):
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


# Admission.

MAX_BODY_BYTES = 65_536
_BODY_SECONDS = 20.0
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,128}")
_PARSE_ERROR = ErrorData(code=PARSE_ERROR, message="Parse error: the body is not JSON")
_PARSE_ERROR_BODY = (
    JSONRPCError(jsonrpc="2.0", id=None, error=_PARSE_ERROR)
    .model_dump_json(by_alias=True, exclude_unset=True)
    .encode()
)

# What a client may read before it connects, without a key and from any web page.
_DOCUMENTS: Mapping[str, tuple[Callable[[str], object], str]] = {
    CARD_PATH: (server_card, CARD_TYPE),
    WELL_KNOWN_CARD: (server_card, CARD_TYPE),
    WELL_KNOWN_CATALOG: (ai_catalog, CATALOG_TYPE),
}
_PUBLIC = {"access_control_allow_origin": "*", "cache_control": "public, max-age=3600"}

_PEEK = msgspec.json.Decoder(Peek)


class Guard:
    """ASGI app that admits and counts requests to one path.

    ``blocking`` means that the stores are reached over a network: they are then read in a thread,
    so that other requests do not wait.
    """

    def __init__(
        self,
        sessions: StreamableHTTPSessionManager,
        exchange: Exchange,
        service: Service,
        path: str,
        blocking: bool,
        base_url: str | None = None,
    ) -> None:
        self._sessions, self._exchange, self._service = sessions, exchange, service
        self._path, self._blocking, self._base_url = path, blocking, base_url

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or run the lifespan of the app."""
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
            return
        if scope["type"] != "http":
            return
        # Not every HTTP parser strips the blanks that are allowed around a value.
        raw = [(name, value.strip(b" \t")) for name, value in scope["headers"]]
        scope = {**scope, "headers": raw}
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in raw}
        takes_gzip = _GZIP.search(headers.get("accept-encoding", "")) is not None
        writer = ResponseWriter(self._service, _call(headers), send, self._settle, takes_gzip)
        try:
            await self._serve(writer, scope, headers, receive)
        except Exception as error:
            problem = self._service.problem_of(error, writer.call)
            if not writer.begun:
                await writer.refuse(problem)
        writer.log(scope)

    async def _serve(
        self, writer: ResponseWriter, scope: Scope, headers: Mapping[str, str], receive: Receive
    ) -> None:
        call = writer.call
        if scope["path"] == "/health" and scope["method"] in ("GET", "HEAD"):
            await writer.write(200, b'{"status":"ok"}', "application/json")
            return
        if scope["method"] in ("GET", "HEAD") and scope["path"] in _DOCUMENTS:
            make, media_type = _DOCUMENTS[scope["path"]]
            host = valid_host(headers.get("host")) or "localhost"
            url = self._base_url or f"{scope.get('scheme', 'http')}://{host}"
            body = encode(make(url))
            await writer.write(200, body, media_type, **_PUBLIC)
            return
        if (problem := problems.no_oauth(scope["path"])) is not None:
            raise problem
        if scope["path"] != self._path:
            detail = f"There is nothing at {scope['path'][:200]}; MCP is at {self._path}."
            raise problems.Problem("not_found", detail)
        if scope["method"] != "POST":
            # DELETE ends a session and GET opens a stream of notifications: we have neither.
            raise problems.Problem(
                "method_not_allowed", f"{scope['method']} is not allowed: use POST."
            )
        key = key_from_headers(headers.get("x-api-key"), headers.get("authorization"))
        address = scope["client"][0] if scope.get("client") else None
        self._service.admit(call, key, address)
        try:
            body = await _read_body(headers, receive)
        except problems.Problem:
            # A request whose body is refused still counts against the limit per minute.
            await self._run(lambda: self._service.count(call, address))
            raise
        peeked = _peek(body)
        writer.message = peeked or Peek()
        call.is_tool = writer.message.method == "tools/call"
        await self._run(lambda: self._service.count(call, address))
        if peeked is None:
            # The SDK's parser is more lenient (NaN, for one) and would run a call not counted here.
            await writer.respond(400, _PARSE_ERROR_BODY)
            return
        call.pinned, call.host = headers.get("x-data-version"), headers.get("host")
        problems.check_data_version(call.pinned)
        scope = {**scope, SCOPE_KEY: call}
        response = await self._exchange.answer(scope, headers, body)
        if response is not None:
            await writer.respond(*response)
            return
        await self._sessions.handle_request(scope, _replay(body, receive), writer.forward)

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        await receive()
        async with self._sessions.run():
            await send({"type": "lifespan.startup.complete"})
            await receive()
        stop_counting()
        flush_log()
        await send({"type": "lifespan.shutdown.complete"})

    async def _settle(self, call: Call) -> None:
        await self._run(lambda: self._service.settle(call))

    async def _run(self, work: Callable[[], None]) -> None:
        if self._blocking:
            await to_thread.run_sync(work)
        else:
            work()


def _call(headers: Mapping[str, str]) -> Call:
    request_id = headers.get("x-request-id", "")
    # A request id is logged and sent back: it must not be an API key put there by mistake.
    is_usable = _REQUEST_ID.fullmatch(request_id) and redact_keys(request_id) == request_id
    return Call(request_id=request_id) if is_usable else Call()


async def _read_body(headers: Mapping[str, str], receive: Receive) -> bytes:
    """Read the body; raise if it is too large or takes too long."""
    content_length = headers.get("content-length", "0")
    if content_length.isdigit() and int(content_length) > MAX_BODY_BYTES:
        raise _too_large()
    body = bytearray()
    try:
        async with asyncio.timeout(_BODY_SECONDS):
            while True:
                message = await receive()
                if message["type"] != "http.request":
                    raise problems.Problem("request_refused", "The client went away.")
                body += message.get("body", b"")
                if len(body) > MAX_BODY_BYTES:
                    raise _too_large()
                if not message.get("more_body"):
                    return bytes(body)
    except TimeoutError:
        detail = f"The body did not come whole in {_BODY_SECONDS:.0f} seconds."
        raise problems.Problem("request_refused", detail) from None


def _too_large() -> problems.Problem:
    return problems.Problem("body_too_large", f"A body has at most {MAX_BODY_BYTES:,} bytes.")


def _peek(body: bytes) -> Peek | None:
    """Return the method and id of a message; None if it is not JSON."""
    try:
        return _PEEK.decode(body)
    except msgspec.ValidationError:
        # JSON, but no request: the SDK says what is wrong with it.
        return Peek()
    except (ValueError, RecursionError):
        return None


def _replay(body: bytes, receive: Receive) -> Receive:
    """Return a ``receive`` that yields the body, which has been read, once more."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return messages.pop() if messages else await receive()

    return replay
