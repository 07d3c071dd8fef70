"""The MCP server: the tools over a mart, and stdio for local agents."""

import argparse
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from mcp.server import MCPServer

from mcp_server.tools import tools_over
from warehouse.read.mart import Mart

_INSTRUCTIONS = (
    "Point-in-time data for African and emerging markets: what was knowable on a given day. "
    "Pass as_of for any question about the past. Each row names its source_ref and "
    "license_class: quote them. Null means not known, never zero; add no estimate of your own."
)


def create_server(mart: Mart) -> MCPServer[Any]:
    """Make the server over a mart; the transport is chosen by who runs it."""
    return MCPServer(
        "sankofa",
        instructions=_INSTRUCTIONS,
        version=version("sankofa"),
        tools=tools_over(mart),
        log_level="WARNING",
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve the published builds over stdio."""
    parser = argparse.ArgumentParser(prog="mcp_server", description=main.__doc__)
    parser.add_argument("--mart", required=True, help="folder or database of the published builds")
    asked = parser.parse_args(arguments)
    create_server(Mart(asked.mart)).run("stdio")


if __name__ == "__main__":
    main()
