"""Texts about the data and the service: guides, methodology, problems, tiers, how to connect."""

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import falcon
import msgspec

from api.resources.agents import mcp_url_for
from api.site.render import Pages, check_names
from api.site.sample import Sample
from warehouse.contract.problems import PROBLEMS, Problem
from warehouse.methodology.metrics import FORMULA_BY_SLUG, METRIC_SET
from warehouse.methodology.pages import methodology_page
from warehouse.methodology.signals import PANEL_BY_KEY, SIGNAL_SET
from warehouse.serve.catalogue import page_data
from warehouse.shared.errors import SankofaError
from warehouse.shared.tiers import Tier

_MCP_TEXT = Path(__file__).parent / "templates" / "mcp.md"
# Next to the other packages, in a checkout as in a wheel.
_DOCS = Path(__file__).parents[2] / "docs"
_INDEX = "index"
_TITLE = re.compile(r"^# (.+)$", re.MULTILINE)
# For whoever edits a guide, and for the tests that run its code.
_COMMENT = re.compile(r"<!--.*?-->\n?", re.DOTALL)
_TO_GUIDE = re.compile(r"\]\(([a-z-]+)\.md(#[^)]*)?\)")
# Where the guides find the service that they describe.
_LOCAL_URL = "http://127.0.0.1:8321"
# Links to what only the repository has.
_TO_REPOSITORY = re.compile(r"!?\[([^\]]*)\]\((?![a-z]+:|/|#)[^)]*\)")
_GUIDES = msgspec.json.Decoder(dict[str, str])


class Guides:
    """The guides by name: those of ``docs``, and those that a build has about what it is made of.

    The first are read when the service starts; there are none where there are no docs.
    """

    def __init__(self, sample: Sample, folder: Path = _DOCS) -> None:
        self._sample = sample
        self._texts = {
            path.stem: _COMMENT.sub("", path.read_text("utf-8"))
            for path in sorted(folder.glob("*.md"))
        }

    def texts(self) -> Mapping[str, str]:
        """Return every guide as Markdown, by name."""
        try:
            build = self._sample.mart.build()
        except SankofaError:
            # Nothing is published yet, or it cannot be read.
            return self._texts

        def read() -> dict[str, str]:
            of_build = _GUIDES.decode(page_data(build, "guides") or b"{}")
            return dict(sorted({**of_build, **self._texts}.items()))

        return build.made_once("guides", read)

    def markdown(self, name: str, root: str, base_url: str) -> str | None:
        """Return a guide whose links and code lead to this service; None if there is none."""
        texts = self.texts()
        if name not in texts:
            return None

        def link(match: re.Match[str]) -> str:
            known = match[1] in texts
            return f"]({root}guides/{match[1]}{match[2] or ''})" if known else match[0]

        text = _TO_REPOSITORY.sub(r"\1", _TO_GUIDE.sub(link, texts[name]))
        return text.replace(_LOCAL_URL, base_url) if base_url else text


class GuidePage:
    """One guide, or the one that lists them."""

    open = True

    def __init__(self, guides: Guides, pages: Pages) -> None:
        self._guides, self._pages = guides, pages

    def on_get(self, req: falcon.Request, resp: falcon.Response, name: str = _INDEX) -> None:
        """Send the page: HTML to a browser, else Markdown; without a name that which lists all."""
        text = self._guides.markdown(name, self._pages.root(req), req.context.base_url)
        if text is None:
            raise Problem("not_found", f"There is no guide {name[:64]!r}; see /guides.")
        self._pages.send_markdown(req, resp, text, (_TITLE.search(text) or [name, name])[1])

    on_head = on_get


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


class PricingPage:
    """The tiers, and how to get a key; ``upgrade_url`` is where else keys are to be had."""

    open = True

    def __init__(self, pages: Pages, tiers: Iterable[Tier], upgrade_url: str | None) -> None:
        self._pages, self._tiers, self._upgrade_url = pages, tuple(tiers), upgrade_url

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Send the page."""
        check_names(req)
        self._pages.send(
            req, resp, "pricing.html", tiers=self._tiers, upgrade_url=self._upgrade_url
        )

    on_head = on_get


class UsagePage:
    """What ``/v1/usage`` says of a key that the visitor enters; the key stays in the browser."""

    open = True

    def __init__(self, pages: Pages, sandbox_key: Callable[[], str]) -> None:
        self._pages, self._sandbox_key = pages, sandbox_key

    def varies(self, req: falcon.Request) -> str:
        """Return what the page depends on beside its address."""
        return self._sandbox_key()

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Send the page with the sandbox key, if there is one, filled in."""
        check_names(req)
        self._pages.send(req, resp, "usage.html", sandbox_key=self._sandbox_key())

    on_head = on_get
