"""What agents find: the server card of MCP, the catalog of the host."""

from collections.abc import Callable

import falcon

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


def agent_routes(mcp_url: str) -> dict[str, object]:
    """Return the routes for agents; none if there is no MCP server."""
    if not mcp_url:
        return {}
    return {
        WELL_KNOWN_CARD: DiscoveryResource(server_card, CARD_TYPE, mcp_url),
        WELL_KNOWN_CATALOG: DiscoveryResource(ai_catalog, CATALOG_TYPE, mcp_url),
    }


def mcp_url_for(req: falcon.Request, mcp_url: str) -> str:
    """Return the URL of the MCP server for the client of a request; empty if there is none."""
    return as_reached(mcp_url, req.env.get("HTTP_HOST")).rstrip("/")


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
