"""stdio for an agent on this machine; the key is checked and counted like any other."""

import logging
import sys
from dataclasses import dataclass
from typing import Any

from anyio import to_thread
from mcp.server import ServerRequestContext
from mcp.server.context import CallNext, HandlerResult
from mcp.server.stdio import stdio_server
from mcp.shared._stream_protocols import WriteStream
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCResponse
from pydantic import PrivateAttr

from mcp_server.app import create_server
from mcp_server.calls import LOCAL, refused
from mcp_server.exact import Exact
from mcp_server.service import Call, Service


async def serve(service: Service, key: str) -> None:
    """Answer on stdin and stdout until stdin ends."""
    logging.basicConfig(level=logging.WARNING, format="%(name)s %(message)s", stream=sys.stderr)
    # A key that does not hold is said at once, not by every call.
    service.admit(Call(), key)
    server, exact = create_server(service), Exact()
    server.middleware.append(_Admitting(service, key, exact))
    async with stdio_server() as (read, write):
        options = server.create_initialization_options()
        await server.run(read, _Filling(write, exact), options)


@dataclass(frozen=True)
class _Admitting:
    """Admits and counts each request of the connection."""

    service: Service
    key: str
    exact: Exact

    async def __call__(
        self, ctx: ServerRequestContext[Any, Any], call_next: CallNext
    ) -> HandlerResult:
        if ctx.request_id is None:
            return await call_next(ctx)
        call, is_tool = Call(self.exact), ctx.method == "tools/call"
        try:
            await to_thread.run_sync(self._admit, call, is_tool)
        except Exception as error:
            problem = self.service.problem_of(error, call)
            if not is_tool:
                raise refused(self.service, problem, call) from error
            call.refused = problem
        LOCAL.set(call)
        try:
            return await call_next(ctx)
        finally:
            await to_thread.run_sync(self.service.settle, call)

    def _admit(self, call: Call, charge: bool) -> None:
        self.service.admit(call, self.key)
        self.service.count(call, None, charge)


class _Filled(JSONRPCResponse):
    """A response that is written with exact values."""

    _exact: Exact = PrivateAttr()

    def model_dump_json(self, **how: Any) -> str:
        """Write the response and put answers in the place of their marks."""
        return self._exact.filled(super().model_dump_json(**how).encode()).decode()


class _Filling:
    """A stream of messages out, of which responses are filled in."""

    def __init__(self, out: WriteStream[SessionMessage], exact: Exact) -> None:
        self._out, self._exact = out, exact

    async def send(self, item: SessionMessage) -> None:
        """Send a message on."""
        if isinstance(item.message, JSONRPCResponse):
            filled = _Filled.model_construct(**dict(item.message))
            filled._exact = self._exact
            item = SessionMessage(filled, item.metadata)
        await self._out.send(item)

    async def aclose(self) -> None:
        """Close the stream."""
        await self._out.aclose()

    async def __aenter__(self) -> "_Filling":
        return self

    async def __aexit__(self, *given: object) -> None:
        await self.aclose()
