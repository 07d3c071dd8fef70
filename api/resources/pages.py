"""What needs no key and is not rendered: llms.txt, the site of a build."""

import html
import re
from collections.abc import Callable
from pathlib import PurePosixPath

import falcon

from api.endpoints.declarations import ENDPOINTS
from api.endpoints.endpoint import Endpoint
from api.resources.agents import MCP_PAGE, mcp_url_for
from api.resources.html import set_security_headers
from api.resources.site_files import SiteFiles
from warehouse.contract.agent_discovery import WELL_KNOWN_CARD
from warehouse.contract.problems import Problem
from warehouse.json_encoding import encode
from warehouse.methodology.pages import SLUGS
from warehouse.read.mart import Mart

_HTML = "text/html; charset=utf-8"
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
# Folders of a build's site; every other path is the API's.
_SITE_FOLDERS = ("static", "data/signals", "datasets", "signals", "revisions", "quality")
# No part begins with a dot: neither .. nor a hidden file.
_SAFE_PATH_PART = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")
# What the pages of a build leave open: see ``PageWriter`` of ``assets/pages/site.py``.
_URL_SPAN = re.compile(rb'(<span class="fill (api|mcp)">)([^<]*)(</span>)')
# In the navigation; a build does not know whether its files are served.
_LINK_TO_FILES = re.compile(rb'<li><a [^>]*href="[./]*exports/"[^>]*>[^<]*</a></li>\n?')
_SITE_TYPES = {
    ".html": _HTML,
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".txt": _PLAIN,
}


def site_routes(
    files: SiteFiles, mart: Mart, sandbox_key: Callable[[], str], mcp_url: str, has_files: bool
) -> dict[str, object]:
    """Return the routes of the site; ``has_files`` if the files of builds are served too."""

    def page(prefix: str) -> SitePageResource:
        return SitePageResource(files, mart, prefix, mcp_url, has_files)

    return {
        "/": page(""),
        "/config.json": SiteConfigResource(sandbox_key, mcp_url),
        **{f"/{name}": page(name) for name in _SITE_FOLDERS},
        **{f"/{name}/{{path:path}}": page(f"{name}/") for name in _SITE_FOLDERS},
    }


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


class SitePageResource:
    """The static site of the build that is served."""

    open = True

    def __init__(
        self, files: SiteFiles, mart: Mart, prefix: str, mcp_url: str, has_files: bool
    ) -> None:
        self._files, self._mart, self._prefix = files, mart, prefix
        self._mcp_url, self._has_files = mcp_url, has_files

    def on_get(self, req: falcon.Request, resp: falcon.Response, path: str = "") -> None:
        """Send the file; redirect a folder without its trailing slash."""
        site_path = f"{self._prefix}{path}"
        found = self._find(site_path)
        if found is None:
            raise self._redirect_or_not_found(site_path)
        resp.data, resp.content_type = found
        if resp.content_type == _HTML:
            resp.data = self._filled_in(req, resp.data)
        set_security_headers(resp)

    on_head = on_get

    def _filled_in(self, req: falcon.Request, page: bytes) -> bytes:
        """Return a page with the addresses under which this service and MCP are reached.

        Its script would fill them in too, but not for a reader without scripts.
        """
        mcp_url = mcp_url_for(req, self._mcp_url)
        urls = {b"api": req.context.base_url, b"mcp": mcp_url}

        def fill(span: re.Match[bytes]) -> bytes:
            url = urls[span[2]]
            return span[1] + html.escape(url).encode() + span[4] if url else span[0]

        if not self._has_files:
            page = _LINK_TO_FILES.sub(b"", page)
        return _URL_SPAN.sub(fill, page)

    def _find(self, site_path: str) -> tuple[bytes, str] | None:
        """Return the body and type of a path, the index for a folder; None if there is none."""
        *folders, name = site_path.split("/")
        parts = (*folders, name or "index.html")
        if not all(map(_SAFE_PATH_PART.fullmatch, parts)):
            return None
        # The pages of the build that the API reads now: both switch together.
        content_type = _SITE_TYPES.get(PurePosixPath(parts[-1]).suffix)
        if content_type is None:
            return None
        body = self._files.read(self._mart.build().data_version, *parts)
        return None if body is None else (body, content_type)

    def _redirect_or_not_found(self, site_path: str) -> Exception:
        # Redirects are relative: the site may be served below another path.
        if self._find(f"{site_path}/"):
            return falcon.HTTPFound(f"{site_path.rsplit('/', 1)[-1]}/")
        return Problem("not_found", f"The site has no page /{site_path[:100]}.")


class SiteConfigResource:
    """The configuration of the site's scripts; the API is on the same host."""

    open = True

    def __init__(self, sandbox_key: Callable[[], str], mcp_url: str) -> None:
        self._sandbox_key, self._mcp_url = sandbox_key, mcp_url

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Send the URLs and the sandbox key, which is empty while the key store is down."""
        mcp_url = mcp_url_for(req, self._mcp_url)
        resp.data = encode({"api": "", "mcp": mcp_url, "sandbox_key": self._sandbox_key()})
        resp.content_type = "application/json"

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
