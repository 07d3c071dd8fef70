"""What every fetcher shares: its shape, its base address, its lists, its failures.

A fetcher only asks and hands on; what an answer says is read by the parser of its source.
"""

import json
import logging
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any
from urllib.parse import urlencode

from assets.fetching.client import Client, FetchError, SourceResponse, StoredHeaders
from assets.fetching.http_bodies import ExpectedFormat
from warehouse.errors import SankofaError
from warehouse.record.landing import FetchedResponse, Landing
from warehouse.settings import Settings
from warehouse.tables import LicenseClass

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Window:
    """What is asked for: the days of publication, both included, or batches of issuers.

    None is without end; no batch is all of them.
    """

    from_: date | None = None
    to: date | None = None
    batches: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        if self.from_ and self.to and self.from_ > self.to:
            raise SankofaError(f"the window begins on {self.from_}, after its end on {self.to}")


Fetch = Callable[[Client, str, Window, Settings], Iterator[FetchedResponse]]


def build_url(base: str, path: str, asked: Mapping[str, str | int] | None = None) -> str:
    """Put an address together."""
    query = urlencode(asked or {}, safe=":")
    return f"{base}/{path}?{query}" if query else f"{base}/{path}"


def fetched_response(
    source: str,
    license_class: LicenseClass,
    answer: SourceResponse,
    more: Mapping[str, str] | None = None,
) -> FetchedResponse:
    """Make an answer a document; ``more`` are headers that its parser needs."""
    return FetchedResponse(
        source=source,
        url=answer.url,
        body=answer.body,
        license_class=license_class,
        observed_at=answer.observed_at,
        status=answer.status,
        headers=answer.headers | dict(more or {}),
    )


def response_json(answer: SourceResponse) -> Any:
    """Read the JSON of an answer, to see how it goes on."""
    try:
        return json.loads(answer.body)
    except ValueError as error:
        raise FetchError(f"{answer.url}: the answer is no JSON ({error}); report it") from None


def json_member(value: Any, *names: str) -> Any:
    """Follow names into a decoded answer; None where one is missing."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def fetch_all(
    source: str, names: Sequence[str], fetch_one: Callable[[str], Iterator[FetchedResponse]]
) -> Iterator[FetchedResponse]:
    """Fetch one after another; what failed is told at the end, when the others have come.

    After three failures in a row the rest is not asked for.
    """
    failed: list[str] = []
    row, retryable = 0, False
    for name in names:
        try:
            yield from fetch_one(name)
        except FetchError as error:
            _log.warning("%s, %s: %s", source, name, error)
            failed.append(f"{name}: {error}")
            row, retryable = row + 1, retryable or error.retryable
        else:
            row = 0
        if row == 3:
            failed.append("three failed in a row, so the rest was not asked for")
            break
    if failed:
        raise FetchError(
            f"{source} did not arrive whole. " + ". ".join(failed), retryable=retryable
        )


def download_file(
    client: Client,
    source: str,
    license_class: LicenseClass,
    url: str,
    expects: ExpectedFormat,
) -> Iterator[FetchedResponse]:
    """Download a large file to a temporary one, open until the next document is asked for.

    Nothing if it has not changed.
    """
    with tempfile.TemporaryFile() as body:
        answer = client.download(url, body, expects)
        if answer.changed:
            body.seek(0)
            yield FetchedResponse(
                source, answer.url, body, license_class, answer.observed_at, 200, answer.headers
            )


def stored_headers(landing: Landing, source: str) -> StoredHeaders:
    """Give what was kept of the last answer of each address of a source."""
    latest = {document.url: document.headers for document in landing.documents(source)}
    return latest.get
