"""What all pages share: links to the others, a policy that forbids elsewhere, the public key."""

import time
from collections.abc import Callable

import falcon

from warehouse.errors import SankofaError

_OWN_ONLY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HELD = 60.0
_PAGES = (
    ("/", "Catalogue"),
    ("/issuers/", "Issuers"),
    ("/screen/", "Screen"),
    ("/signals/", "Signals"),
    ("/quality/", "Quality"),
)
_OWN = (("/methodology", "Methodology"), ("/docs", "API"))


def navigation(site: bool) -> str:
    """Give the links that every page has; those of a build only where its pages are served."""
    links = (*(_PAGES if site else ()), *_OWN)
    items = "".join(f'<li><a href="{address}">{name}</a></li>' for address, name in links)
    return (
        f'<header class="top"><b>Sankofa</b><nav aria-label="Pages"><ul>{items}</ul></nav></header>'
    )


def guard(resp: falcon.Response) -> None:
    """Let a page load nothing but what we serve, and tell nobody where its visitor was."""
    resp.set_header("Content-Security-Policy", _OWN_ONLY)
    resp.set_header("X-Content-Type-Options", "nosniff")
    resp.set_header("Referrer-Policy", "no-referrer")


class SandboxKey:
    """The public key, looked up once a minute; empty while the key store does not answer."""

    def __init__(self, find: Callable[[], str | None]) -> None:
        self._find = find
        self._key, self._until = "", 0.0

    def __call__(self) -> str:
        """Give the key."""
        if time.monotonic() > self._until:
            try:
                self._key = self._find() or ""
            except SankofaError:
                self._key = ""
            self._until = time.monotonic() + _HELD
        return self._key
