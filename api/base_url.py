"""The base URL of links in responses: one that was configured, else the one that was asked."""

from collections.abc import Sequence
from functools import lru_cache
from urllib.parse import urlsplit

import falcon

from warehouse.errors import SankofaError
from warehouse.reached_urls import valid_host


class BaseUrlMiddleware:
    """Sets ``req.context.base_url`` to the configured URL that matches Host, else to the first.

    Without any configured URL it is the address under which the request came here.
    ``req.context.exports_url`` is where the bulk files are, by default below it.
    """

    def __init__(self, base_urls: Sequence[str] = (), exports_url: str | None = None) -> None:
        self._by_host = {_host(url): url.rstrip("/") for url in base_urls}
        self._default = next(iter(self._by_host.values()), None)
        self._exports_url = exports_url
        self._urls = lru_cache(256)(self._find_urls)

    def process_request(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Set both URLs."""
        context = req.context
        context.base_url, context.exports_url = self._urls(req.env.get("HTTP_HOST"), req.scheme)

    def _find_urls(self, host_header: str | None, scheme: str) -> tuple[str, str]:
        """Accept any Host header if no URL is configured, else only one of ours."""
        host = valid_host(host_header)
        if self._default is not None:
            base_url = self._by_host.get(host or "", self._default)
        else:
            # Without a host, as in HTTP/1.0, links start at the root.
            base_url = "" if host is None else f"{scheme}://{host}"
        return base_url, self._exports_url or f"{base_url}/exports"


def _host(base_url: str) -> str:
    parts = urlsplit(base_url)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise SankofaError(f"{base_url!r} is not a base URL; write it as https://host")
    return parts.netloc.lower()
