"""Texts about the data and the service: guides, methodology, problems, tiers, how to connect."""

import re
from base64 import b64encode
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from urllib.parse import quote

import falcon
import msgspec

from api.endpoints.declarations import ENDPOINTS
from api.endpoints.endpoint import mcp_url_for
from api.site import render
from api.site.sample import Sample
from warehouse.contract.agent_discovery import WELL_KNOWN_CARD
from warehouse.contract.problems import PROBLEMS, Problem
from warehouse.methodology.metrics import FORMULA_BY_SLUG, METRIC_SET
from warehouse.methodology.pages import REFS, methodology_page
from warehouse.methodology.signals import PANEL_BY_KEY, SIGNAL_SET
from warehouse.serve.catalogue import page_data
from warehouse.shared.errors import SankofaError
from warehouse.shared.json_encoding import encode

MCP_PAGE = "/docs/mcp"
# Next to the other packages, in a checkout as in a wheel.
_DOCS = Path(__file__).parents[2] / "docs"
_TITLE = re.compile(r"^# (.+)$", re.MULTILINE)
# For whoever edits a guide, and for the tests that run its code.
_COMMENT = re.compile(r"<!--.*?-->\n?", re.DOTALL)
# A guide in the list of all, whose order is that in which they are read.
_LISTED = re.compile(r"\]\((?:http://127\.0\.0\.1:8321/guides/)?([a-z-]+)(?:\.md)?[#)]")
_TO_GUIDE = re.compile(r"\]\(([a-z-]+)\.md(#[^)]*)?\)")
# Where the guides find the service that they describe.
_LOCAL_URL = "http://127.0.0.1:8321"
# Links to what only the repository has.
_TO_REPOSITORY = re.compile(r"!?\[([^\]]*)\]\((?![a-z]+:|/|#)[^)]*\)")


@cache
def _docs() -> Mapping[str, str]:
    """Return the guides of ``docs`` by name; none where there are no docs."""
    return {
        path.stem: _COMMENT.sub("", path.read_text("utf-8")) for path in sorted(_DOCS.glob("*.md"))
    }


def guides(sample: Sample) -> Mapping[str, str]:
    """Return every guide as Markdown, by name: also those that a build has about itself."""
    try:
        build = sample.mart.build()
    except SankofaError:
        # Nothing is published yet, or it cannot be read.
        return _docs()

    def read() -> dict[str, str]:
        of_build = msgspec.json.decode(page_data(build, "guides") or b"{}", type=dict[str, str])
        return dict(sorted({**of_build, **_docs()}.items()))

    return build.made_once("guides", read)


def title_of(text: str, name: str) -> str:
    """Return the title of a guide; its name if it has none."""
    return (_TITLE.search(text) or [name, name])[1]


def guide_page(site: render.Site, req: falcon.Request, name: str = "index") -> render.Reply:
    """Return one guide, or the one that lists them; its links and code lead to this service."""
    texts, base_url = guides(site.sample), req.context.base_url
    if name not in texts:
        raise Problem("not_found", f"There is no guide {name[:64]!r}; see /guides.")

    def link(match: re.Match[str]) -> str:
        known = match[1] in texts
        return f"]({render.root_of(req)}guides/{match[1]}{match[2] or ''})" if known else match[0]

    text = _TO_REPOSITORY.sub(r"\1", _TO_GUIDE.sub(link, texts[name]))
    text = text.replace(_LOCAL_URL, base_url) if base_url else text
    order = [each for each in dict.fromkeys(_LISTED.findall(texts["index"])) if each in texts]
    place = order.index(name) if name in order else len(order)
    listed = [(each, title_of(texts[each], each)) for each in order]
    before, after = listed[max(place - 1, 0) : place], listed[place + 1 : place + 2]
    return render.markdown_page(req, text, title_of(text, name), before=before, after=after)


def methodology_page_list(site: render.Site, req: falcon.Request) -> render.Reply:
    """Return the list of methodology pages, by ``methodology_ref``."""
    page = render.Page(
        "methodology.md",
        formulas=FORMULA_BY_SLUG,
        metric_set=METRIC_SET,
        panels=PANEL_BY_KEY,
        signal_set=SIGNAL_SET,
    )
    return render.markdown_page(req, site.render(req, page), "Methodology")


def formula_page(site: render.Site, req: falcon.Request, set_name: str, slug: str) -> render.Reply:
    """Return how one derived value is computed."""
    page = methodology_page(set_name, slug)
    if page is None:
        name = f"{set_name[:64]}/{slug[:64]}"
        raise Problem("not_found", f"No methodology page {name}; see /methodology.")
    return render.markdown_page(req, page, page.partition("\n")[0].lstrip("# "))


def problem_page(site: render.Site, req: falcon.Request, code: str) -> render.Reply:
    """Return the page behind the ``type`` of a problem: what the code means and what to do."""
    kind = PROBLEMS.get(code)
    if kind is None:
        raise falcon.HTTPNotFound
    if "text/html" in req.accept:
        text = (
            f"# {kind.title}\n\nCode `{code}`, status {kind.status}.\n\n{kind.advice}\n\n"
            f"[The API reference]({render.root_of(req)}docs) lists the errors of each endpoint.\n"
        )
        return render.markdown_page(req, text, kind.title)
    text = f"{code}\n{kind.status} {kind.title}.\n{kind.advice}\n"
    return render.Body(text, "text/plain; charset=utf-8", render.BY_ACCEPT)


def mcp_page(site: render.Site, req: falcon.Request) -> render.Reply:
    """Return how to connect each client, with the address and the sandbox key filled in."""
    url, key = mcp_url_for(req, site.mcp_url), site.sandbox_key()
    server = {"url": f"{url}/mcp", "headers": {"X-API-Key": key or "YOUR_KEY"}}
    page = render.Page(
        "mcp.md",
        mcp_url=url,
        sandbox_key=key,
        # One click: both editors show what will be added before they add it.
        for_cursor=quote(b64encode(encode(server)), safe=""),
        for_vscode=quote(encode({"name": "sankofa", "type": "http", **server}), safe=""),
    )
    return render.markdown_page(req, site.render(req, page), "Connect an agent over MCP")


def llms_text(site: render.Site, req: falcon.Request) -> render.Body:
    """Return a summary of the API for language models (llmstxt.org), with absolute URLs."""
    return site.text(
        req,
        "text/plain",
        "llms.md",
        mcp_url=mcp_url_for(req, site.mcp_url),
        mcp_page=MCP_PAGE,
        card=WELL_KNOWN_CARD,
        sandbox_key=site.sandbox_key(),
        endpoints=ENDPOINTS,
        refs=REFS,
    )


def discovery(
    site: render.Site, req: falcon.Request, make: Callable[[str], object], media_type: str
) -> render.Body:
    """Return a document that a client reads before it connects to the MCP server."""
    body = encode(make(mcp_url_for(req, site.mcp_url)))
    return render.Body(body, media_type, {"Cache-Control": "public, max-age=3600"})


def pricing_page(site: render.Site, req: falcon.Request) -> render.Reply:
    """Return the tiers, and how to get a key."""
    render.check_names(req)
    return render.Page(
        "pricing.html",
        tiers=site.tiers,
        upgrade_url=site.upgrade_url,
        contact=site.pricing_contact,
    )


def usage_page(site: render.Site, req: falcon.Request) -> render.Reply:
    """Return the page that asks ``/v1/usage`` about a key, which stays in the browser."""
    render.check_names(req)
    return render.Page("usage.html", sandbox_key=site.sandbox_key())
