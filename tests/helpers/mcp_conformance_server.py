"""Our server plus the fixtures that the official suite calls by name: tools, resources, a prompt.

The suite asks for fixtures such as ``test_simple_text``. They run behind the same guard, in the
same transport and alongside our own tools, so that the suite exercises those.
"""

import sys
from typing import Any

import uvicorn
from mcp.server import Server
from mcp.shared.exceptions import MCPError
from mcp_server.app import create_server
from mcp_server.http import Options, guarded
from mcp_types import (
    INVALID_PARAMS,
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    AudioContent,
    BlobResourceContents,
    CallToolRequestParams,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    ListPromptsResult,
    ListToolsResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    TextContent,
    TextResourceContents,
    Tool,
)

_PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADU"
    "lEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
)
_SOUND = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA="
_NOTHING: dict[str, Any] = {"type": "object", "properties": {}}
_ADDRESS = {"type": "object", "properties": {"street": {"type": "string"}}, "$anchor": "address"}
_RICH: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {"address": {**_ADDRESS, "$anchor": "addressDef"}},
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}
_ROUTED: dict[str, Any] = {
    "type": "object",
    "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
}


def _embedded(uri: str, mime_type: str, text: str) -> EmbeddedResource:
    content = TextResourceContents(uri=uri, mime_type=mime_type, text=text)
    return EmbeddedResource(type="resource", resource=content)


def _text(text: str) -> TextContent:
    return TextContent(type="text", text=text)


_IMAGE = ImageContent(type="image", data=_PIXEL, mime_type="image/png")
_JSON = '{"test":"data","value":123}'
CALLED: dict[str, list[ContentBlock]] = {
    "test_simple_text": [_text("This is a simple text response for testing.")],
    "test_image_content": [_IMAGE],
    "test_audio_content": [AudioContent(type="audio", data=_SOUND, mime_type="audio/wav")],
    "test_embedded_resource": [
        _embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")
    ],
    "test_multiple_content_types": [
        _text("Multiple content types test:"),
        _IMAGE,
        _embedded("test://mixed-content-resource", "application/json", _JSON),
    ],
    "test_error_handling": [_text("This tool intentionally returns an error for testing")],
    "json_schema_2020_12_tool": [_text("accepted")],
    "test_custom_headers": [_text("accepted")],
    "test_missing_capability": [],
    "test_streaming_elicitation": [_text("nothing is requested from a client")],
    "test_logging_tool": [_text("nothing is logged to a client")],
}
_SCHEMAS = {"json_schema_2020_12_tool": _RICH, "test_custom_headers": _ROUTED}


def with_fixtures(server: Server[Any]) -> Server[Any]:
    """Add the fixtures to the handlers of a server."""
    list_own = server.get_request_handler("tools/list")
    call_own = server.get_request_handler("tools/call")
    read_own = server.get_request_handler("resources/read")
    assert list_own and call_own and read_own
    own, calls, reads = list_own.handler, call_own.handler, read_own.handler

    async def list_tools(ctx: Any, params: PaginatedRequestParams) -> ListToolsResult:
        listed = await own(ctx, params)
        assert isinstance(listed, ListToolsResult)
        fixtures = [
            Tool(name=name, description=name, input_schema=_SCHEMAS.get(name, _NOTHING))
            for name in CALLED
        ]
        return ListToolsResult(tools=[*listed.tools, *fixtures])

    async def call_tool(ctx: Any, params: CallToolRequestParams) -> Any:
        if params.name not in CALLED:
            return await calls(ctx, params)
        if params.name == "test_missing_capability":
            needed: dict[str, Any] = {"requiredCapabilities": {"sampling": {}}}
            text = "This tool needs a client that can sample."
            raise MCPError(code=MISSING_REQUIRED_CLIENT_CAPABILITY, message=text, data=needed)
        is_error = params.name == "test_error_handling"
        return CallToolResult(content=[*CALLED[params.name]], is_error=is_error)

    async def read_resource(ctx: Any, params: ReadResourceRequestParams) -> Any:
        uri = str(params.uri)
        if uri == "test://static-text":
            text = "This is the content of the static text resource."
            contents: Any = TextResourceContents(uri=uri, mime_type="text/plain", text=text)
        elif uri == "test://static-binary":
            contents = BlobResourceContents(uri=uri, mime_type="image/png", blob=_PIXEL)
        elif uri == "test://template/123/data":
            text = '{"id":"123","templateTest":true,"data":"Data for ID: 123"}'
            contents = TextResourceContents(uri=uri, mime_type="application/json", text=text)
        elif uri.startswith("test://"):
            raise MCPError(code=INVALID_PARAMS, message="no such resource", data={"uri": uri})
        else:
            return await reads(ctx, params)
        return ReadResourceResult(contents=[contents])

    async def list_prompts(ctx: Any, params: PaginatedRequestParams) -> ListPromptsResult:
        return ListPromptsResult(prompts=[], ttl_ms=60_000, cache_scope="public")

    server.add_request_handler("tools/list", PaginatedRequestParams, list_tools)
    server.add_request_handler("tools/call", CallToolRequestParams, call_tool)
    server.add_request_handler("resources/read", ReadResourceRequestParams, read_resource)
    server.add_request_handler("prompts/list", PaginatedRequestParams, list_prompts)
    server.get_tool_input_schema = _SCHEMAS.get
    return server


def main() -> None:
    """Serve at a free port, which is printed."""
    options = Options(marts=sys.argv[1], control=sys.argv[2])
    service = options.service()
    app = guarded(with_fixtures(create_server(service)), service, options)
    config = uvicorn.Config(app, port=0, log_level="critical", access_log=False)
    bound = config.bind_socket()
    print(bound.getsockname()[1], flush=True)
    uvicorn.Server(config).run(sockets=[bound])


if __name__ == "__main__":
    main()
