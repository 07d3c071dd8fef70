"""The stdio transport, for one local agent; its key is checked and counted as over HTTP."""

import logging
import sys
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import anyio
import anyio.lowlevel
from anyio import to_thread
from mcp.server import ServerRequestContext
from mcp.server.context import CallNext, HandlerResult
from mcp.server.stdio import stdio_server
from mcp.shared._stream_protocols import ReadStream, WriteStream
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCResponse
from pydantic import PrivateAttr

from mcp_server.app import create_server
from mcp_server.results import ExactJson
from mcp_server.service import STDIO_CALL, Call, Service, refused

# Requests that run or whose response is not read yet. Without a bound, a client that sends and
# does not read would fill the memory with responses.
MAX_PENDING = 64


async def serve(service: Service, key: str) -> None:
    """Serve on stdin and stdout until stdin ends."""
    logging.basicConfig(level=logging.WARNING, format="%(name)s %(message)s", stream=sys.stderr)
    # Fail at the start if the key is unknown, rather than on every call.
    service.admit(Call(), key)
    async with stdio_server() as (read, write):
        await serve_streams(service, key, read, write)


async def serve_streams(
    service: Service,
    key: str,
    read: ReadStream[SessionMessage | Exception],
    write: WriteStream[SessionMessage],
) -> None:
    """Answer the messages of a stream until it ends."""
    server = create_server(service)
    server.middleware.append(_AdmissionMiddleware(service, key, anyio.Semaphore(MAX_PENDING)))
    await server.run(read, _ExactStream(write), server.create_initialization_options())


@dataclass
class _ReplySlot:
    """The slot of a request; freed once, when its response is written or it is cancelled."""

    call: Call
    slots: anyio.Semaphore
    is_free: bool = False

    def free(self) -> None:
        if not self.is_free:
            self.is_free = True
            self.slots.release()


# The SDK runs a request and sends its response in one task, so a context variable connects them.
_SLOT: ContextVar[_ReplySlot] = ContextVar("slot")


@dataclass(frozen=True)
class _AdmissionMiddleware:
    """Admits and counts every request; at most ``slots`` are pending at once."""

    service: Service
    key: str
    slots: anyio.Semaphore

    async def __call__(
        self, ctx: ServerRequestContext[Any, Any], call_next: CallNext
    ) -> HandlerResult:
        if ctx.request_id is None:
            return await call_next(ctx)
        call = Call(is_tool=ctx.method == "tools/call")
        await self.slots.acquire()
        slot = _ReplySlot(call, self.slots)
        STDIO_CALL.set(call)
        _SLOT.set(slot)
        try:
            try:
                return await self._run(ctx, call, call_next)
            finally:
                # No response is sent for a cancelled request, so ``send`` will not free its slot.
                await anyio.lowlevel.checkpoint_if_cancelled()
        except anyio.get_cancelled_exc_class():
            slot.free()
            raise

    async def _run(
        self, ctx: ServerRequestContext[Any, Any], call: Call, call_next: CallNext
    ) -> HandlerResult:
        try:
            try:
                await to_thread.run_sync(self._admit, call)
            except Exception as error:
                problem = self.service.problem_of(error, call)
                if not call.is_tool:
                    raise refused(self.service, problem, call) from error
                # A tool reports a problem in its result, where the model can read it.
                call.refused = problem
            return await call_next(ctx)
        finally:
            # Shielded: a cancelled call gets its charge back too.
            with anyio.CancelScope(shield=True):
                await to_thread.run_sync(self.service.settle, call)

    def _admit(self, call: Call) -> None:
        self.service.admit(call, self.key)
        self.service.count(call, None)


class _ExactResponse(JSONRPCResponse):
    """A response that is written with exact values; see ``results.py``."""

    _exact: ExactJson = PrivateAttr()

    def model_dump_json(self, **options: Any) -> str:
        """Return the JSON with the placeholder replaced by the exact body."""
        return self._exact.insert(super().model_dump_json(**options).encode()).decode()


class _ExactStream:
    """The stream of outgoing messages; it writes responses with exact values."""

    def __init__(self, out: WriteStream[SessionMessage]) -> None:
        self._out = out

    async def send(self, item: SessionMessage) -> None:
        """Send a message; a response frees the slot of its request."""
        slot = _SLOT.get(None)
        if slot is None or not isinstance(item.message, JSONRPCResponse | JSONRPCError):
            await self._out.send(item)
            return
        try:
            if isinstance(item.message, JSONRPCResponse):
                response = _ExactResponse.model_construct(**dict(item.message))
                response._exact = slot.call.exact
                item = SessionMessage(response, item.metadata)
            await self._out.send(item)
        finally:
            slot.free()

    async def aclose(self) -> None:
        """Close the stream."""
        await self._out.aclose()

    async def __aenter__(self) -> "_ExactStream":
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.aclose()
