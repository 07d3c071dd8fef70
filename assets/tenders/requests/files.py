"""The shape *files*: documents whose addresses follow from a period, a number or both."""

import html
import json
import re
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import IO

from assets.fetching.addresses import without_secrets
from assets.fetching.client import FetchError
from assets.fetching.fetchers import FetchTask, fetch_all
from assets.tenders.requests.asking import (
    MOST_PAGES,
    Publisher,
    Span,
    followed,
    is_paged,
    listed_releases,
    page_values,
    refuse_more_pages,
    retried_statuses,
    spans,
    url_of,
)
from assets.tenders.requests.declared import Files
from warehouse.record.landing import FetchedResponse

# A package without releases is at most its metadata.
_EMPTY = 1 << 16
_REFRESHES = 5
_LONGEST_WAIT = 60.0
_REFRESH = re.compile(
    rb"""<meta[^>]+http-equiv\s*=\s*["']?refresh["']?[^>]*content\s*=\s*["']\s*"""
    rb"""(\d+)\s*;\s*url\s*=\s*['"]?([^"'>]+)""",
    re.IGNORECASE,
)


def fetch(request: Files, publisher: Publisher, task: FetchTask) -> Iterator[FetchedResponse]:
    """Download every file of the window."""
    by_name = {span.name: span for span in spans(request, publisher, task.window)}
    return fetch_all(task.source, list(by_name), partial(_span, request, task, by_name))


def _span(
    request: Files, task: FetchTask, by_name: dict[str, Span], name: str
) -> Iterator[FetchedResponse]:
    span = by_name[name]
    if not is_paged(span.pattern):
        url = url_of(task, span.pattern, span.values)
        try:
            yield from _file(request, task, url)
        except FetchError as error:
            # No such file, or not yet.
            if error.status not in request.ends_on:
                raise
        return
    for page in range(MOST_PAGES):
        url = url_of(task, span.pattern, {**span.values, **page_values(request, page)})
        try:
            yield from _file(request, task, url)
        except FetchError as error:
            if error.status in request.ends_on:
                return
            words = f"file {page + 1} did not arrive: {error}"
            raise FetchError(words, error.status, error.retryable) from None
    raise refuse_more_pages(url)


def _file(request: Files, task: FetchTask, url: str) -> Iterator[FetchedResponse]:
    """Download one file; one without releases is not landed."""
    documents = (
        _refreshed(request, task, url)
        if request.follow_refresh
        else task.download(url, request.format, retried_statuses(request))
    )
    for document in documents:
        if not _is_empty(_opened(document)):
            yield document


def _refreshed(request: Files, task: FetchTask, url: str) -> Iterator[FetchedResponse]:
    """Download a file that is announced by pages that refresh themselves until it is ready."""
    at = url
    for _ in range(_REFRESHES):
        match = None
        for document in task.download(at, "any", retried_statuses(request)):
            start = _opened(document).read(_EMPTY)
            match = _REFRESH.search(start)
            if match is None:
                if request.format == "zip" and not start.startswith(b"PK"):
                    raise FetchError(f"{at}: it answers with something that is not zip")
                _opened(document).seek(0)
                # The address of the file itself is made up for each request.
                yield replace(document, url=without_secrets(url))
        if match is None:
            return
        link = html.unescape(match[2].decode("utf-8", "replace"))
        at = followed(task, at, link)
        time.sleep(min(float(match[1]), _LONGEST_WAIT))
    raise FetchError(f"{url}: it refreshes itself more than {_REFRESHES} times; try again later")


def _opened(document: FetchedResponse) -> IO[bytes]:
    assert not isinstance(document.body, bytes)
    return document.body


def _is_empty(body: IO[bytes]) -> bool:
    """Return whether a body is a package without releases; anything unreadable is not."""
    start = body.read(_EMPTY + 1)
    body.seek(0)
    if len(start) > _EMPTY:
        return False
    try:
        return listed_releases(json.loads(start)) == []
    except (ValueError, RecursionError):
        return False
