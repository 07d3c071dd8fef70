"""``python -m mcp_server.bundle FILE``: write the MCP bundle (.mcpb) that desktop clients install.

A zip with a manifest (MCPB 0.4) and ``stdio_bridge.py``. The same code gives the same bytes.
"""

import sys
from importlib.resources import files
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import msgspec

from mcp_server import stdio_bridge
from mcp_server.tools import TOOLS
from warehouse.contract.agent_discovery import DESCRIPTION, registry_entry

_ENTRY_POINT = "server/main.py"
# Zip has no time before 1980, and any other would change the bytes.
_NO_TIME = (1980, 1, 1, 0, 0, 0)


def manifest() -> dict[str, Any]:
    """Return the manifest: what the bundle runs and what it asks its user for."""
    stated = files("mcp_server").joinpath("bundle.toml").read_bytes()
    return {
        **msgspec.toml.decode(stated, type=dict[str, Any]),
        "version": registry_entry("")["version"],
        "description": DESCRIPTION,
        "tools": [{"name": tool.name, "description": tool.title} for tool in TOOLS.values()],
    }


def write_bundle(path: Path) -> None:
    """Write the bundle."""
    members = {
        "manifest.json": msgspec.json.format(msgspec.json.encode(manifest()), indent=2),
        _ENTRY_POINT: Path(stdio_bridge.__file__).read_bytes(),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    with ZipFile(path, "w", ZIP_DEFLATED) as bundle:
        for name, body in members.items():
            bundle.writestr(ZipInfo(name, _NO_TIME), body, ZIP_DEFLATED)


if __name__ == "__main__":
    write_bundle(Path(sys.argv[1]))
    sys.stdout.write(f"{sys.argv[1]}\n")
