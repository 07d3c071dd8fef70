"""Where the call of a request is found, and how a refused one is said by the protocol."""

from contextvars import ContextVar
from typing import Any

import msgspec
from mcp.server import ServerRequestContext
from mcp.shared.exceptions import MCPError

from mcp_server.service import Call, Service
from warehouse.contract.problems import Problem

# A request over HTTP carries its call; over stdio there is no request to carry it.
IN_SCOPE = "sankofa.call"
LOCAL: ContextVar[Call] = ContextVar("call")

# Of the codes that the specification leaves to servers.
REFUSED = -32010


def call_of(ctx: ServerRequestContext[Any, Any]) -> Call:
    """Give the call that the transport admitted."""
    call: Call = LOCAL.get() if ctx.request is None else ctx.request.scope[IN_SCOPE]
    return call


def refused(service: Service, problem: Problem, call: Call) -> MCPError:
    """Make the protocol's error of a problem, which is its data."""
    call.status = problem.kind.status
    told = msgspec.json.decode(service.told(problem, call))
    return MCPError(code=REFUSED, message=problem.detail, data=told)
