"""How agents find the MCP server before they connect: server card and AI catalog (SEP-2127)."""

from importlib.metadata import version
from typing import Any

from warehouse.shared.data_files import csv_rows

# What the service does not have, so that no one searches for it: one list for docs and agents.

NOT_HELD: tuple[tuple[str, str], ...] = tuple(
    (row["not_held"], row["why"]) for row in csv_rows(__name__, "not_held")
)

NAME = "example.sankofa/sankofa"
TITLE = "Sankofa"
# The schemas allow 100 characters.
DESCRIPTION = "What was knowable on any past day in African markets: figures, tenders, macro."
PROTOCOL_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28")
MCP_PATH = "/mcp"
# The place that is reserved for a card, and the one where many clients look.
CARD_PATH = f"{MCP_PATH}/server-card"
WELL_KNOWN_CARD = "/.well-known/mcp/server-card.json"
WELL_KNOWN_CATALOG = "/.well-known/ai-catalog.json"
CARD_TYPE, CATALOG_TYPE = "application/mcp-server-card+json", "application/ai-catalog+json"
_KEY_HEADER = {
    "name": "X-API-Key",
    "description": "Your API key, the same as for REST; /docs of the service shows a sandbox key.",
    "isRequired": True,
    "isSecret": True,
}


def server_card(server_url: str) -> dict[str, Any]:
    """Return the card of the MCP server at a URL, which is that of its host."""
    remote = {
        "type": "streamable-http",
        "url": f"{server_url}{MCP_PATH}",
        "headers": [_KEY_HEADER],
        "supportedProtocolVersions": list(PROTOCOL_VERSIONS),
    }
    return {
        "$schema": "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json",
        "name": NAME,
        "title": TITLE,
        "description": DESCRIPTION,
        "version": version("sankofa"),
        "remotes": [remote],
    }


def ai_catalog(server_url: str) -> dict[str, Any]:
    """Return the catalog of a host: one entry, that of the MCP server."""
    entry = {
        "identifier": "urn:air:sankofa.example:sankofa",
        "displayName": TITLE,
        "type": CARD_TYPE,
        "url": f"{server_url}{CARD_PATH}",
    }
    return {"specVersion": "1.0", "entries": [entry]}
