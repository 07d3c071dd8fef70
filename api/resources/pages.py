"""Pages for people and for models, without a key: reference, methodology, llms.txt."""

import html
from collections.abc import Callable
from pathlib import Path

import falcon

from api.resources import llms
from api.resources.html import guard, navigation
from api.resources.markdown import to_html
from warehouse.contract.problems import Problem
from warehouse.methodology.pages import REFS, SLUGS, methodology_page

_STATIC = Path(__file__).parents[1] / "static"
_HTML, _MARKDOWN = "text/html; charset=utf-8", "text/markdown; charset=utf-8"


def routes(sandbox: Callable[[], str], site: bool = False) -> dict[str, object]:
    """Give the addresses; ``sandbox`` names the public key, ``site`` tells of pages of builds."""
    above = navigation(site)
    return {
        "/docs": Docs(sandbox, above),
        "/docs/docs.js": Static("docs.js", "text/javascript; charset=utf-8"),
        "/docs/docs.css": Static("docs.css", "text/css; charset=utf-8"),
        "/docs/icon.svg": Static("icon.svg", "image/svg+xml"),
        "/methodology": MethodologyIndex(above),
        "/methodology/{set_name}/{slug}": Methodology(above),
        "/llms.txt": LlmsTxt(),
    }


class Docs:
    """The interactive reference; nothing it loads comes from another host."""

    open = True

    def __init__(self, sandbox: Callable[[], str], above: str) -> None:
        self._page = (_STATIC / "docs.html").read_text("utf-8").replace("{navigation}", above)
        self._sandbox = sandbox

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Answer with the page, the sandbox key filled in where there is one."""
        _show(resp, self._page.replace("{sandbox_key}", html.escape(self._sandbox())))

    on_head = on_get


class Static:
    """One file that a page loads."""

    open = True

    def __init__(self, name: str, content_type: str) -> None:
        self._body = (_STATIC / name).read_bytes()
        self._content_type = content_type

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Answer with the file."""
        resp.data, resp.content_type = self._body, self._content_type
        resp.set_header("X-Content-Type-Options", "nosniff")

    on_head = on_get


class MethodologyIndex:
    """Every page of methodology by its ``methodology_ref``."""

    open = True

    def __init__(self, above: str) -> None:
        self._above = above

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Answer with the list."""
        lines = "\n".join(f"- [{ref}](/methodology/{ref})" for ref in REFS)
        _negotiate(req, resp, f"# Methodology\n\n{lines}\n", "Methodology", self._above)

    on_head = on_get


class Methodology:
    """How one derived value is worked out."""

    open = True

    def __init__(self, above: str) -> None:
        self._above = above

    def on_get(self, req: falcon.Request, resp: falcon.Response, set_name: str, slug: str) -> None:
        """Answer with the page: HTML for a browser, else Markdown."""
        page = methodology_page(set_name, slug)
        if page is None:
            raise Problem("not_found", f"No page explains {set_name[:64]}/{slug[:64]}.")
        _negotiate(req, resp, page, f"{set_name}/{slug}", self._above)

    on_head = on_get


class LlmsTxt:
    """What a language model should know first (llmstxt.org)."""

    open = True

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Answer with addresses of the host that was asked."""
        resp.text = llms.text(req.context.base_url, SLUGS)
        resp.content_type = "text/plain; charset=utf-8"

    on_head = on_get


def _negotiate(
    req: falcon.Request, resp: falcon.Response, markdown: str, title: str, above: str
) -> None:
    resp.append_header("Vary", "Accept")
    if "text/html" in req.accept:
        _show(resp, to_html(markdown, title, above))
    else:
        resp.text, resp.content_type = markdown, _MARKDOWN


def _show(resp: falcon.Response, page: str) -> None:
    resp.text, resp.content_type = page, _HTML
    guard(resp)
