"""The MCP server: handlers for tools and resources, independent of the transport."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import lru_cache, partial
from importlib.metadata import version
from importlib.resources import files
from typing import Any, TypeVar

import mcp_types as types
import msgspec
from anyio import CapacityLimiter, to_thread
from mcp.server import Server, ServerRequestContext
from mcp.server.caching import CacheHint
from mcp.server.context import CallNext, HandlerResult
from mcp.shared.exceptions import MCPError
from mcp_types.methods import serialize_server_result, validate_client_request
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from mcp_server.results import LEFT_OUT, Link
from mcp_server.service import Service, call_of, refused
from mcp_server.tools import TOOLS, Tool
from warehouse.contract.parameter_types import Parameter
from warehouse.contract.schemas import ROW_SCHEMAS, Schema
from warehouse.methodology.pages import REFS, methodology_page
from warehouse.serve.build import Build, Mart
from warehouse.serve.catalogue import export_body
from warehouse.serve.examples import examples
from warehouse.shared.errors import SankofaError


class Task(msgspec.Struct, frozen=True):
    """One prompt: its arguments with their meaning, and its text with their names in braces."""

    title: str
    about: str
    arguments: Mapping[str, str]
    text: str

    def filled(self, values: Mapping[str, str]) -> str:
        """Return the text with the arguments in their places."""
        text = self.text
        for name in self.arguments:
            text = text.replace(f"{{{name}}}", values[name])
        return f"{text} {_TEXTS.rules}"


class DatasetCard(msgspec.Struct, frozen=True):
    """One dataset: what it is, which rows it has, and what its users need to know."""

    title: str
    about: str
    records: tuple[str, ...]
    notes: tuple[str, ...]


class _Texts(msgspec.Struct, frozen=True):
    """The words of the server, as ``texts.toml`` has them."""

    instructions: str
    rules: str
    tasks: Mapping[str, Task]
    datasets: Mapping[str, DatasetCard]


_TEXTS = msgspec.toml.decode(files("mcp_server").joinpath("texts.toml").read_bytes(), type=_Texts)
TASKS, DATASETS = _TEXTS.tasks, _TEXTS.datasets
PROMPTS = [
    types.Prompt(
        name=name,
        title=task.title,
        description=task.about,
        arguments=[
            types.PromptArgument(name=argument, description=meaning, required=True)
            for argument, meaning in task.arguments.items()
        ],
    )
    for name, task in TASKS.items()
]


# Resources: methodology pages, dataset cards, the licence notice, the export manifest.


def dataset_card(sku: str) -> str | None:
    """Write the card of a dataset in Markdown; None if there is no such one."""
    dataset = DATASETS.get(sku)
    if dataset is None:
        return None
    notes = "\n".join(f"- {note}" for note in dataset.notes)
    tables = "\n\n".join(f"## {name}\n\n{_members(ROW_SCHEMAS[name])}" for name in dataset.records)
    return f"# {sku}: {dataset.title}\n\n{dataset.about}\n\n{notes}\n\n{tables}\n"


def _members(row: Schema) -> str:
    lines = [
        f"| {name} | {_type(schema)} | {schema.get('description', '')} |"
        for name, schema in row["properties"].items()
    ]
    return "\n".join(("| member | type | meaning |", "|---|---|---|", *lines))


def _type(schema: Schema) -> str:
    kind = schema.get("type", "value")
    return " or ".join(kind) if isinstance(kind, list) else str(kind)


_MARKDOWN, _JSON, _PLAIN = "text/markdown", "application/json", "text/plain"
_METHODOLOGY, _DATASET = "sankofa://methodology/", "sankofa://datasets/"
_LICENCE, _MANIFEST = "sankofa://licence", "sankofa://exports/manifest"

TEMPLATES = [
    types.ResourceTemplate(
        uri_template=_METHODOLOGY + "{set}/{slug}",
        name="methodology",
        title="Methodology of a derived value",
        description="How a metric or signal is worked out; methodology_ref of a row is {set}/"
        "{slug}.",
        mime_type=_MARKDOWN,
    ),
    types.ResourceTemplate(
        uri_template=_DATASET + "{sku}",
        name="dataset",
        title="Card of a dataset",
        description="What a dataset holds, member by member. sku: " + ", ".join(DATASETS) + ".",
        mime_type=_MARKDOWN,
    ),
]


def _resource(uri: str, name: str, title: str, mime_type: str) -> types.Resource:
    return types.Resource(uri=uri, name=name, title=title, mime_type=mime_type)


RESOURCES = [
    _resource(_LICENCE, "licence", "Licence notice of the data", _PLAIN),
    _resource(_MANIFEST, "export-manifest", "Every Parquet file of the build", _JSON),
    *(
        _resource(f"{_DATASET}{sku}", sku, f"{sku}: {dataset.title}", _MARKDOWN)
        for sku, dataset in DATASETS.items()
    ),
    *(
        _resource(f"{_METHODOLOGY}{ref}", ref, f"How {ref.partition('/')[2]} is made", _MARKDOWN)
        for ref in REFS
    ),
]


def read(mart: Mart, uri: str, exports_url: str) -> tuple[str, str] | None:
    """Return the text and media type of a resource; None if there is none at ``uri``."""
    if uri == _LICENCE:
        return mart.build().notice, _PLAIN
    if uri == _MANIFEST:
        return export_body(mart.build(), exports_url).decode(), _JSON
    if uri.startswith(_DATASET):
        text = dataset_card(uri.removeprefix(_DATASET).upper())
    else:
        name, _, slug = uri.removeprefix(_METHODOLOGY).partition("/")
        text = methodology_page(name, slug) if uri.startswith(_METHODOLOGY) else None
    return None if text is None else (text, _MARKDOWN)


# JSON Schemas of tool inputs and outputs, small enough to be read with every conversation.

# What a value must be like beyond its type is said when it is not: no model reads a pattern.
_NOT_LISTED = ("pattern", "minLength", "maxLength", "minimum", "maximum", "minItems")


def input_schema(parameters: Sequence[Parameter]) -> Schema:
    """Return the schema of a tool's arguments; others are refused."""
    required = [parameter.name for parameter in parameters if parameter.required]
    return {
        "type": "object",
        "properties": {parameter.name: _described(parameter) for parameter in parameters},
        **({"required": required} if required else {}),
        "additionalProperties": False,
    }


def _described(parameter: Parameter) -> Schema:
    schema = _listed(parameter.kind.schema)
    if "items" in schema:
        schema["items"] = _listed(schema["items"])
    # What ``from`` says is true of ``to`` as well.
    if parameter.description and parameter.name != "to":
        schema["description"] = parameter.description
    # What all tools take is explained once, with its default.
    if parameter.default not in (None, "false") and parameter.description:
        schema["default"] = parameter.kind.read(str(parameter.default))
    return schema


def _listed(schema: Mapping[str, Any]) -> Schema:
    if "anyOf" in schema:
        return {"type": "string"}
    return {name: each for name, each in schema.items() if name not in _NOT_LISTED}


# Types that are said of members of rows, and members that are not said: few questions need them.
_TYPED = ("integer", "number", "boolean", "array", "object")
_RARE = {
    *("available_at_evidence", "measuring_unit_date", "received_at", "accepted_at", "lei_status"),
    *("headquarters_country", "legal_form", "former_names", "trading_names", "country_iso3"),
    *("first_release", "last_release", "methodology_ref", "parties_withheld", "base_period"),
    # Of derived figures.
    *("comparable_by", "reason", "derivation", "fiscal_label"),
    # Of the source of a row, not of the row itself.
    *("document_url", "tradable_from"),
}


def output_schema(tool: Tool) -> Schema:
    """Return the schema of a tool's results: the rows of its list with the types of their members.

    Cards of the datasets say what the members mean. No member is required: what is unknown is
    absent, what all rows have is in ``shared``, and a refusal is a problem. Texts, and what verbose
    rows may have as null, are listed by name alone; what was sent is not listed again.
    """
    unlisted = {*LEFT_OUT, *_RARE, *(parameter.name for parameter in tool.parameters)}
    members = {
        name: {"type": schema["type"]} if schema.get("type") in _TYPED else {}
        for row in tool.listing.row
        for name, schema in ROW_SCHEMAS[row]["properties"].items()
        if name not in unlisted
    }
    rows = {"type": "array", "items": {"properties": members}}
    return {"type": "object", "properties": {tool.listing.member: rows}}


Context = ServerRequestContext[Any, Any]

_TOOL_LIST = [
    types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=input_schema(tool.parameters),
        output_schema=output_schema(tool),
        annotations=types.ToolAnnotations(
            # The other hints mean something only of tools that write.
            read_only_hint=True,
            # Anybody who submits a tender to a portal can write what these return.
            open_world_hint=tool.texts == "tenders",
        ),
    )
    for tool in TOOLS.values()
]
# What the examples in ``tools.csv`` name; the list that is sent names what the build has.
_EXAMPLES = {
    "DC7Q2M4XK9": ("entity", "service_id"),
    "2138002QX8KZTPLXS721": ("lookup", "id_value"),
    "FX.EUR.ZAR": ("macro", "series"),
}


def tools_of(build: Build) -> types.ListToolsResult:
    """Return the tools with examples that the build can answer."""
    of_build = examples(build)
    replacements = {
        stated: of_build[name][parameter]
        for stated, (name, parameter) in _EXAMPLES.items()
        if parameter in of_build[name]
    }
    tools = []
    for tool in _TOOL_LIST:
        description = tool.description or ""
        for stated, value in replacements.items():
            description = description.replace(stated, value)
        tools.append(tool.model_copy(update={"description": description}))
    return types.ListToolsResult(tools=tools)


_ONE_HOUR = CacheHint(ttl_ms=3_600_000, scope="public")
# A read of a local build takes less time than handing it to a thread. A read of a database waits
# for the network, and a search can take long: both run in threads, so that they do not block the
# event loop. More threads than this would only wait for each other.
_SEARCH_PARAMETERS = {"query", "buyer", "category"}
# Tools that read all parties of a country, or all that a build holds.
_LONG_TOOLS = {"get_awards", "get_resolved_parties", "describe_data"}
_MAX_THREADS = 8
# Results differ in their bodies; in all else there are a few for each version and exported file.
_MAX_FRAMES = 256
Listed = TypeVar("Listed")


def _always(result: Listed) -> Callable[[Context, object], Awaitable[Listed]]:
    """Return the handler of a list that is the same for everybody."""

    async def listed(ctx: Context, params: object) -> Listed:
        return result

    return listed


def create_server(service: Service) -> Server[Any]:
    """Create the server; the transport must have admitted the call of every request."""
    limiter, names = CapacityLimiter(_MAX_THREADS), list(TOOLS)

    @lru_cache(_MAX_FRAMES)
    def frame(version: str, is_error: bool, link: Link | None) -> dict[str, Any]:
        """Return a result as the SDK writes it for a version of the protocol, without its body."""
        links = () if link is None else (types.ResourceLink(**msgspec.structs.asdict(link)),)
        text = types.TextContent(type="text", text="")
        result = types.CallToolResult(
            content=[text, *links], structured_content={}, is_error=is_error
        )
        dumped = result.model_dump(by_alias=True, mode="json", exclude_none=True)
        return serialize_server_result("tools/call", version, dumped)

    async def run(ctx: Context, name: str, sent: dict[str, Any]) -> dict[str, Any]:
        tool = TOOLS.get(name)
        if tool is None:
            raise MCPError(
                code=types.INVALID_PARAMS,
                message=f"Unknown tool: {name[:64]!r}; there are {', '.join(TOOLS)}.",
            )
        call = call_of(ctx)
        if not call.is_tool:
            # Reached only if the SDK reads a message otherwise than ``guard`` did.
            message = "The request was not counted as a call of a tool; send one plain request."
            raise MCPError(code=types.INVALID_REQUEST, message=message)
        work = partial(service.run, tool, sent, call)
        is_short = tool.name not in _LONG_TOOLS and not _SEARCH_PARAMETERS & sent.keys()
        result = work() if is_short else await to_thread.run_sync(work, limiter=limiter)
        return call.exact.result(result, frame(ctx.protocol_version, result.is_error, result.link))

    async def call_tool(ctx: Context, params: types.CallToolRequestParams) -> HandlerResult:
        return await run(ctx, params.name, params.arguments or {})

    async def call_over_http(ctx: Context, call_next: CallNext) -> HandlerResult:
        """Answer a call of a tool whose result needs nothing more from the SDK."""
        params = ctx.params or {}
        if ctx.method != "tools/call" or params.get("name") not in names:
            return await call_next(ctx)
        validate_client_request(ctx.method, ctx.protocol_version, params)
        result = await run(ctx, params["name"], params.get("arguments") or {})
        is_modern = ctx.protocol_version in MODERN_PROTOCOL_VERSIONS
        return {**result, "_meta": {types.SERVER_INFO_META_KEY: stamp}} if is_modern else result

    async def list_tools(ctx: Context, params: object) -> types.ListToolsResult:
        try:
            build = service.mart.build()
        except SankofaError:
            return types.ListToolsResult(tools=_TOOL_LIST)
        return build.made_once("tools", lambda: tools_of(build))

    async def read_resource(
        ctx: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        uri, call = str(params.uri), call_of(ctx)
        try:
            resource = await to_thread.run_sync(
                lambda: read(service.mart_for(call), uri, service.exports_url(call)),
                limiter=limiter,
            )
        except SankofaError as error:
            raise refused(service, service.problem_of(error, call), call) from error
        if resource is None:
            message = f"There is no resource {uri[:200]!r}; see resources/list."
            raise MCPError(code=types.INVALID_PARAMS, message=message, data={"uri": uri[:200]})
        text, mime_type = resource
        content = types.TextResourceContents(uri=uri, text=text, mime_type=mime_type)
        return types.ReadResourceResult(contents=[content])

    async def get_prompt(
        ctx: Context, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult:
        task, values = TASKS.get(params.name), params.arguments or {}
        if task is None:
            message = f"Unknown prompt: {params.name[:64]!r}; there are {', '.join(TASKS)}."
            raise MCPError(code=types.INVALID_PARAMS, message=message)
        if missing := [name for name in task.arguments if not values.get(name)]:
            message = f"{params.name} needs {', '.join(missing)}."
            raise MCPError(code=types.INVALID_PARAMS, message=message)
        content = types.TextContent(type="text", text=task.filled(values))
        messages = [types.PromptMessage(role="user", content=content)]
        return types.GetPromptResult(description=task.about, messages=messages)

    server: Server[Any] = Server(
        "sankofa",
        version=version("sankofa"),
        title="Sankofa",
        description="What was knowable on any past day, for African and emerging markets.",
        instructions=_TEXTS.instructions,
        cache_hints={
            "server/discover": _ONE_HOUR,
            "tools/list": _ONE_HOUR,
            "prompts/list": _ONE_HOUR,
            "resources/list": _ONE_HOUR,
            "resources/templates/list": _ONE_HOUR,
            "resources/read": CacheHint(ttl_ms=60_000, scope="private"),
        },
        # No parameter is repeated in a header, so the SDK has none to compare.
        get_tool_input_schema=lambda name: None,
        on_list_tools=list_tools,
        on_list_prompts=_always(types.ListPromptsResult(prompts=PROMPTS)),
        on_get_prompt=get_prompt,
        on_list_resources=_always(types.ListResourcesResult(resources=RESOURCES)),
        on_list_resource_templates=_always(
            types.ListResourceTemplatesResult(resource_templates=TEMPLATES)
        ),
        on_read_resource=read_resource,
    )
    # The SDK's default middleware writes OpenTelemetry traces, which are not collected here.
    server.middleware[:] = [call_over_http]
    server.add_request_handler("tools/call", types.CallToolRequestParams, call_tool)
    stamp = server.server_info_stamp
    return server
