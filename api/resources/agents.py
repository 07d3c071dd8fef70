"""What agents find: how to connect over MCP, the server card, the catalog of the host."""

from collections.abc import Callable
from pathlib import Path

import falcon

from api.resources.html import send_markdown
from warehouse.contract.agent_discovery import (
    CARD_TYPE,
    CATALOG_TYPE,
    WELL_KNOWN_CARD,
    WELL_KNOWN_CATALOG,
    ai_catalog,
    server_card,
)
from warehouse.json_encoding import encode
from warehouse.reached_urls import as_reached

MCP_PAGE = "/docs/mcp"
_STATIC = Path(__file__).parents[1] / "static"


def agent_routes(
    sandbox_key: Callable[[], str], mcp_url: str, navigation: str
) -> dict[str, object]:
    """Return the routes for agents; none if there is no MCP server."""
    if not mcp_url:
        return {}
    return {
        MCP_PAGE: McpPageResource(sandbox_key, mcp_url, navigation),
        WELL_KNOWN_CARD: DiscoveryResource(server_card, CARD_TYPE, mcp_url),
        WELL_KNOWN_CATALOG: DiscoveryResource(ai_catalog, CATALOG_TYPE, mcp_url),
    }


def mcp_url_for(req: falcon.Request, mcp_url: str) -> str:
    """Return the URL of the MCP server for the client of a request; empty if there is none."""
    return as_reached(mcp_url, req.env.get("HTTP_HOST")).rstrip("/")


class McpPageResource:
    """How to connect each client, with the address and the sandbox key filled in."""

    open = True

    def __init__(self, sandbox_key: Callable[[], str], mcp_url: str, navigation: str) -> None:
        self._text = (_STATIC / "mcp.md").read_text("utf-8")
        self._sandbox_key, self._mcp_url, self._navigation = sandbox_key, mcp_url, navigation

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Send the page: HTML to a browser, else Markdown."""
        sandbox = self._sandbox_key()
        filled = {
            "{mcp_url}": mcp_url_for(req, self._mcp_url),
            "{key_is}": "the public sandbox key" if sandbox else "to be replaced by yours",
            "{key}": sandbox or "YOUR_KEY",
        }
        text = self._text
        for placeholder, value in filled.items():
            text = text.replace(placeholder, value)
        send_markdown(req, resp, text, "MCP", self._navigation)

    on_head = on_get


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
