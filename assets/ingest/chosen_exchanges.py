"""Which exchanges of a web archive are documents of a source, and what is landed of them."""

from dataclasses import dataclass, field
from typing import IO
from urllib.parse import urljoin

from assets.fetching.client import landed_headers
from assets.fetching.url_secrets import without_secrets
from assets.ingest.exchanges import Exchange
from assets.source import Source
from warehouse.errors import LicenceError
from warehouse.record.landing import FetchedResponse

# What a redirect leads to is read for it.
REDIRECT = "redirects"


@dataclass
class ChosenExchanges:
    """Chooses exchanges of one web archive, in their order.

    It remembers redirects, and what lookups say of the documents that follow them.
    """

    source: Source
    _requested: dict[str, str] = field(default_factory=dict)
    _described: dict[str, dict[str, str]] = field(default_factory=dict)
    _not_permitted: set[str] = field(default_factory=set)

    def requested_url(self, exchange: Exchange) -> str:
        """Return the address that was asked for: a document is not landed where that led."""
        return self._requested.get(exchange.url, exchange.url)

    def why_left_out(self, exchange: Exchange, url: str) -> str | None:
        """Return why an exchange is not a document of the source; None if it is."""
        if not self.source.is_published_at(url):
            return "of other hosts"
        if exchange.redirects_to is not None:
            self._requested[urljoin(exchange.url, exchange.redirects_to)] = url
            return REDIRECT
        if self.source.looks_up(exchange.method, url):
            self._describe(exchange, url)
            return "that only say what to ask for"
        if not self.source.requests_url(exchange.method, url):
            return "not documents of this source"
        # 206 is a part of a document.
        if not 200 <= exchange.status < 300 or exchange.status == 206:
            return f"with status {exchange.status}"
        if self._subject(url) in self._not_permitted:
            return "under a copyright of others"
        return None

    def response(self, exchange: Exchange, url: str, body: IO[bytes]) -> FetchedResponse:
        """Return what is landed of an exchange."""
        headers = landed_headers(exchange.headers) | self._described.get(self._subject(url), {})
        name = self.source.request_header
        if name is not None and exchange.request_body:
            headers[name] = exchange.request_body.decode("utf-8", "replace")
        return FetchedResponse(
            self.source.key,
            without_secrets(url),
            body,
            self.source.license_class,
            exchange.observed_at,
            exchange.status,
            headers,
            self.source.world,
        )

    def _describe(self, exchange: Exchange, url: str) -> None:
        descriptions, subject = self.source.descriptions, self._subject(url)
        if descriptions is None or not subject or not 200 <= exchange.status < 300:
            return
        with exchange.open() as body:
            try:
                headers = descriptions.headers(body.read())
            except LicenceError:
                self._not_permitted.add(subject)
            else:
                self._described.setdefault(subject, {}).update(headers)

    def _subject(self, url: str) -> str:
        descriptions = self.source.descriptions
        return (descriptions.subject(url) if descriptions is not None else None) or ""
