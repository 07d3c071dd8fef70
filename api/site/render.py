"""From a request to a page: its parameters, its template, its rows as CSV, its errors."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import urlencode, urlsplit

import falcon
import msgspec
import pycountry
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markupsafe import Markup, escape

from api.endpoints.endpoint import Endpoint, read_values
from api.endpoints.lines import csv_lines
from api.site import formats
from api.site.sample import Sample, SampleAnswer, Stated
from warehouse.contract.limits import cap_rows
from warehouse.contract.problems import Problem, invalid_parameter, unknown_parameter
from warehouse.serve.build import Build
from warehouse.serve.catalogue import EXPORT_MANIFEST_KEY
from warehouse.shared.countries import country_code
from warehouse.shared.data_files import csv_rows
from warehouse.shared.texts import nearest
from warehouse.shared.tiers import Tier

_HERE = Path(__file__).parent
STATIC = _HERE / "static"
TEMPLATES = _HERE / "templates"
_HTML = "text/html; charset=utf-8"
# HTML inside our Markdown is shown as text.
_MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable("table")
# A key is typed into these pages: no script, style or request of another origin is allowed.
SECURITY_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "font-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}

# Of what is another body to a browser than to a program.
BY_ACCEPT = {"Vary": "Accept"}

# The links that every page has: path and label.

Link = tuple[str, str]
_FILES = "exports/"


def _links(place: str) -> tuple[Link, ...]:
    rows = csv_rows(__name__, "links")
    return tuple((row["path"], row["label"]) for row in rows if row["place"] == place)


# At the top and at the end of every page.
NAVIGATION, FOOTER = _links("navigation"), _links("footer")
# Pages below none of the links, and the link that they belong to.
_SECTIONS = dict(_links("section"))
_CODE = re.compile("`([^`]+)`")


def linked_pages(links: Iterable[Link] = (*NAVIGATION, *FOOTER), *, has_files: bool) -> list[Link]:
    """Return the links to the pages that are served; without files of builds, not to their list."""
    return [link for link in links if has_files or link[0] != _FILES]


def _environment(has_files: bool) -> Environment:
    environment = Environment(
        # StrictUndefined: a misspelt variable must fail and not leave a gap in a page.
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        amount=formats.amount,
        change=formats.change,
        country=formats.country_name,
        day=formats.day,
        digits=formats.digits,
        headline=formats.headline,
        indicator_title=formats.indicator_title,
        inline_code=_inline_code,
        number=formats.number,
        percent=formats.percent,
        series_title=formats.series_title,
        source=formats.source_name,
        words=formats.words,
    )
    environment.globals.update(
        nothing=Stated(),
        sections=_SECTIONS,
        navigation=linked_pages(NAVIGATION, has_files=has_files),
        footer=linked_pages(FOOTER, has_files=has_files),
    )
    return environment


def _inline_code(text: str) -> Markup:
    """Return a text with everything between backticks as code."""
    return Markup(_CODE.sub(r"<code>\1</code>", str(escape(text))))  # noqa: S704


class Page:
    """A template with its variables; ``headers`` are added to those of every page."""

    def __init__(
        self, template: str, headers: Mapping[str, str] = MappingProxyType({}), **variables: Any
    ) -> None:
        self.template, self.headers, self.variables = template, headers, variables


@dataclass(frozen=True)
class Body:
    """What is sent as it is."""

    body: str | bytes
    media_type: str
    headers: Mapping[str, str] = field(default_factory=dict)


Reply = Page | Body


class Site:
    """What pages are made of: answers of the sample tier, templates, and what was configured.

    ``has_files`` if the files of builds are served; ``upgrade_url`` is where else keys are to be
    had. A page is a function of the site, a request, and what its path names.
    """

    def __init__(
        self,
        sample: Sample,
        has_files: bool,
        sandbox_key: Callable[[], str],
        mcp_url: str,
        tiers: Iterable[Tier],
        upgrade_url: str | None,
        pricing_contact: str,
    ) -> None:
        self.sample, self.has_files, self.sandbox_key = sample, has_files, sandbox_key
        self.mcp_url, self.tiers, self.upgrade_url = mcp_url, tuple(tiers), upgrade_url
        self.pricing_contact = pricing_contact
        self._environment = _environment(has_files)

    def send(self, req: falcon.Request, resp: falcon.Response, reply: Reply) -> None:
        """Send what a page returned."""
        if isinstance(reply, Page):
            reply = Body(self.render(req, reply), _HTML, {**SECURITY_HEADERS, **reply.headers})
        if isinstance(reply.body, str):
            resp.text = reply.body
        else:
            resp.data = reply.body
        resp.content_type = reply.media_type
        for name, value in reply.headers.items():
            resp.append_header(name, value)

    def send_error(self, req: falcon.Request, resp: falcon.Response, problem: Problem) -> None:
        """Send a problem as a page; its status and headers are set."""
        resp.data = None
        self.send(req, resp, Page("error.html", problem=problem, status=problem.kind.status))

    def render(self, req: falcon.Request, page: Page) -> str:
        """Return a page as HTML."""
        build = self._build()
        return self._environment.get_template(page.template).render(
            root=root_of(req),
            origin=req.context.base_url,
            static=f"{root_of(req)}site/",
            path=req.path.strip("/"),
            notice="" if build is None else build.notice,
            data_version="none" if build is None else build.data_version,
            today=self.sample.today,
            published_on=build and build.made_once("published", partial(_day_of, build)),
            **page.variables,
        )

    def text(self, req: falcon.Request, media_type: str, template: str, **variables: Any) -> Body:
        """Return what a template makes that is no page."""
        # A template has no line break at its end.
        text = f"{self.render(req, Page(template, **variables))}\n"
        return Body(text, f"{media_type}; charset=utf-8")

    def _build(self) -> Build | None:
        """Return the build; None while there is none: a page must not fail for that reason."""
        try:
            return self.sample.mart.build()
        except Exception:
            return None


def root_of(req: falcon.Request) -> str:
    """Return the path below which the site is reached, with a slash at its end."""
    return f"{urlsplit(req.context.base_url).path.rstrip('/')}/"


def _day_of(build: Build) -> str | None:
    manifest = build.metadata.get(EXPORT_MANIFEST_KEY)
    return None if manifest is None else msgspec.json.decode(manifest)["generated_at"][:10]


def markdown_page(req: falcon.Request, markdown: str, title: str, **around: Any) -> Reply:
    """Return a text: HTML for a browser, else Markdown; ``around`` are the guides next to it."""
    check_names(req)
    # Browsers name text/html; programs mostly send */* and get the Markdown.
    if "text/html" in req.accept:
        return Page("markdown.html", BY_ACCEPT, heading=title, text=_rendered(markdown), **around)
    return Body(markdown, "text/markdown; charset=utf-8", BY_ACCEPT)


@dataclass(frozen=True)
class _Text:
    """A text as HTML: its title, what follows, and the ids and words of the headings in it."""

    head: str
    body: str
    contents: list[tuple[str, str]]


def _rendered(markdown: str) -> _Text:
    """Return a text as HTML; headings have ids, and the keyboard reaches what can scroll."""
    tokens, contents, ids = _MARKDOWN.parse(markdown), list[tuple[str, str]](), set[str]()
    for token, inline in pairwise(tokens):
        if token.type == "table_open":
            token.attrSet("tabindex", "0")
        if token.type != "heading_open":
            continue
        words = "".join(part.content for part in inline.children or ())
        # As GitHub makes them, which the links of the guides were written for.
        name = re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-")
        token.attrSet("id", name if name not in ids else f"{name}-{len(ids)}")
        ids.add(name)
        if token.tag == "h2":
            contents.append((str(token.attrs["id"]), words))
    begins_with_title = bool(tokens) and tokens[0].tag == "h1"
    # A heading is three tokens: it begins, its words, it ends.
    head, body = (tokens[:3], tokens[3:]) if begins_with_title else ([], tokens)
    return _Text(_html(head), _html(body), contents)


def _html(tokens: Sequence[Token]) -> str:
    return str(_MARKDOWN.renderer.render(tokens, _MARKDOWN.options, {}))


def _fence(renderer: RendererHTML, tokens: Sequence[Token], index: int, *_: object) -> str:
    """Return a block of code in a box that gets a button to copy it; what is printed gets none."""
    token = tokens[index]
    box = "" if token.info == "text" else ' class="snippet" data-tool="code"'
    return (
        f'<div{box}><pre tabindex="0" role="group" aria-label="Code">'
        f"<code>{escape(token.content)}</code></pre></div>\n"
    )


_MARKDOWN.add_render_rule("fence", _fence)


def page_parameters(
    req: falcon.Request,
    endpoint: Endpoint,
    own: Iterable[str] = (),
    only: Iterable[str] | None = None,
    defaults: Mapping[str, str] = MappingProxyType({}),
    **path: str,
) -> dict[str, Any]:
    """Return the parameters of an endpoint from a request for a page.

    A form sends its empty fields too: they count as not sent. ``own`` are names that only the page
    has, ``only`` those of the endpoint that it has, ``defaults`` replace what was not sent.
    """
    sent = {**defaults, **_sent(req)}
    known = {*(endpoint.query if only is None else only), *own, "format"} - {"limit"}
    # A parameter that a page sets itself need not be one that it accepts.
    known |= set(defaults)
    for name in sent:
        if name not in known:
            raise unknown_parameter(name, sorted(known), "this page")
    of_endpoint = {name: value for name, value in sent.items() if name in endpoint.query}
    of_endpoint.pop("format", None)
    return read_values(endpoint, of_endpoint, path)


def check_names(req: falcon.Request, *names: str) -> Mapping[str, str | list[str]]:
    """Return what was sent to a page that knows these names only."""
    sent = _sent(req)
    for name in sent:
        if name not in (*names, "format"):
            raise unknown_parameter(name, [*names, "format"], "this page")
    return sent


def _sent(req: falcon.Request) -> dict[str, str | list[str]]:
    sent = {name: value for name, value in req.params.items() if value not in ("", [])}
    if isinstance(country := sent.get("country"), str):
        sent["country"] = _country(country)
    return sent


def _country(text: str) -> str:
    """Return the code of a country, which people may name; refuse a name that no country has."""
    code = country_code(text)
    # Areas have codes of their own, which ISO does not know.
    if code is not None or len(text) <= 3:
        return code or text
    codes = {formats.country_name(each.alpha_2): each.alpha_2 for each in pycountry.countries}
    near = nearest(text, codes)
    expected = "the name of a country, or its ISO 3166-1 code"
    if near:
        expected += f"; the nearest: {', '.join(f'{name} ({codes[name]})' for name in near)}"
    raise invalid_parameter("country", text, expected, nearest=[codes[name] for name in near])


def query_without(req: falcon.Request, *names: str) -> str:
    """Return the query of a page without some of its parameters."""
    kept = {name: value for name, value in _sent(req).items() if name not in names}
    return urlencode(kept, doseq=True)


def wants_csv(req: falcon.Request) -> bool:
    """Return whether the rows of a page are requested as CSV."""
    form = req.params.get("format")
    if form not in (None, "", "csv"):
        raise Problem("parameter_invalid", "format of a page is csv.", parameter="format")
    return form == "csv"


def csv_page(name: str, answer: SampleAnswer) -> Body:
    """Return the rows of a page as CSV, of facts no more than one sample answer has."""
    page, _ = cap_rows(answer.page, answer.tier, None, answer.listing.row_rule)
    return csv_file(name, b"".join(csv_lines(answer.kinds, [page])))


def csv_file(name: str, lines: bytes) -> Body:
    """Return CSV as a file to download."""
    file = "".join(sign if sign.isalnum() or sign in ".-_" else "-" for sign in name)[:80]
    headers = {
        "Content-Disposition": f'attachment; filename="{file}.csv"',
        "X-Content-Type-Options": "nosniff",
    }
    return Body(lines, "text/csv; charset=utf-8", headers)
