"""Texts about the data and the service: methodology, problems, how to connect an agent."""

from collections.abc import Callable
from pathlib import Path

import falcon

from api.resources.agents import mcp_url_for
from api.site.render import Pages
from warehouse.contract.problems import PROBLEMS, Problem
from warehouse.methodology.metrics import FORMULA_BY_SLUG, METRIC_SET
from warehouse.methodology.pages import methodology_page
from warehouse.methodology.signals import PANEL_BY_KEY, SIGNAL_SET

_MCP_TEXT = Path(__file__).parents[1] / "static" / "mcp.md"


class MethodologyIndexPage:
    """The list of methodology pages, by ``methodology_ref``."""

    open = True

    def __init__(self, pages: Pages) -> None:
        self._pages = pages

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Send the list with titles, metrics and panels apart."""
        below = f"{self._pages.root(req)}methodology"
        metrics = "\n".join(
            f"- [{formula.title}]({below}/{METRIC_SET}/{slug}): {formula.expression}"
            for slug, formula in FORMULA_BY_SLUG.items()
        )
        panels = "\n".join(
            f"- [{panel.title}]({below}/{SIGNAL_SET}/{key})" for key, panel in PANEL_BY_KEY.items()
        )
        text = (
            "# Methodology\n\nHow every derived value is computed.\n\n"
            f"## Metrics of issuers\n\n{metrics}\n\n## Procurement signals\n\n{panels}\n"
        )
        self._pages.send_markdown(req, resp, text, "Methodology")

    on_head = on_get


class MethodologyPage:
    """How one derived value is computed."""

    open = True

    def __init__(self, pages: Pages) -> None:
        self._pages = pages

    def on_get(self, req: falcon.Request, resp: falcon.Response, set_name: str, slug: str) -> None:
        """Send the page: HTML to a browser, else Markdown."""
        page = methodology_page(set_name, slug)
        if page is None:
            name = f"{set_name[:64]}/{slug[:64]}"
            raise Problem("not_found", f"No methodology page {name}; see /methodology.")
        self._pages.send_markdown(req, resp, page, page.partition("\n")[0].lstrip("# "))

    on_head = on_get


class ProblemPage:
    """The page behind the ``type`` of a problem: what the code means and what to do."""

    open = True

    def __init__(self, pages: Pages) -> None:
        self._pages = pages

    def on_get(self, req: falcon.Request, resp: falcon.Response, code: str) -> None:
        """Send a page to a browser, else a few lines of text."""
        kind = PROBLEMS.get(code)
        if kind is None:
            raise falcon.HTTPNotFound
        if "text/html" in req.accept:
            text = (
                f"# {kind.title}\n\nCode `{code}`, status {kind.status}.\n\n{kind.advice}\n\n"
                f"[The API reference]({self._pages.root(req)}docs) lists the errors of each "
                "endpoint.\n"
            )
            self._pages.send_markdown(req, resp, text, kind.title)
            return
        resp.append_header("Vary", "Accept")
        resp.content_type = "text/plain; charset=utf-8"
        resp.text = f"{code}\n{kind.status} {kind.title}.\n{kind.advice}\n"

    on_head = on_get


class McpPage:
    """How to connect each client, with the address and the sandbox key filled in."""

    open = True

    def __init__(self, pages: Pages, sandbox_key: Callable[[], str], mcp_url: str) -> None:
        self._text = _MCP_TEXT.read_text("utf-8")
        self._pages, self._sandbox_key, self._mcp_url = pages, sandbox_key, mcp_url

    def varies(self, req: falcon.Request) -> tuple[str, str]:
        """Return what the page depends on beside its address."""
        return self._sandbox_key(), mcp_url_for(req, self._mcp_url)

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Send the page: HTML to a browser, else Markdown."""
        sandbox, mcp_url = self.varies(req)
        filled = {
            "{mcp_url}": mcp_url,
            "{key_is}": "the public sandbox key" if sandbox else "to be replaced by yours",
            "{key}": sandbox or "YOUR_KEY",
        }
        text = self._text
        for placeholder, value in filled.items():
            text = text.replace(placeholder, value)
        self._pages.send_markdown(req, resp, text, "Connect an agent over MCP")

    on_head = on_get
