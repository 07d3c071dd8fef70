"""What all HTML pages share: security headers, the sandbox key."""

import time
from collections.abc import Callable

import falcon

from warehouse.errors import SankofaError

# A key is typed into these pages: no script, style or request of another origin is allowed.
_SAME_ORIGIN_ONLY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
_KEY_CACHE_SECONDS = 60.0


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
