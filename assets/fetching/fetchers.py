"""What all fetchers share: their signature, URL and JSON helpers, partial failures.

A fetcher only makes requests and passes responses on; parsers read what they say.
"""

import json
import logging
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any
from urllib.parse import urlencode

from assets.fetching.client import Client, FetchError, SourceResponse
from assets.fetching.http_bodies import RETRYABLE_STATUSES, ExpectedFormat
from warehouse.record.landing import FetchedResponse, Landing
from warehouse.shared.errors import SankofaError
from warehouse.shared.settings import Settings
from warehouse.tables.sighting import LicenseClass

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Window:
    """What to fetch: days of publication (both ends included), or batches of issuers.

    None means unbounded; no batches means all issuers.
    """

    from_: date | None = None
    to: date | None = None
    batches: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        if self.from_ and self.to and self.from_ > self.to:
            raise SankofaError(f"the window begins on {self.from_}, after its end on {self.to}")


@dataclass(frozen=True)
class FetchTask:
    """One fetch: the source and its licence, the URL it is fetched from, and what to fetch.

    ``landing`` shows what was landed before, to a fetcher that needs it to know what to ask for.
    ``other_hosts`` also publish the source's documents: links may lead there.
    """

    client: Client
    source: str
    license_class: LicenseClass
    base_url: str
    window: Window
    settings: Settings
    landing: Landing | None = None
    other_hosts: tuple[str, ...] = ()

    def url(self, path: str, parameters: Mapping[str, str | int] | None = None) -> str:
        """Return a URL of the source."""
        query = urlencode(parameters or {}, safe=":")
        return f"{self.base_url}/{path}?{query}" if query else f"{self.base_url}/{path}"

    def landable(
        self, response: SourceResponse, extra_headers: Mapping[str, str] | None = None
    ) -> FetchedResponse:
        """Convert a response for landing; ``extra_headers`` are needed by its parser."""
        return FetchedResponse(
            source=self.source,
            url=response.url,
            body=response.body,
            license_class=self.license_class,
            observed_at=response.observed_at,
            status=response.status,
            headers=response.headers | dict(extra_headers or {}),
        )

    def download(
        self, url: str, expects: ExpectedFormat, retry_on: frozenset[int] = RETRYABLE_STATUSES
    ) -> Iterator[FetchedResponse]:
        """Download a large file to a temporary one; yield nothing if it has not changed.

        The temporary file is deleted when the caller asks for the next document.
        """
        # Unnamed: the kernel frees it even if the process is killed.
        with tempfile.TemporaryFile() as body:
            response = self.client.download(url, body, expects, retry_on=retry_on)
            if response.changed:
                body.seek(0)
                yield replace(self.landable(response), body=body, status=200)


Fetch = Callable[[FetchTask], Iterator[FetchedResponse]]


def fetch_addresses(addresses: Sequence[str], task: FetchTask) -> Iterator[FetchedResponse]:
    """Fetch the documents of a declared source; nothing of those that have not changed."""
    return fetch_all(
        task.source, addresses, lambda address: task.download(task.url(address[1:]), "any")
    )


def response_json(response: SourceResponse) -> Any:
    """Decode a JSON response, for example to find the next page."""
    try:
        return json.loads(response.body)
    except (ValueError, RecursionError) as error:
        raise FetchError(f"{response.url}: the response is not JSON ({error}); report it") from None


def json_member(value: Any, *names: str) -> Any:
    """Return the member at a path of names; None where one is missing."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def fetch_all(
    source: str, names: Sequence[str], fetch_one: Callable[[str], Iterator[FetchedResponse]]
) -> Iterator[FetchedResponse]:
    """Fetch item after item; raise one error for all failures when the rest has arrived.

    After three failures in a row the remaining items are skipped: the source is down.
    """
    failures: list[str] = []
    failures_in_a_row, retryable = 0, False
    for name in names:
        try:
            yield from fetch_one(name)
        except FetchError as error:
            _log.warning("%s, %s: %s", source, name, error)
            failures.append(f"{name}: {error}")
            failures_in_a_row += 1
            retryable = retryable or error.retryable
        else:
            failures_in_a_row = 0
        # Each failure took several attempts with growing waits: a source that is down would cost
        # hours.
        if failures_in_a_row == 3:
            failures.append("three failed in a row, so the rest was skipped")
            break
    if failures:
        raise FetchError(
            f"{source} did not arrive complete. " + ". ".join(failures), retryable=retryable
        )
