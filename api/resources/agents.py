"""What agents find: llms.txt, the server card of MCP, the catalog of the host."""

from collections.abc import Callable
from functools import lru_cache

import falcon

from api.endpoints.declarations import ENDPOINTS
from api.endpoints.endpoint import Endpoint
from warehouse.contract.agent_discovery import (
    CARD_TYPE,
    CATALOG_TYPE,
    WELL_KNOWN_CARD,
    WELL_KNOWN_CATALOG,
    ai_catalog,
    server_card,
)
from warehouse.methodology.pages import SLUGS
from warehouse.shared.json_encoding import encode
from warehouse.shared.urls import as_reached

MCP_PAGE = "/docs/mcp"
_PLAIN = "text/plain; charset=utf-8"
_LLMS_HEAD = """\
# Sankofa

> Point-in-time data for African and emerging markets: company fundamentals, public tenders, macro
> series. `as_of` returns what was knowable on that day; `X-Data-Version` pins what had been loaded.

- Send the key in `X-API-Key`; `/docs` shows a public sandbox key of the sample tier (25 rows).
- Missing values are null. Every row carries its source and licence. There is no personal data.
- An unknown parameter is 400. Errors are `application/problem+json`; `detail` says what to fix.
- Countries are ISO 3166-1 alpha-2 or alpha-3. Dates are YYYY-MM-DD.
- `/v1/catalogue` lists what is held, `/v1/search` finds ids by name.
- Lists have pages: send `next_cursor` back as `cursor`. A list without rows says why in `empty`.
"""


def agent_routes(mcp_url: str) -> dict[str, object]:
    """Return the routes for agents, those about MCP only if there is such a server."""
    if not mcp_url:
        return {"/llms.txt": LlmsTxtResource(mcp_url)}
    return {
        "/llms.txt": LlmsTxtResource(mcp_url),
        WELL_KNOWN_CARD: DiscoveryResource(server_card, CARD_TYPE, mcp_url),
        WELL_KNOWN_CATALOG: DiscoveryResource(ai_catalog, CATALOG_TYPE, mcp_url),
    }


def mcp_url_for(req: falcon.Request, mcp_url: str) -> str:
    """Return the URL of the MCP server for the client of a request; empty if there is none."""
    return _reached(mcp_url, req.env.get("HTTP_HOST"))


@lru_cache(256)
def _reached(mcp_url: str, host: str | None) -> str:
    # Asked for with every page.
    return as_reached(mcp_url, host).rstrip("/")


class DiscoveryResource:
    """A document that a client reads before it connects."""

    open = True

    def __init__(self, make: Callable[[str], object], media_type: str, mcp_url: str) -> None:
        self._make, self._media_type, self._mcp_url = make, media_type, mcp_url

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Send the document with the address under which the MCP server is reached."""
        resp.data = encode(self._make(mcp_url_for(req, self._mcp_url)))
        resp.content_type = self._media_type
        resp.set_header("Cache-Control", "public, max-age=3600")

    on_head = on_get


class LlmsTxtResource:
    """A summary of the API for language models (llmstxt.org)."""

    open = True

    def __init__(self, mcp_url: str) -> None:
        self._mcp_url = mcp_url

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Send the text with absolute URLs of the requested host."""
        resp.text = llms_text(req.context.base_url, mcp_url_for(req, self._mcp_url))
        resp.content_type = _PLAIN

    on_head = on_get


def llms_text(base_url: str, mcp_url: str = "") -> str:
    """Return llms.txt, written from the declarations, with absolute URLs."""
    mcp = (
        "## MCP\n",
        f"- [How to connect]({base_url}{MCP_PAGE}): the same data as tools, at {mcp_url}/mcp "
        "(streamable HTTP, header `X-API-Key`, no OAuth)",
        f"- [Server card]({base_url}{WELL_KNOWN_CARD})\n",
    )
    methodology = [
        f"- [{name}/{slug}]({base_url}/methodology/{name}/{slug})"
        for name, slugs in SLUGS.items()
        for slug in slugs
    ]
    parts = (
        _LLMS_HEAD,
        *(mcp if mcp_url else ()),
        "## Endpoints\n",
        *(_endpoint_line(base_url, endpoint) for endpoint in ENDPOINTS),
        "\n## Reference\n",
        f"- [OpenAPI 3.1]({base_url}/openapi.json): every parameter, status and schema",
        f"- [Interactive reference]({base_url}/docs)",
        f"- [Export manifest]({base_url}/exports/latest/manifest.json): Parquet files, signed",
        f"- [Signing key]({base_url}/exports/signing-key.pem)",
        "\n## Optional\n",
        *methodology,
    )
    return "\n".join(parts) + "\n"


def _endpoint_line(base_url: str, endpoint: Endpoint) -> str:
    names = ", ".join(parameter.name for parameter in endpoint.parameters)
    parameters = f" Parameters: {names}." if names else ""
    return f"- [GET {endpoint.path}]({base_url}{endpoint.path}): {endpoint.summary}.{parameters}"
