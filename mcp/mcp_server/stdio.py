"""stdio for an agent on this machine; the key is checked and counted like any other."""

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
from mcp_server.results import Exact
from mcp_server.service import LOCAL, Call, Service, refused

# So many answers may wait to be read; further requests wait to be run, and hold no answer.
AT_ONCE = 64


async def serve(service: Service, key: str) -> None:
    """Answer on stdin and stdout until stdin ends."""
    logging.basicConfig(level=logging.WARNING, format="%(name)s %(message)s", stream=sys.stderr)
    # A key that does not hold is said at once, not by every call.
    service.admit(Call(), key)
    async with stdio_server() as (read, write):
        await answer(service, key, read, write)


async def answer(
    service: Service,
    key: str,
    read: ReadStream[SessionMessage | Exception],
    write: WriteStream[SessionMessage],
) -> None:
    """Answer the messages of a stream until it ends."""
    server = create_server(service)
    server.middleware.append(_Admitting(service, key, anyio.Semaphore(AT_ONCE)))
    await server.run(read, _Filling(write), server.create_initialization_options())


@dataclass
class _Turn:
    """The turn of a request, which ends once: when its answer is written or it is given up."""

    call: Call
    turns: anyio.Semaphore
    over: bool = False

    def end(self) -> None:
        if not self.over:
            self.over = True
            self.turns.release()


# A request is run and its answer sent by one task.
_TURN: ContextVar[_Turn] = ContextVar("turn")


@dataclass(frozen=True)
class _Admitting:
    """Admits and counts each request of the connection, some at once."""

    service: Service
    key: str
    turns: anyio.Semaphore

    async def __call__(
        self, ctx: ServerRequestContext[Any, Any], call_next: CallNext
    ) -> HandlerResult:
        if ctx.request_id is None:
            return await call_next(ctx)
        call = Call(is_tool=ctx.method == "tools/call")
        await self.turns.acquire()
        turn = _Turn(call, self.turns)
        LOCAL.set(call)
        _TURN.set(turn)
        try:
            try:
                return await self._answered(ctx, call, call_next)
            finally:
                # Of a request that was given up nothing will be sent.
                await anyio.lowlevel.checkpoint_if_cancelled()
        except anyio.get_cancelled_exc_class():
            turn.end()
            raise

    async def _answered(
        self, ctx: ServerRequestContext[Any, Any], call: Call, call_next: CallNext
    ) -> HandlerResult:
        try:
            try:
                await to_thread.run_sync(self._admit, call)
            except Exception as error:
                problem = self.service.problem_of(error, call)
                if not call.is_tool:
                    raise refused(self.service, problem, call) from error
                call.refused = problem
            return await call_next(ctx)
        finally:
            with anyio.CancelScope(shield=True):
                await to_thread.run_sync(self.service.settle, call)

    def _admit(self, call: Call) -> None:
        self.service.admit(call, self.key)
        self.service.count(call, None)


class _Filled(JSONRPCResponse):
    """A response that is written with exact values."""

    _exact: Exact = PrivateAttr()

    def model_dump_json(self, **how: Any) -> str:
        """Write the response and put answers in the place of their marks."""
        return self._exact.filled(super().model_dump_json(**how).encode()).decode()


class _Filling:
    """A stream of messages out, of which responses are filled in."""

    def __init__(self, out: WriteStream[SessionMessage]) -> None:
        self._out = out

    async def send(self, item: SessionMessage) -> None:
        """Send a message on; with its answer the turn of a request is over."""
        turn = _TURN.get(None)
        if turn is None or not isinstance(item.message, JSONRPCResponse | JSONRPCError):
            await self._out.send(item)
            return
        try:
            if isinstance(item.message, JSONRPCResponse):
                filled = _Filled.model_construct(**dict(item.message))
                filled._exact = turn.call.exact
                item = SessionMessage(filled, item.metadata)
            await self._out.send(item)
        finally:
            turn.end()

    async def aclose(self) -> None:
        """Close the stream."""
        await self._out.aclose()

    async def __aenter__(self) -> "_Filling":
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.aclose()
