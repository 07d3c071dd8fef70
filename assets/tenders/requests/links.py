"""The shape *links*: pages of packages, each of which links to the next.

Where the address has ``{page}``, the next page is asked for by its number as long as there is a
link; otherwise the link itself is followed.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any
from urllib.parse import parse_qs, urlsplit

from assets.fetching.client import FetchError, SourceResponse
from assets.fetching.fetchers import FetchTask, fetch_all, response_json
from assets.tenders.requests.asking import (
    MOST_PAGES,
    Publisher,
    Span,
    ask,
    followed,
    is_paged,
    listed_releases,
    member_at,
    page_values,
    refuse_more_pages,
    spans,
    url_of,
)
from assets.tenders.requests.declared import Links
from warehouse.record.landing import FetchedResponse


def fetch(request: Links, publisher: Publisher, task: FetchTask) -> Iterator[FetchedResponse]:
    """Fetch all pages of every period of the window."""
    by_name = {span.name: span for span in spans(request, publisher, task.window)}
    return fetch_all(task.source, list(by_name), partial(_span, request, publisher, task, by_name))


def _span(
    request: Links, publisher: Publisher, task: FetchTask, by_name: dict[str, Span], name: str
) -> Iterator[FetchedResponse]:
    pages = _pages(request, task, by_name[name])
    # What a complete address no longer shows was withdrawn: an incomplete one must not be landed.
    responses = list(pages) if publisher.complete else pages
    yield from map(task.landable, responses)


def _pages(request: Links, task: FetchTask, span: Span) -> Iterator[SourceResponse]:
    """Yield the pages that have releases."""
    url = url_of(task, span.pattern, {**span.values, **page_values(request, 0)})
    numbered = is_paged(span.pattern)
    seen, previous = set[str](), b""
    for page in range(MOST_PAGES):
        seen.add(url)
        try:
            response = ask(task, request, url, "json")
        except FetchError as error:
            if error.status in request.ends_on:
                return
            words = f"page {page + 1} did not arrive: {error}"
            raise FetchError(words, error.status, error.retryable) from None
        package = response_json(response)
        releases = listed_releases(package)
        if releases is None:
            raise FetchError(f"{response.url}: the response is not a release package; report it")
        if releases and response.body == previous:
            raise FetchError(f"{response.url}: the same page again, so its pages never end")
        if releases:
            yield response
        link = _link(request, package)
        if link is None or (numbered and not releases):
            return
        previous = response.body
        if numbered:
            url = url_of(task, span.pattern, {**span.values, **page_values(request, page + 1)})
        else:
            url = followed(task, url, link)
        if url in seen:
            raise FetchError(
                f"{response.url}: {request.next} leads back to {url}, so its pages never end; "
                "report it"
            )
    raise refuse_more_pages(url)


def _link(request: Links, package: Any) -> str | None:
    """Return the link to the next page; None on the last page."""
    link = member_at(package, request.next)
    if not isinstance(link, str) or not link.strip():
        return None
    # Some portals still link on the last page, but drop what says where to go on.
    if request.next_needs is not None and request.next_needs not in parse_qs(urlsplit(link).query):
        return None
    return link
