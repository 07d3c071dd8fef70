"""What every request over HTTP goes through before the protocol sees it.

A wrong address or method, a missing or unknown key, a body that is too large or never ends, and
a limit that is reached are answered here.
"""

import re
from collections.abc import Callable, Mapping

import anyio
import msgspec
from anyio import to_thread
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp_types import DEFAULT_NEGOTIATED_VERSION, PARSE_ERROR, ErrorData, JSONRPCError
from starlette.types import Message, Receive, Scope, Send

from mcp_server.exchange import Exchange
from mcp_server.response import Answering, Peek, write_log
from mcp_server.service import IN_SCOPE, Call, Service
from warehouse.contract.limits import key_from_headers
from warehouse.contract.problems import Problem, check_data_version
from warehouse.keys.store import redact_keys

LONGEST_BODY = 65_536
_TO_SEND = 20.0
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,128}")
_PARSE_ERROR = ErrorData(code=PARSE_ERROR, message="Parse error: the body is no JSON")
_NO_JSON = (
    JSONRPCError(jsonrpc="2.0", id=None, error=_PARSE_ERROR)
    .model_dump_json(by_alias=True, exclude_unset=True)
    .encode()
)

_PEEK = msgspec.json.Decoder(Peek)


class Guard:
    """Admits and counts requests to one path, and writes exact answers.

    ``blocking`` says that the stores are far away, so that asking them must not stop the others.
    """

    def __init__(
        self,
        sessions: StreamableHTTPSessionManager,
        exchange: Exchange,
        service: Service,
        path: str,
        blocking: bool,
    ) -> None:
        self._sessions, self._exchange, self._service = sessions, exchange, service
        self._path, self._blocking = path, blocking

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or live as long as the process serves."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        if scope["type"] != "http":
            return
        # Some parsers leave the blanks that may stand around a value.
        raw = [(name, value.strip(b" \t")) for name, value in scope["headers"]]
        scope = {**scope, "headers": raw}
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in raw}
        answer = Answering(self._service, _call(headers), send, self._settle)
        try:
            await self._serve(answer, scope, headers, receive)
        except Exception as error:
            problem = self._service.problem_of(error, answer.call)
            if not answer.begun:
                await answer.refuse(problem)
        answer.log(scope)

    async def _serve(
        self, answer: Answering, scope: Scope, headers: Mapping[str, str], receive: Receive
    ) -> None:
        call = answer.call
        if scope["path"] == "/health" and scope["method"] in ("GET", "HEAD"):
            await answer.write(200, b'{"status":"ok"}', "application/json")
            return
        if scope["path"] != self._path:
            words = f"There is nothing at {scope['path'][:200]}; MCP is at {self._path}."
            raise Problem("not_found", words)
        if scope["method"] != "POST":
            # There are no sessions to end, and nothing is ever sent without being asked.
            raise Problem("method_not_allowed", f"{scope['method']} is not allowed: use POST.")
        sent = key_from_headers(headers.get("x-api-key"), headers.get("authorization"))
        await self._do(lambda: self._service.admit(call, sent))
        address = scope["client"][0] if scope.get("client") else None
        try:
            body = await _whole(headers, receive)
        except Problem:
            await self._do(lambda: self._service.count(call, address))
            raise
        peeked = _peek(body)
        answer.message = peeked or Peek()
        call.is_tool = answer.message.method == "tools/call"
        await self._do(lambda: self._service.count(call, address))
        if peeked is None:
            # The SDK takes more than JSON, and would run what nobody could count.
            await answer.settled(400, _NO_JSON)
            return
        call.pinned = headers.get("x-data-version")
        check_data_version(call.pinned)
        scope = {**scope, IN_SCOPE: call}
        version = headers.get("mcp-protocol-version", DEFAULT_NEGOTIATED_VERSION)
        answered = await self._exchange.answer(scope, version, body)
        if answered is not None:
            await answer.settled(*answered)
            return
        await self._sessions.handle_request(scope, _replay(body, receive), answer.forward)

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        async with self._sessions.run():
            await send({"type": "lifespan.startup.complete"})
            await receive()
        write_log()
        await send({"type": "lifespan.shutdown.complete"})

    async def _settle(self, call: Call) -> None:
        await self._do(lambda: self._service.settle(call))

    async def _do(self, work: Callable[[], None]) -> None:
        if self._blocking:
            await to_thread.run_sync(work)
        else:
            work()


def _call(headers: Mapping[str, str]) -> Call:
    sent = headers.get("x-request-id", "")
    is_usable = _REQUEST_ID.fullmatch(sent) and redact_keys(sent) == sent
    return Call(request_id=sent) if is_usable else Call()


async def _whole(headers: Mapping[str, str], receive: Receive) -> bytes:
    """Read a body that is not too large and does not take for ever."""
    stated = headers.get("content-length", "0")
    if stated.isdigit() and int(stated) > LONGEST_BODY:
        raise _too_large()
    body = bytearray()
    with anyio.move_on_after(_TO_SEND):
        while True:
            message = await receive()
            if message["type"] != "http.request":
                raise Problem("request_refused", "The client went away.")
            body += message.get("body", b"")
            if len(body) > LONGEST_BODY:
                raise _too_large()
            if not message.get("more_body"):
                return bytes(body)
    raise Problem("request_refused", f"The body did not come whole in {_TO_SEND:.0f} seconds.")


def _too_large() -> Problem:
    return Problem("body_too_large", f"A body has at most {LONGEST_BODY:,} bytes.")


def _peek(body: bytes) -> Peek | None:
    """Look into a message; None if it is no JSON."""
    try:
        return _PEEK.decode(body)
    except msgspec.ValidationError:
        return Peek()
    except (ValueError, RecursionError):
        return None


def _replay(body: bytes, receive: Receive) -> Receive:
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Message:
        return waiting.pop() if waiting else await receive()

    return again
