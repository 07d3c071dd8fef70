"""The base URL of links in responses: one that was configured, never one that a client sent."""

from collections.abc import Sequence
from urllib.parse import urlsplit

import falcon

from warehouse.errors import SankofaError


class BaseUrlMiddleware:
    """Sets ``req.context.base_url`` to the configured URL that matches Host, else to the first.

    Without any configured URL, links stay as they were written or start at the root.
    """

    def __init__(self, base_urls: Sequence[str] = ()) -> None:
        self._by_host = {_host(url): url.rstrip("/") for url in base_urls}
        self._base_urls = tuple(self._by_host.values())
        self._default = next(iter(self._base_urls), "")

    def process_request(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Accept the Host header only if it is one of ours."""
        context = req.context
        context.base_urls, context.base_url = self._base_urls, self._default
        if self._base_urls:
            host = req.get_header("Host", default="").lower()
            context.base_url = self._by_host.get(host, self._default)


def _host(base_url: str) -> str:
    parts = urlsplit(base_url)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise SankofaError(f"{base_url!r} is not a base URL; write it as https://host")
    return parts.netloc.lower()
