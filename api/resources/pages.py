"""Pages that need no key: reference, methodology, problems, llms.txt, the site of a build."""

import html
import re
from collections.abc import Callable
from pathlib import Path, PurePosixPath

import falcon

from api.endpoints.declarations import ENDPOINTS
from api.endpoints.endpoint import Endpoint
from api.resources.agents import MCP_PAGE, agent_routes, mcp_url_for
from api.resources.html import navigation_html, send_markdown, send_page, set_security_headers
from api.resources.site_files import SiteFiles
from warehouse.contract.agent_discovery import WELL_KNOWN_CARD
from warehouse.contract.problems import PROBLEMS, Problem
from warehouse.json_encoding import encode
from warehouse.methodology.pages import REFS, SLUGS, methodology_page
from warehouse.read.mart import Mart

_STATIC = Path(__file__).parents[1] / "static"
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
_SITE_FOLDERS = ("static", "data", "datasets", "issuers", "screen", "signals", "quality")
# No part begins with a dot: neither .. nor a hidden file.
_SAFE_PATH_PART = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")
_ISSUER_PATH = re.compile(r"issuers/([A-Za-z0-9]+)")
# What the pages of a build leave open: see ``PageWriter`` of ``assets/pages/site.py``.
_URL_SPAN = re.compile(rb'(<span class="fill (api|mcp)">)([^<]*)(</span>)')
_SITE_TYPES = {
    ".html": _HTML,
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".txt": _PLAIN,
}


def page_routes(
    sandbox_key: Callable[[], str], site: bool = False, mcp_url: str = ""
) -> dict[str, object]:
    """Return the routes of the API's own pages; ``site`` links to the pages of the build."""
    navigation = navigation_html(site)
    return {
        "/docs": ReferencePageResource(sandbox_key, navigation, mcp_url),
        "/docs/docs.js": StaticFileResource("docs.js", "text/javascript; charset=utf-8"),
        "/docs/docs.css": StaticFileResource("docs.css", "text/css; charset=utf-8"),
        "/docs/icon.svg": StaticFileResource("icon.svg", "image/svg+xml"),
        "/methodology": MethodologyIndexResource(navigation),
        "/methodology/{set_name}/{slug}": MethodologyResource(navigation),
        "/problems/{code}": ProblemPageResource(),
        "/llms.txt": LlmsTxtResource(mcp_url),
        **agent_routes(sandbox_key, mcp_url, navigation),
    }


def site_routes(
    files: SiteFiles, mart: Mart, sandbox_key: Callable[[], str], mcp_url: str
) -> dict[str, object]:
    """Return the routes of the site."""
    return {
        "/": SitePageResource(files, mart, "", mcp_url),
        "/config.json": SiteConfigResource(sandbox_key, mcp_url),
        **{f"/{name}": SitePageResource(files, mart, name, mcp_url) for name in _SITE_FOLDERS},
        **{
            f"/{name}/{{path:path}}": SitePageResource(files, mart, f"{name}/", mcp_url)
            for name in _SITE_FOLDERS
        },
    }


class ReferencePageResource:
    """The interactive reference; it loads nothing from other hosts."""

    open = True

    def __init__(self, sandbox_key: Callable[[], str], navigation: str, mcp_url: str) -> None:
        template = (_STATIC / "docs.html").read_text("utf-8")
        mcp = f' · <a href="{MCP_PAGE}">Connect an agent (MCP)</a>' if mcp_url else ""
        self._page = template.replace("{navigation}", navigation).replace("{mcp}", mcp)
        self._sandbox_key = sandbox_key

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Send the page with the sandbox key, if there is one, filled in."""
        send_page(resp, self._page.replace("{sandbox_key}", html.escape(self._sandbox_key())))

    on_head = on_get


class StaticFileResource:
    """One file that a page loads."""

    open = True

    def __init__(self, name: str, content_type: str) -> None:
        self._body = (_STATIC / name).read_bytes()
        self._content_type = content_type

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Send the file."""
        resp.data, resp.content_type = self._body, self._content_type
        resp.set_header("X-Content-Type-Options", "nosniff")

    on_head = on_get


class MethodologyIndexResource:
    """The list of methodology pages, by ``methodology_ref``."""

    open = True

    def __init__(self, navigation: str) -> None:
        self._navigation = navigation

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Send the list."""
        lines = "\n".join(f"- [{ref}](/methodology/{ref})" for ref in REFS)
        send_markdown(req, resp, f"# Methodology\n\n{lines}\n", "Methodology", self._navigation)

    on_head = on_get


class MethodologyResource:
    """How one derived value is computed."""

    open = True

    def __init__(self, navigation: str) -> None:
        self._navigation = navigation

    def on_get(self, req: falcon.Request, resp: falcon.Response, set_name: str, slug: str) -> None:
        """Send the page: HTML to a browser, else Markdown."""
        page = methodology_page(set_name, slug)
        if page is None:
            name = f"{set_name[:64]}/{slug[:64]}"
            raise Problem("not_found", f"No methodology page {name}; see /methodology.")
        send_markdown(req, resp, page, f"{set_name}/{slug}", self._navigation)

    on_head = on_get


class ProblemPageResource:
    """The page behind the ``type`` of a problem: what the code means and what to do."""

    open = True

    def on_get(self, req: falcon.Request, resp: falcon.Response, code: str) -> None:
        """Send a few lines of text."""
        problem_type = PROBLEMS.get(code)
        if problem_type is None:
            raise falcon.HTTPNotFound
        resp.content_type = _PLAIN
        resp.text = f"{code}\n{problem_type.status} {problem_type.title}.\n{problem_type.advice}\n"

    on_head = on_get


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

    def __init__(self, files: SiteFiles, mart: Mart, prefix: str, mcp_url: str) -> None:
        self._files, self._mart, self._prefix, self._mcp_url = files, mart, prefix, mcp_url

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
        if issuer := _ISSUER_PATH.fullmatch(site_path):
            return falcon.HTTPFound(f"view/?id={issuer[1]}")
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
