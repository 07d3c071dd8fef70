"""``python -m clients.mcp.bundle FOLDER``: write what MCP clients and the MCP registry install.

- ``sankofa.mcpb``, the bundle for desktop clients: a zip with a manifest (MCPB 0.4), the bridge, an
  icon and a text on privacy. The same code gives the same bytes.
- ``server.json``, the entry for the registry, with the SHA-256 of the bundle.
"""

import hashlib
import sys
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import msgspec
from mcp_server import stdio_bridge
from mcp_server.tools import TOOLS

from warehouse.contract.agent_discovery import server_card

BUNDLE, ENTRY = "sankofa.mcpb", "server.json"
# The address that files of the repository have in place of the real one.
EXAMPLE_REPOSITORY = "https://github.com/example/sankofa"
_HERE = Path(__file__).parent
_ENTRY_POINT = "server/main.py"
# Zip has no time before 1980, and any other would change the bytes.
_NO_TIME = (1980, 1, 1, 0, 0, 0)
_SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
# Where the entry says that the server is: whoever runs one puts its address there.
_EXAMPLE_SERVER = "https://mcp.sankofa.example"


def manifest() -> dict[str, Any]:
    """Return the manifest: what the bundle runs and what its user fills in."""
    card = server_card("")
    return {
        **_stated("bundle.toml"),
        "version": card["version"],
        "description": card["description"],
        "tools": [{"name": tool.name, "description": tool.title} for tool in TOOLS.values()],
    }


def registry_entry(bundle_sha256: str | None = None) -> dict[str, Any]:
    """Return the server.json with which the server is entered into the MCP registry."""
    card, stated = server_card(_EXAMPLE_SERVER), _stated("registry.toml")
    identity = {name: card[name] for name in ("name", "title", "description", "version")}
    for package in stated["packages"]:
        package["version"] = card["version"]
        if package["registryType"] == "mcpb":
            package["identifier"] = package["identifier"].format(version=card["version"])
            if bundle_sha256 is not None:
                package["fileSha256"] = bundle_sha256
    remotes = [
        {name: remote[name] for name in ("type", "url", "headers")} for remote in card["remotes"]
    ]
    return {"$schema": _SCHEMA, **identity, **stated, "remotes": remotes}


def write_bundle(path: Path, repository: str = EXAMPLE_REPOSITORY) -> None:
    """Write the bundle."""
    members = {
        "manifest.json": _json(manifest(), repository),
        _ENTRY_POINT: Path(stdio_bridge.__file__).read_bytes(),
        "icon.png": (_HERE / "icon.png").read_bytes(),
        "README.md": (_HERE / "README.md").read_bytes(),
    }
    with ZipFile(path, "w", ZIP_DEFLATED) as bundle:
        for name, body in members.items():
            bundle.writestr(ZipInfo(name, _NO_TIME), body, ZIP_DEFLATED)


def main(folder: Path, repository: str = EXAMPLE_REPOSITORY) -> None:
    """Write both files into a folder, with the address of the repository."""
    folder.mkdir(parents=True, exist_ok=True)
    write_bundle(folder / BUNDLE, repository)
    sha256 = hashlib.sha256((folder / BUNDLE).read_bytes()).hexdigest()
    (folder / ENTRY).write_bytes(_json(registry_entry(sha256), repository))
    sys.stdout.write(f"{folder / BUNDLE}\n{folder / ENTRY}\n")


def _stated(name: str) -> dict[str, Any]:
    return msgspec.toml.decode((_HERE / name).read_bytes(), type=dict[str, Any])


def _json(value: object, repository: str) -> bytes:
    text = msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"
    return text.replace(EXAMPLE_REPOSITORY.encode(), repository.encode())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
