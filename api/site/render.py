"""From a request to a page: its parameters, its template, its rows as CSV, its errors."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType
from typing import Any
from urllib.parse import urlencode, urlsplit

import falcon
import msgspec
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markupsafe import escape

from api.endpoints.endpoint import Endpoint, read_values
from api.endpoints.response import encoded
from api.site.environment import page_environment
from api.site.formats import codes_by_name, country_code
from api.site.sample import SampleAnswer, Stated
from warehouse.contract.limits import cap_rows
from warehouse.contract.problems import Problem, invalid_parameter, unknown_parameter
from warehouse.serve.build import Build, Mart
from warehouse.serve.catalogue import EXPORT_MANIFEST_KEY
from warehouse.shared.texts import nearest

_HTML = "text/html; charset=utf-8"
# HTML inside our Markdown is shown as text.
_MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable("table")
# A key is typed into these pages: no script, style or request of another origin is allowed.
_SAME_ORIGIN_ONLY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)


@dataclass(frozen=True)
class _Text:
    """A text as HTML: its title, what follows, and the ids and words of the headings in it."""

    head: str
    body: str
    contents: list[tuple[str, str]]


class _Published(msgspec.Struct):
    """What a page says of the publication."""

    generated_at: str = ""


def set_security_headers(resp: falcon.Response) -> None:
    """Let a page load only what we serve, and send no Referer to anyone."""
    resp.set_header("Content-Security-Policy", _SAME_ORIGIN_ONLY)
    resp.set_header("X-Content-Type-Options", "nosniff")
    resp.set_header("Referrer-Policy", "no-referrer")


class Pages:
    """Renders templates for requests; ``mart`` is the one whose build is served."""

    def __init__(self, mart: Mart, has_files: bool) -> None:
        self._mart = mart
        self._environment = page_environment(has_files)
        self._environment.globals["nothing"] = Stated()

    def send(
        self, req: falcon.Request, resp: falcon.Response, template: str, **variables: Any
    ) -> None:
        """Send a page."""
        resp.text = self._render(req, template, self._build(), variables)
        resp.content_type = _HTML
        set_security_headers(resp)

    def send_markdown(
        self, req: falcon.Request, resp: falcon.Response, markdown: str, title: str
    ) -> None:
        """Send a text: HTML to a browser, else Markdown."""
        check_names(req)
        resp.append_header("Vary", "Accept")
        # Browsers name text/html; programs mostly send */* and get the Markdown.
        if "text/html" in req.accept:
            self.send(req, resp, "markdown.html", heading=title, text=_rendered(markdown))
        else:
            resp.text, resp.content_type = markdown, "text/markdown; charset=utf-8"

    def send_error(self, req: falcon.Request, resp: falcon.Response, problem: Problem) -> None:
        """Send a problem as a page; its status and headers are set."""
        variables = {"problem": problem, "status": problem.kind.status}
        resp.text = self._render(req, "error.html", self._build(), variables)
        resp.data = None
        resp.content_type = _HTML
        set_security_headers(resp)

    @staticmethod
    def root(req: falcon.Request) -> str:
        """Return the path below which the site is reached, with a slash at its end."""
        return f"{urlsplit(req.context.base_url).path.rstrip('/')}/"

    def _build(self) -> Build | None:
        """Return the build; None while there is none: a page must not fail for that reason."""
        try:
            return self._mart.build()
        except Exception:
            return None

    def _render(
        self, req: falcon.Request, template: str, build: Build | None, variables: dict[str, Any]
    ) -> str:
        root = self.root(req)
        return self._environment.get_template(template).render(
            root=root,
            static=f"{root}site/",
            path=req.path.strip("/"),
            notice="" if build is None else build.notice,
            data_version="none" if build is None else build.data_version,
            published_on=None if build is None else build.made_once("published", _day_of(build)),
            **variables,
        )


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
        f'<div{box}><pre tabindex="0" role="region" aria-label="Code">'
        f"<code>{escape(token.content)}</code></pre></div>\n"
    )


_MARKDOWN.add_render_rule("fence", _fence)


def _day_of(build: Build) -> Any:
    def read() -> str | None:
        manifest = build.metadata.get(EXPORT_MANIFEST_KEY)
        if manifest is None:
            return None
        return msgspec.json.decode(manifest, type=_Published).generated_at[:10] or None

    return read


def page_parameters(
    req: falcon.Request,
    endpoint: Endpoint,
    own: Iterable[str] = (),
    only: Iterable[str] | None = None,
    defaults: Mapping[str, str] = MappingProxyType({}),
    **path: str,
) -> dict[str, Any]:
    """Return the parameters of an endpoint that a page was asked with.

    A form sends its empty fields too: they count as not sent. ``own`` are names that only the page
    has, ``only`` those of the endpoint that it has, ``defaults`` stand for what was not sent.
    """
    sent = {**defaults, **_sent(req)}
    known = {*(endpoint.query if only is None else only), *own, "format"} - {"limit"}
    # What a page sets itself need not be one that it can be asked with.
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
    codes = codes_by_name()
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
    """Return whether the rows of a page are asked for as CSV."""
    form = req.params.get("format")
    if form not in (None, "", "csv"):
        raise Problem("parameter_invalid", "format of a page is csv.", parameter="format")
    return form == "csv"


def send_csv(resp: falcon.Response, name: str, answer: SampleAnswer) -> None:
    """Send the rows of a page as CSV, of facts no more than one sample answer has."""
    page, _ = cap_rows(answer.page, answer.tier, None, answer.listing.row_rule)
    resp.data = b"".join(encoded("csv", answer.listing, [page]))
    resp.content_type = "text/csv; charset=utf-8"
    resp.set_header("Content-Disposition", f'attachment; filename="{_file_name(name)}.csv"')
    resp.set_header("X-Content-Type-Options", "nosniff")


def _file_name(name: str) -> str:
    return "".join(sign if sign.isalnum() or sign in ".-_" else "-" for sign in name)[:80]
