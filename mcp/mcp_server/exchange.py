"""A shortcut for plain requests: the SDK's checks and dispatch without its session streams.

For every request the SDK's session manager starts tasks and memory streams that only sessions with
server-sent events need. This server has neither, so a well-formed request goes straight to the
SDK's dispatch and its response is written once. Anything else (wrong headers, notifications,
malformed messages) is left to the session manager, which refuses it in the protocol's own words:
``answer`` returns None for it.

This is the one module that takes parts of the SDK which it does not document; ``mcp`` is bounded
below 2.4. Without it a call by a version with a handshake takes twice the processor time or more,
and one by 2026-07-28 a fifth (tenders) to two thirds (one entity) more.
``tests/contract/test_mcp_exchange.py`` compares the two ways and fails if they differ.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import anyio
import msgspec
import pydantic_core
from mcp.server import Server
from mcp.server.connection import Connection
from mcp.server.runner import ServerRunner, modern_error_data
from mcp.server.streamable_http import check_accept_headers
from mcp.server.transport_security import TransportSecurityMiddleware, TransportSecuritySettings
from mcp.shared.exceptions import NoBackChannelError
from mcp.shared.inbound import (
    ERROR_CODE_HTTP_STATUS,
    InboundLadderRejection,
    classify_inbound_request,
)
from mcp.shared.message import ServerMessageMetadata
from mcp.shared.transport_context import TransportContext
from mcp_types import DEFAULT_NEGOTIATED_VERSION, JSONRPCError, JSONRPCRequest
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError
from starlette.requests import Request
from starlette.types import Scope

_TRANSPORT = TransportContext(kind="streamable-http", can_send_request=False)
# Nothing cancels a request whose response is one body.
_NEVER = anyio.Event()
# The headers that the SDK looks at whatever the message is.
_CHECKED = ("accept", "content-type", "host", "origin")
_MAX_ACCEPTED = 100


@dataclass
class _DispatchContext:
    """The context that the SDK's dispatch needs; nothing can be sent to the client through it."""

    request_id: int | str
    message_metadata: ServerMessageMetadata
    transport: TransportContext = _TRANSPORT
    can_send_request: bool = False
    cancel_requested: anyio.Event = _NEVER

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
        versions = (*HANDSHAKE_PROTOCOL_VERSIONS, *MODERN_PROTOCOL_VERSIONS)
        self._accepted: set[tuple[str | None, ...]] = set()
        self._runners = {version: self._new_runner(version) for version in versions}

    async def answer(
        self, scope: Scope, headers: Mapping[str, str], body: bytes
    ) -> tuple[int, bytes] | None:
        """Return the status and the JSON response; None if the SDK must answer itself."""
        request = Request(scope)
        # Of a header that was sent twice, two readers may take different values.
        if len(headers) < len(scope["headers"]) or not await self._are_right(headers, request):
            return None
        try:
            decoded = pydantic_core.from_json(body)
            rpc_request = JSONRPCRequest.model_validate(decoded, by_name=False)
        except (ValueError, ValidationError):
            return None
        # Older clients negotiate a version by a handshake, which a server without sessions does
        # not remember: their header alone says which version they speak.
        version = headers.get("mcp-protocol-version", DEFAULT_NEGOTIATED_VERSION)
        if version not in HANDSHAKE_PROTOCOL_VERSIONS:
            # The SDK compares parameters with headers if a tool declares any; ours declare none.
            input_schema = self._server.get_tool_input_schema
            name = str((rpc_request.params or {}).get("name"))
            if input_schema is None or input_schema(name) is not None:
                return None
            if isinstance(
                classify_inbound_request(decoded, headers=headers), InboundLadderRejection
            ):
                return None
        return await self._dispatch(rpc_request, request, version)

    async def _are_right(self, headers: Mapping[str, str], request: Request) -> bool:
        """Return whether the SDK accepts the headers; a client sends the same with each request."""
        values = tuple(map(headers.get, _CHECKED))
        if values in self._accepted:
            return True
        refused = await self._security.validate_request(request, is_post=True)
        is_right = refused is None and check_accept_headers(request)[0]
        if is_right and len(self._accepted) < _MAX_ACCEPTED:
            self._accepted.add(values)
        return is_right

    def _new_runner(self, version: str) -> ServerRunner[Any]:
        # What clients say about themselves is of no use to any handler.
        return ServerRunner(self._server, Connection.from_envelope(version, None, None), {})

    async def _dispatch(
        self, rpc_request: JSONRPCRequest, request: Request, version: str
    ) -> tuple[int, bytes]:
        metadata = ServerMessageMetadata(request_context=request, can_send_request=False)
        context = _DispatchContext(rpc_request.id, metadata)
        method, params = rpc_request.method, rpc_request.params
        # A handshake is kept by the runner that it was made with; nothing else is.
        runner = self._new_runner(version) if method == "initialize" else self._runners[version]
        try:
            result = await runner.on_request(context, method, params)
        except Exception as error:
            error_data = modern_error_data(error)
            message = JSONRPCError(jsonrpc="2.0", id=rpc_request.id, error=error_data)
            # Only the current version maps error codes to HTTP statuses.
            is_current = version not in HANDSHAKE_PROTOCOL_VERSIONS
            status = ERROR_CODE_HTTP_STATUS.get(error_data.code, 200) if is_current else 200
            return status, message.model_dump_json(by_alias=True, exclude_unset=True).encode()
        return 200, msgspec.json.encode({"jsonrpc": "2.0", "id": rpc_request.id, "result": result})
