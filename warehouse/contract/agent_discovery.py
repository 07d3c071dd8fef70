"""How agents find the MCP server before they connect: server card, AI catalog, registry entry.

The card and the catalog follow SEP-2127, the registry entry the schema of the MCP registry.
"""

from importlib.metadata import version
from typing import Any

from warehouse.shared.data_files import csv_rows

# What the service does not hold, so that nobody searches for it: one list for docs and agents.

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
_SCHEMAS = "https://static.modelcontextprotocol.io/schemas"
_KEY_HEADER = {
    "name": "X-API-Key",
    "description": "Your API key, the same as for REST; /docs of the service shows a sandbox key.",
    "isRequired": True,
    "isSecret": True,
}


def server_card(server_url: str) -> dict[str, Any]:
    """Return the card of the MCP server at a URL, which is that of its host."""
    remote = {**_remote(server_url), "supportedProtocolVersions": list(PROTOCOL_VERSIONS)}
    return {"$schema": f"{_SCHEMAS}/v1/server-card.schema.json", **_identity(), "remotes": [remote]}


def ai_catalog(server_url: str) -> dict[str, Any]:
    """Return the catalog of a host: one entry, that of the MCP server."""
    entry = {
        "identifier": "urn:air:sankofa.example:sankofa",
        "displayName": TITLE,
        "type": CARD_TYPE,
        "url": f"{server_url}{CARD_PATH}",
    }
    return {"specVersion": "1.0", "entries": [entry]}


def registry_entry(server_url: str) -> dict[str, Any]:
    """Return the server.json with which the server is entered into the MCP registry."""
    return {
        "$schema": f"{_SCHEMAS}/2025-12-11/server.schema.json",
        **_identity(),
        "remotes": [_remote(server_url)],
    }


def _identity() -> dict[str, str]:
    own_version = version("sankofa")
    return {"name": NAME, "title": TITLE, "description": DESCRIPTION, "version": own_version}


def _remote(server_url: str) -> dict[str, Any]:
    url = f"{server_url}{MCP_PATH}"
    return {"type": "streamable-http", "url": url, "headers": [_KEY_HEADER]}
