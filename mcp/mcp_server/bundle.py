"""``python -m mcp_server.bundle FILE``: write the MCP bundle (.mcpb) that desktop clients install.

A zip with a manifest (MCPB 0.4) and ``stdio_bridge.py``. The same code gives the same bytes.
"""

import sys
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import msgspec

from mcp_server import stdio_bridge
from mcp_server.tools import TOOLS
from warehouse.contract.agent_discovery import DESCRIPTION, TITLE, registry_entry

_ENTRY_POINT = "server/main.py"
_LOCAL_URL = "http://127.0.0.1:8322/mcp"
# Zip has no time before 1980, and any other would change the bytes.
_NO_TIME = (1980, 1, 1, 0, 0, 0)


def manifest() -> dict[str, Any]:
    """Return the manifest: what the bundle runs and what it asks its user for."""
    return {
        "manifest_version": "0.4",
        "name": "sankofa",
        "display_name": TITLE,
        "version": registry_entry("")["version"],
        "description": DESCRIPTION,
        "author": {"name": TITLE},
        "license": "Apache-2.0",
        "server": {
            "type": "python",
            "entry_point": _ENTRY_POINT,
            "mcp_config": {
                "command": "python3",
                "args": [
                    f"${{__dirname}}/{_ENTRY_POINT}",
                    *("--url=${user_config.url}", "--home=${user_config.home}"),
                    "--command=${user_config.command}",
                ],
                "env": {"SANKOFA_API_KEY": "${user_config.api_key}"},
                "platform_overrides": {"win32": {"command": "python"}},
            },
        },
        "tools": [{"name": tool.name, "description": tool.title} for tool in TOOLS.values()],
        "compatibility": {
            "platforms": ["darwin", "linux", "win32"],
            "runtimes": {"python": ">=3.10"},
        },
        "user_config": {
            "api_key": _asked("API key", "The key that you use for REST.", True, sensitive=True),
            "url": _asked("Address", "Address of the MCP server.", False, default=_LOCAL_URL),
            "home": _asked(
                "Home", "Folder of an installation on this machine, instead of an address.", False
            )
            | {"type": "directory"},
            "command": _asked(
                "Command", "Path of the command sankofa; needed with a home only.", False
            ),
        },
    }


def write_bundle(path: Path) -> None:
    """Write the bundle."""
    files = {
        "manifest.json": msgspec.json.format(msgspec.json.encode(manifest()), indent=2),
        _ENTRY_POINT: Path(stdio_bridge.__file__).read_bytes(),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    with ZipFile(path, "w", ZIP_DEFLATED) as bundle:
        for name, body in files.items():
            bundle.writestr(ZipInfo(name, _NO_TIME), body, ZIP_DEFLATED)


def _asked(title: str, description: str, required: bool, **more: object) -> dict[str, object]:
    named = {"type": "string", "title": title, "description": description}
    return {**named, "required": required, **more}


if __name__ == "__main__":
    write_bundle(Path(sys.argv[1]))
    sys.stdout.write(f"{sys.argv[1]}\n")
