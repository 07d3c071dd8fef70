"""The pages of the current build, as files; what was published with it is what is shown."""

import re
from collections.abc import Callable
from pathlib import Path

import falcon

from api.resources.html import guard
from warehouse.contract.problems import Problem
from warehouse.json_encoding import encode
from warehouse.read.mart import Mart

_FOLDERS = ("static", "data", "datasets", "issuers", "screen", "signals", "quality")
_PART = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")
_ISSUER = re.compile(r"issuers/([A-Za-z0-9]+)")
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}


def routes(folder: Path, mart: Mart, sandbox: Callable[[], str], mcp_url: str) -> dict[str, object]:
    """Give the addresses of the pages; each build has a folder of its name below ``folder``."""
    return {
        "/": Pages(folder, mart, ""),
        "/config.json": Config(sandbox, mcp_url),
        **{f"/{name}": Pages(folder, mart, name) for name in _FOLDERS},
        **{f"/{name}/{{path:path}}": Pages(folder, mart, f"{name}/") for name in _FOLDERS},
    }


class Pages:
    """Answers with the file of an address, of the build that is read now."""

    open = True

    def __init__(self, folder: Path, mart: Mart, below: str) -> None:
        self._folder, self._mart, self._below = folder, mart, below

    def on_get(self, req: falcon.Request, resp: falcon.Response, path: str = "") -> None:
        """Answer with the file; an address without its last slash leads to the page."""
        address = f"{self._below}{path}"
        file = self._find(address)
        if file is None:
            raise self._elsewhere(address)
        resp.data, resp.content_type = file.read_bytes(), _TYPES[file.suffix]
        guard(resp)

    on_head = on_get

    def _find(self, address: str) -> Path | None:
        """Find a file of the build; that of a folder is its index."""
        *folders, name = address.split("/")
        parts = (*folders, name or "index.html")
        if not all(map(_PART.fullmatch, parts)):
            return None
        place = self._folder.joinpath(self._mart.build().data_version, *parts)
        return place if place.suffix in _TYPES and place.is_file() else None

    def _elsewhere(self, address: str) -> Exception:
        """Send to the page that is meant, relative to what was asked; or say there is none."""
        if self._find(f"{address}/"):
            return falcon.HTTPFound(f"{address.rsplit('/', 1)[-1]}/")
        if issuer := _ISSUER.fullmatch(address):
            return falcon.HTTPFound(f"view/?id={issuer[1]}")
        return Problem("not_found", f"The pages of this build have no /{address[:100]}.")


class Config:
    """What the scripts of the pages must know: here the API is where the pages are."""

    open = True

    def __init__(self, sandbox: Callable[[], str], mcp_url: str) -> None:
        self._sandbox, self._mcp_url = sandbox, mcp_url

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Answer with the public key; without a key store the pages do without."""
        resp.data = encode({"api": "", "mcp": self._mcp_url, "sandbox_key": self._sandbox()})
        resp.content_type = "application/json"

    on_head = on_get
