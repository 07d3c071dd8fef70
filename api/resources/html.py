"""What all HTML pages share: navigation, security headers, the sandbox key, Markdown."""

import html
import time
from collections.abc import Callable

import falcon
from markdown_it import MarkdownIt

from warehouse.errors import SankofaError

# A key is typed into these pages: no script, style or request of another origin is allowed.
_SAME_ORIGIN_ONLY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_KEY_CACHE_SECONDS = 60.0
_SITE_LINKS = (
    ("/", "Catalogue"),
    ("/issuers/", "Issuers"),
    ("/screen/", "Screen"),
    ("/signals/", "Signals"),
    ("/quality/", "Quality"),
)
_API_LINKS = (("/methodology", "Methodology"), ("/docs", "API"))
# HTML inside our Markdown is shown as text.
_MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable("table")


def navigation_html(site: bool) -> str:
    """Return the navigation bar; the pages of a build only if they are served."""
    links = (*(_SITE_LINKS if site else ()), *_API_LINKS)
    items = "".join(f'<li><a href="{path}">{label}</a></li>' for path, label in links)
    return (
        f'<header class="top"><b>Sankofa</b><nav aria-label="Pages"><ul>{items}</ul></nav></header>'
    )


def markdown_page(markdown: str, title: str, navigation: str = "") -> str:
    """Return Markdown as a complete HTML page."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Sankofa: {html.escape(title)}</title>"
        '<link rel="icon" href="/docs/icon.svg">'
        '<link rel="stylesheet" href="/docs/docs.css"></head>'
        f"<body>{navigation}<main>\n"
        f"{_MARKDOWN.render(markdown)}</main></body></html>\n"
    )


def send_markdown(
    req: falcon.Request, resp: falcon.Response, markdown: str, title: str, navigation: str
) -> None:
    """Send a page: HTML to a browser, else Markdown."""
    resp.append_header("Vary", "Accept")
    # Browsers name text/html; programs mostly send */* and get the Markdown.
    if "text/html" in req.accept:
        send_page(resp, markdown_page(markdown, title, navigation))
    else:
        resp.text, resp.content_type = markdown, "text/markdown; charset=utf-8"


def send_page(resp: falcon.Response, page: str) -> None:
    """Send an HTML page."""
    resp.text, resp.content_type = page, "text/html; charset=utf-8"
    set_security_headers(resp)


def set_security_headers(resp: falcon.Response) -> None:
    """Let a page load only what we serve, and send no Referer to anyone."""
    resp.set_header("Content-Security-Policy", _SAME_ORIGIN_ONLY)
    resp.set_header("X-Content-Type-Options", "nosniff")
    resp.set_header("Referrer-Policy", "no-referrer")


class SandboxKey:
    """The public sandbox key, looked up once a minute; empty while the key store is down."""

    def __init__(self, look_up: Callable[[], str | None]) -> None:
        self._look_up = look_up
        self._key, self._valid_until = "", 0.0

    def __call__(self) -> str:
        """Return the key."""
        if time.monotonic() > self._valid_until:
            try:
                self._key = self._look_up() or ""
            except SankofaError:
                self._key = ""
            self._valid_until = time.monotonic() + _KEY_CACHE_SECONDS
        return self._key
