"""Rendered pages are kept, and rendered only so often for one network.

Requests run in the loop of the server: whoever has many pages rendered would delay everybody's.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import falcon

from api.endpoints.endpoint import mcp_url_for
from api.endpoints.known_answers import BodyCache
from api.site.render import Reply, Site
from warehouse.contract.problems import Problem
from warehouse.serve.usage import network_of
from warehouse.shared.errors import SankofaError

# Of all pages, and of one: a CSV of a long list is sent and not kept.
MOST_BYTES, LARGEST_PAGE = 16 << 20, 2 << 20
_MINUTE = 60.0


@dataclass(frozen=True)
class KeptPage:
    """A body with its headers; ``codings`` are its compressed forms, made when first sent."""

    body: bytes
    headers: Mapping[str, str]
    codings: dict[str, bytes]


class RenderLimit:
    """How many pages are rendered in a minute for one network, in this process; 0 for any number.

    Pages that are kept do not count.
    """

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_minute, self._clock = per_minute, clock
        self._rendered: dict[str, int] = {}
        self._ends = 0.0

    def take(self, address: str | None) -> None:
        """Count a page; refuse it above the limit."""
        now = self._clock()
        if now >= self._ends:
            # One minute for all networks: nothing has to be remembered of those that are gone.
            self._rendered, self._ends = {}, now + _MINUTE
        network = network_of(address)
        count = self._rendered[network] = self._rendered.get(network, 0) + 1
        if 0 < self._per_minute < count:
            seconds = max(1, round(self._ends - now + 0.5))
            raise Problem(
                "rate_limited",
                f"Your network opened more than {self._per_minute} different pages within a "
                f"minute. Try again in {seconds} seconds. For many rows at once take the files or "
                "the API.",
                violated_policies=["pages"],
                retry_after=seconds,
                retryable=True,
            )


class CachedPage:
    """A page that is rendered once for a build, a day and what it was asked with."""

    open = True

    def __init__(
        self,
        page: Callable[..., Reply],
        site: Site,
        cache: BodyCache[KeptPage],
        limit: RenderLimit,
    ) -> None:
        self._page, self._site, self._cache, self._limit = page, site, cache, limit

    def on_get(self, req: falcon.Request, resp: falcon.Response, **path: str) -> None:
        """Send the page as it is kept, or render it."""
        site = self._site
        key = (
            self._data_version(),
            site.sample.today,
            req.context.base_url,
            req.path,
            req.query_string,
            # Texts are Markdown to programs.
            "text/html" in req.accept,
            # What many pages show.
            site.sandbox_key(),
            mcp_url_for(req, site.mcp_url),
        )
        kept = self._cache.get(key)
        if kept is None:
            self._limit.take(req.remote_addr)
            site.send(req, resp, self._page(site, req, **path))
            kept = KeptPage(resp.render_body() or b"", resp.headers, {})
            # Its compressed forms together are smaller than it, its key and headers than 1 kB.
            self._cache.put(key, kept, 2 * len(kept.body) + 1024)
        else:
            resp.set_headers(kept.headers)
        resp.text, resp.data = None, kept.body
        resp.context.codings = kept.codings

    def _data_version(self) -> str | None:
        """Return the version that is served; None while there is none, which texts do not need."""
        try:
            return self._site.sample.mart.build().data_version
        except SankofaError:
            return None
