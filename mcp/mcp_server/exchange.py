"""A shortcut for plain requests: the SDK's checks and dispatch without its session streams.

For every request the SDK's session manager starts tasks and memory streams that only sessions with
server-sent events need. This server has neither, so a well-formed request goes straight to the
SDK's dispatch and its response is written once. Anything else (wrong headers, notifications,
malformed messages) is left to the session manager, which refuses it in the protocol's own words:
``answer`` returns None for it.

This is the one module that takes parts of the SDK which it does not document; ``mcp`` is bounded
below 2.4. Leaving it out costs more than a tenth of the processor time of the whole service. A call
takes, for versions with a handshake, 27 % more (figures), 43 % (tenders) or 81 % (one entity), and
for 2026-07-28 16 %, 27 % or 17 %. ``tests/contract/test_mcp_exchange.py`` compares the two ways and
fails if they differ.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import anyio
import pydantic_core
from mcp.server import Server
from mcp.server.connection import Connection
from mcp.server.runner import modern_error_data, serve_one
from mcp.server.streamable_http import check_accept_headers
from mcp.server.transport_security import TransportSecurityMiddleware, TransportSecuritySettings
from mcp.shared.exceptions import NoBackChannelError
from mcp.shared.inbound import (
    ERROR_CODE_HTTP_STATUS,
    InboundLadderRejection,
    classify_inbound_request,
    find_duplicated_routing_header,
)
from mcp.shared.message import ServerMessageMetadata
from mcp.shared.transport_context import TransportContext
from mcp_types import JSONRPCError, JSONRPCRequest, JSONRPCResponse
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from pydantic import ValidationError
from starlette.requests import Request
from starlette.types import Scope

_TRANSPORT = TransportContext(kind="streamable-http", can_send_request=False)


@dataclass
class _DispatchContext:
    """The context that the SDK's dispatch needs; nothing can be sent to the client through it."""

    request_id: int | str
    message_metadata: ServerMessageMetadata
    transport: TransportContext = _TRANSPORT
    can_send_request: bool = False
    cancel_requested: anyio.Event = field(default_factory=anyio.Event)

    async def send_raw_request(
        self, method: str, params: Mapping[str, Any] | None, opts: Any = None
    ) -> dict[str, Any]:
        """Refuse: a response of one body has no channel back to the client."""
        raise NoBackChannelError(method)

    async def notify(self, method: str, params: Mapping[str, Any] | None, opts: Any = None) -> None:
        """Do nothing: a response of one body cannot carry notifications."""

    async def progress(
        self, progress: float, total: float | None = None, message: str | None = None
    ) -> None:
        """Do nothing: a response of one body cannot carry notifications."""


class Exchange:
    """Answers plain requests to one server."""

    def __init__(self, server: Server[Any], security: TransportSecuritySettings) -> None:
        self._server, self._security = server, TransportSecurityMiddleware(security)

    async def answer(self, scope: Scope, version: str, body: bytes) -> tuple[int, bytes] | None:
        """Return the status and the JSON response; None if the SDK must answer itself."""
        request = Request(scope)
        if not check_accept_headers(request)[0]:
            return None
        if find_duplicated_routing_header(request.headers.items()) is not None:
            return None
        if await self._security.validate_request(request, is_post=True) is not None:
            return None
        try:
            decoded = pydantic_core.from_json(body)
            rpc_request = JSONRPCRequest.model_validate(decoded, by_name=False)
        except (ValueError, ValidationError):
            return None
        # Older clients negotiate a version by a handshake, which a server without sessions does
        # not remember: their header alone says which version they speak.
        if version in HANDSHAKE_PROTOCOL_VERSIONS:
            return await self._dispatch(
                rpc_request, request, Connection.from_envelope(version, None, None)
            )
        connection = self._modern_connection(decoded, rpc_request, request)
        return (
            None if connection is None else await self._dispatch(rpc_request, request, connection)
        )

    def _modern_connection(
        self, decoded: Any, rpc_request: JSONRPCRequest, request: Request
    ) -> Connection | None:
        """Return the connection of a current client; None if its headers contradict the body."""
        params = rpc_request.params or {}
        # The SDK compares parameters with headers if a tool declares any; ours declare none.
        input_schema = self._server.get_tool_input_schema
        if input_schema is None or input_schema(str(params.get("name"))) is not None:
            return None
        route = classify_inbound_request(decoded, headers=dict(request.headers))
        if isinstance(route, InboundLadderRejection):
            return None
        return Connection.from_envelope(
            route.protocol_version, route.client_info, route.client_capabilities
        )

    async def _dispatch(
        self, rpc_request: JSONRPCRequest, request: Request, connection: Connection
    ) -> tuple[int, bytes]:
        metadata = ServerMessageMetadata(request_context=request, can_send_request=False)
        message: JSONRPCResponse | JSONRPCError
        status = 200
        try:
            result = await serve_one(
                self._server,
                _DispatchContext(rpc_request.id, metadata),
                rpc_request.method,
                rpc_request.params,
                connection=connection,
                lifespan_state={},
            )
            message = JSONRPCResponse(jsonrpc="2.0", id=rpc_request.id, result=result)
        except Exception as error:
            error_data = modern_error_data(error)
            message = JSONRPCError(jsonrpc="2.0", id=rpc_request.id, error=error_data)
            # Only the current version maps error codes to HTTP statuses.
            if connection.protocol_version not in HANDSHAKE_PROTOCOL_VERSIONS:
                status = ERROR_CODE_HTTP_STATUS.get(error_data.code, 200)
        return status, message.model_dump_json(by_alias=True, exclude_unset=True).encode()
