"""The stdio transport, for one local agent; its key is checked and counted as over HTTP."""

import logging
import os
import sys
from dataclasses import dataclass, field
from typing import Any, cast

import anyio
import anyio.lowlevel
import msgspec
from anyio import AsyncFile, to_thread
from mcp.server import ServerRequestContext
from mcp.server.context import CallNext, HandlerResult
from mcp.server.stdio import stdio_server

from mcp_server.app import create_server
from mcp_server.guard import Peek
from mcp_server.service import STDIO_CALL, Call, Service, refused

# Requests that run or whose response is not read yet. Without a bound, a client that sends and
# does not read would fill the memory with responses.
MAX_PENDING = 64
# The client is a process of this machine.
_HERE = "127.0.0.1"

_PEEK = msgspec.json.Decoder(Peek)


async def serve(
    service: Service,
    key: str,
    stdin: AsyncFile[str] | None = None,
    stdout: AsyncFile[str] | None = None,
) -> None:
    """Serve on stdin and stdout, or on other files, until the input ends."""
    logging.basicConfig(level=logging.WARNING, format="%(name)s %(message)s", stream=sys.stderr)
    # Fail at the start if the key is unknown, rather than on every call.
    service.admit(Call(), key, _HERE)
    pending = _Pending()
    server = create_server(service)
    server.middleware.insert(0, _AdmissionMiddleware(service, key, pending))
    written = cast("AsyncFile[str]", _ExactLines(stdout or _claimed_stdout(), pending))
    async with stdio_server(stdin, written) as (read, write):
        await server.run(read, write, server.create_initialization_options())


def _claimed_stdout() -> AsyncFile[str]:
    """Return stdout for the protocol alone: what anything else prints goes to stderr."""
    own = os.dup(1)
    os.dup2(2, 1)
    return anyio.wrap_file(os.fdopen(own, "w", encoding="utf-8"))


@dataclass
class _Pending:
    """The requests that run or whose response is not written yet, by id; at most so many."""

    slots: anyio.Semaphore = field(default_factory=lambda: anyio.Semaphore(MAX_PENDING))
    calls: dict[int | str, list[Call]] = field(default_factory=dict)

    async def add(self, request_id: int | str, call: Call) -> None:
        """Wait for a slot and take it."""
        await self.slots.acquire()
        self.calls.setdefault(request_id, []).append(call)

    def remove(self, request_id: int | str, call: Call) -> None:
        """Free the slot of a request."""
        calls = self.calls[request_id]
        calls.remove(call)
        if not calls:
            del self.calls[request_id]
        self.slots.release()


@dataclass(frozen=True)
class _AdmissionMiddleware:
    """Admits and counts every request."""

    service: Service
    key: str
    pending: _Pending

    async def __call__(
        self, ctx: ServerRequestContext[Any, Any], call_next: CallNext
    ) -> HandlerResult:
        if ctx.request_id is None:
            return await call_next(ctx)
        call = Call(is_tool=ctx.method == "tools/call")
        await self.pending.add(ctx.request_id, call)
        STDIO_CALL.set(call)
        try:
            try:
                return await self._run(ctx, call, call_next)
            finally:
                # No response is written for a cancelled request, so nobody else frees its slot.
                await anyio.lowlevel.checkpoint_if_cancelled()
        except anyio.get_cancelled_exc_class():
            self.pending.remove(ctx.request_id, call)
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
        self.service.admit(call, self.key, _HERE)
        self.service.count(call, None)


@dataclass(frozen=True)
class _ExactLines:
    """The file that the SDK writes messages to: responses get exact values, see ``results.py``."""

    out: AsyncFile[str]
    pending: _Pending

    async def write(self, line: str) -> None:
        """Write a message; a response frees the slot of its request."""
        message = _PEEK.decode(line)
        calls = [] if message.method or message.id is None else self.pending.calls.get(message.id)
        if message.id is None or not calls:
            await self.out.write(line)
            return
        # A client that uses an id twice at once gets the values of each call in its own response.
        call = next((each for each in calls if each.exact.is_in(line)), calls[0])
        try:
            await self.out.write(call.exact.insert(line.encode()).decode())
        finally:
            self.pending.remove(message.id, call)

    async def flush(self) -> None:
        """Flush the file."""
        await self.out.flush()
