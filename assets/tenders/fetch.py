"""Fetch a portal as its entry says: by links, an index or files.

URLs are landed as requested, so that fetching one again shows what was edited. What the responses
say is read by the parser, elsewhere.
"""

import html
import json
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, date, datetime
from functools import partial
from itertools import product
from typing import IO, Any, NamedTuple, cast
from urllib.parse import parse_qs, quote, urljoin, urlsplit

from assets.fetching.addresses import without_secrets
from assets.fetching.client import FetchError, SourceResponse
from assets.fetching.fetchers import FetchTask, Window, fetch_all, json_member, response_json
from assets.fetching.http_bodies import RETRYABLE_STATUSES, ExpectedFormat
from assets.tenders.portal_files import PortalEntry
from assets.tenders.releases import WRAPPERS
from assets.tenders.requests import (
    Files,
    Index,
    Links,
    PeriodKind,
    Request,
    fill_all,
    periods_of,
    placeholders,
)
from warehouse.record.landing import FetchedResponse
from warehouse.shared.settings import variable_of

# A portal that never says it is the last page must not be fetched for ever.
_MOST_PAGES = 10_000
# A package without releases is at most its metadata.
_EMPTY = 1 << 16
_REFRESHES = 5
_LONGEST_WAIT = 60.0
_REFRESH = re.compile(
    rb"""<meta[^>]+http-equiv\s*=\s*["']?refresh["']?[^>]*content\s*=\s*["']\s*"""
    rb"""(\d+)\s*;\s*url\s*=\s*['"]?([^"'>]+)""",
    re.IGNORECASE,
)


class _Span(NamedTuple):
    """One period and one value of each list: its name, and the values of its placeholders."""

    name: str
    pattern: str
    values: Mapping[str, Any]


def fetch_portal(entry: PortalEntry, task: FetchTask) -> Iterator[FetchedResponse]:
    """Fetch the window of a portal."""
    request = entry.request
    assert request is not None
    publication = task.settings.publications.get(task.source, entry.publication)
    if "publication" in request.placeholders() and not publication:
        raise FetchError(
            f"{task.source}: which publication of the registry it is, is not set: set "
            f"{variable_of('SANKOFA_PUBLICATION_', task.source)} to its number at "
            "https://data.open-contracting.org"
        )
    spans = _spans(request, entry.since, publication, task.window)
    if isinstance(request, Index):
        return _named_documents(request, task, spans)
    by_name = {span.name: span for span in spans}
    if isinstance(request, Files):
        return fetch_all(
            task.source, list(by_name), lambda name: _files(request, task, by_name[name])
        )

    def linked(name: str) -> Iterator[FetchedResponse]:
        pages = _linked_pages(request, task, by_name[name])
        # What a complete address no longer shows was withdrawn: an incomplete one must not be
        # landed.
        yield from map(task.landable, list(pages) if entry.quirks.complete_addresses else pages)

    return fetch_all(task.source, list(by_name), linked)


def _spans(
    request: Request, since: date | None, publication: str | None, window: Window
) -> list[_Span]:
    """Return the spans to request for a window, oldest first."""
    lists = [
        dict(zip(request.each, values, strict=True)) for values in product(*request.each.values())
    ]
    fixed = {} if publication is None else {"publication": publication}
    if request.period is None or (request.whole is not None and window == Window()):
        pattern, periods = request.whole or request.address, [("all", dict[str, Any]())]
    else:
        today, year_starts = datetime.now(UTC).date(), request.year_starts or 1
        found = periods_of(request.period, window, today, since, year_starts, request.recent)
        pattern = request.address
        periods = [(period.name, period.values(request.year_offset)) for period in found]
    return [
        _Span(" ".join([name, *chosen.values()]), pattern, {**fixed, **chosen, **values})
        for name, values in periods
        for chosen in lists
    ]


# Pages of packages, each of which links to the next.
#
# Where the address has ``{page}``, the next page is requested by its number as long as there is a
# link; otherwise the link itself is followed.


def _linked_pages(request: Links, task: FetchTask, span: _Span) -> Iterator[SourceResponse]:
    """Yield the pages that have releases."""
    url = _page_url(request, task, span, 0)
    seen, previous = set[str](), b""
    for page in range(_MOST_PAGES):
        seen.add(url)
        try:
            response = task.client.get(url, "json", retry_on=_retried_statuses(request))
        except FetchError as error:
            if error.status in request.ends_on:
                return
            words = f"page {page + 1} did not arrive: {error}"
            raise FetchError(words, error.status, error.retryable) from None
        package = response_json(response)
        releases = _listed_releases(package)
        if releases is None:
            raise FetchError(f"{response.url}: the response is not a release package; report it")
        if releases and response.body == previous:
            raise FetchError(f"{response.url}: the same page again, so its pages never end")
        if releases:
            yield response
        link = _link(request, package)
        if link is None or (_is_paged(span) and not releases):
            return
        previous = response.body
        if _is_paged(span):
            url = _page_url(request, task, span, page + 1)
        else:
            url = _followed(task, url, link)
        if url in seen:
            raise FetchError(
                f"{response.url}: {request.next} leads back to {url}, so its pages never end; "
                "report it"
            )
    raise _refuse_more_pages(url)


def _link(request: Links, package: Any) -> str | None:
    """Return the link to the next page; None on the last page."""
    link = _member_at(package, request.next)
    if not isinstance(link, str) or not link.strip():
        return None
    # Some portals still link on the last page, but drop what says where to go on.
    if request.next_needs is not None and request.next_needs not in parse_qs(urlsplit(link).query):
        return None
    return link


# Lists that name documents, each of which is then fetched.
#
# A list is JSON (``items`` and ``name`` say what names a document) or any text, such as HTML or
# RSS (``pattern`` finds the names).


def _named_documents(
    request: Index, task: FetchTask, spans: list[_Span]
) -> Iterator[FetchedResponse]:
    """Read the lists of the window, then fetch every document they name.

    If a list does not arrive, what was named before it is fetched all the same.
    """
    names: dict[str, None] = {}
    failed: FetchError | None = None
    try:
        for span in spans:
            for name in _names(request, task, span):
                if _in_window(request, name, task.window):
                    names.setdefault(name)
    except FetchError as error:
        failed = error
    yield from fetch_all(task.source, list(names), partial(_document, request, task))
    if failed is not None:
        raise FetchError(f"the list did not arrive: {failed}", failed.status, failed.retryable)


def _names(request: Index, task: FetchTask, span: _Span) -> Iterator[str]:
    """Yield the names on all pages of a list."""
    values: dict[str, Any] = {**span.values}
    if request.cursor is not None:
        values["cursor"] = request.cursor.format(**values)
    seen = set[str]()
    for page in range(_MOST_PAGES):
        values |= _page_values(request, page)
        url = task.base_url + span.pattern.format(**values)
        try:
            response = _list_response(request, task, url, values)
        except FetchError as error:
            if error.status in request.ends_on:
                return
            raise
        content = None if request.pattern else response_json(response)
        found = list(_found(request, response, content))
        new = [name for name in found if name not in seen]
        seen.update(new)
        yield from new
        if not _continues(request, page, content, values):
            return
        if not new:
            # Without a member that says whether there is more, an empty page is the last.
            if request.next is None or "cursor" in request.placeholders() or not found:
                return
            raise FetchError(
                f"{url}: a page that names nothing new, so its pages never end; report it"
            )
    raise _refuse_more_pages(url)


def _list_response(
    request: Index, task: FetchTask, url: str, values: Mapping[str, Any]
) -> SourceResponse:
    """Ask for a list; where the entry has a body, by a POST of it as JSON."""
    expects: ExpectedFormat = "any" if request.pattern else "json"
    retry_on = _retried_statuses(request)
    if request.body is None:
        return task.client.get(url, expects, retry_on=retry_on)
    content = json.dumps(fill_all(request.body, values)).encode()
    headers = {"Content-Type": "application/json"}
    return task.client.post(url, content, headers, expects, retry_on=retry_on)


def _found(request: Index, response: SourceResponse, content: Any) -> Iterator[str]:
    if request.pattern is not None:
        text = response.body.decode("utf-8", "replace")
        yield from map(html.unescape, re.findall(request.pattern, text, re.DOTALL))
        return
    items = content if request.items is None else _member_at(content, request.items)
    if request.items is not None and items is None:
        # "content": null is how some portals say that there is no such page.
        return
    if not isinstance(items, list):
        where = f"its member {request.items}" if request.items else "the response"
        raise FetchError(f"{response.url}: {where} is not a list; report it")
    for item in items:
        name = item if request.name is None else _member_at(item, request.name)
        if isinstance(name, bool) or not isinstance(name, str | int) or not str(name).strip():
            raise FetchError(
                f"{response.url}: an item without a {request.name or 'name'}: {item!r:.100}"
            )
        yield str(name)


def _continues(request: Index, page: int, content: Any, values: dict[str, Any]) -> bool:
    """Return whether there may be another page; sets the cursor of the next one."""
    used = request.placeholders()
    if "cursor" in used:
        cursor = _member_at(content, request.next or "")
        if cursor in (None, "", values["cursor"]):
            return False
        values["cursor"] = cursor
        return True
    if used.isdisjoint({"page", "offset"}):
        return False
    if request.pages is not None:
        count = _member_at(content, request.pages)
        return isinstance(count, int) and page + 1 < count
    return request.next is None or bool(_member_at(content, request.next))


def _in_window(request: Index, name: str, window: Window) -> bool:
    """Return whether the period in a name lies in the window; True if it has none."""
    match = re.search(request.dated, name) if request.dated is not None else None
    if match is None or window == Window():
        return True
    found = {group: int(number) for group, number in match.groupdict().items() if number}
    kind: PeriodKind = "day" if "day" in found else "month" if "month" in found else "year"
    try:
        day = date(found["year"], found.get("month", 1), found.get("day", 1))
        (period,) = periods_of(kind, Window(day, day), day)
    except ValueError:
        return True
    return not (
        (window.to is not None and period.first > window.to)
        or (window.from_ is not None and period.last < window.from_)
    )


def _document(request: Index, task: FetchTask, name: str) -> Iterator[FetchedResponse]:
    for old, new in request.replace.items():
        name = name.replace(old, new)
    if request.document is not None:
        name = request.document.format(name=quote(name, safe=""))
    url, retry_on = _followed(task, f"{task.base_url}/", name), _retried_statuses(request)
    try:
        if request.format == "json":
            response = task.client.get(url, "json", conditional=True, retry_on=retry_on)
            if response.changed and not _is_empty(response.body):
                yield task.landable(response)
            return
        yield from task.download(url, request.format, retry_on)
    except FetchError as error:
        if error.status not in request.ends_on:
            raise


# Documents whose addresses follow from a period, a number or both.


def _files(request: Files, task: FetchTask, span: _Span) -> Iterator[FetchedResponse]:
    for page in range(_MOST_PAGES):
        url = _page_url(request, task, span, page)
        try:
            yield from _file(request, task, url)
        except FetchError as error:
            # After the last page; or no such file, or not yet.
            if error.status in request.ends_on:
                return
            if not _is_paged(span):
                raise
            words = f"file {page + 1} did not arrive: {error}"
            raise FetchError(words, error.status, error.retryable) from None
        if not _is_paged(span):
            return
    raise _refuse_more_pages(url)


def _file(request: Files, task: FetchTask, url: str) -> Iterator[FetchedResponse]:
    """Download one file; one without releases is not landed."""
    documents = (
        _refreshed(request, task, url)
        if request.follow_refresh
        else task.download(url, request.format, _retried_statuses(request))
    )
    for document in documents:
        body = cast(IO[bytes], document.body)
        start = body.read(_EMPTY + 1)
        body.seek(0)
        if len(start) > _EMPTY or not _is_empty(start):
            yield document


def _refreshed(request: Files, task: FetchTask, url: str) -> Iterator[FetchedResponse]:
    """Download a file that is announced by pages that refresh themselves until it is ready."""
    at = url
    for _ in range(_REFRESHES):
        match = None
        for document in task.download(at, "any", _retried_statuses(request)):
            body = cast(IO[bytes], document.body)
            start = body.read(_EMPTY)
            match = _REFRESH.search(start)
            if match is None:
                if request.format == "zip" and not start.startswith(b"PK"):
                    raise FetchError(f"{at}: it answers with something that is not zip")
                body.seek(0)
                # The address of the file itself is made up for each request.
                yield replace(document, url=without_secrets(url))
        if match is None:
            return
        link = html.unescape(match[2].decode("utf-8", "replace"))
        at = _followed(task, at, link)
        time.sleep(min(float(match[1]), _LONGEST_WAIT))
    raise FetchError(f"{url}: it refreshes itself more than {_REFRESHES} times; try again later")


def _page_values(request: Request, page: int) -> dict[str, int]:
    """Return the values of the placeholders that count pages; ``page`` counts from 0."""
    return {"page": request.first_page + page, "offset": page * (request.page_size or 0)}


def _page_url(request: Request, task: FetchTask, span: _Span, page: int) -> str:
    return task.base_url + span.pattern.format(**{**span.values, **_page_values(request, page)})


def _is_paged(span: _Span) -> bool:
    """Return whether a span is requested page by page, by their numbers."""
    return not {"page", "offset"}.isdisjoint(placeholders(span.pattern))


def _retried_statuses(request: Request) -> frozenset[int]:
    """Return the statuses after which a request is sent again, a few times, with growing waits."""
    return (RETRYABLE_STATUSES | request.repeats_on) - request.ends_on


def _followed(task: FetchTask, at: str, link: str) -> str:
    """Return the URL of a link found at a URL; refuse one that leaves the publisher."""
    target = urlsplit(task.client.published_url(urljoin(at, link.strip())))
    base = urlsplit(task.base_url)
    if target.hostname == base.hostname:
        # Portals behind a proxy write the scheme or port that they see themselves.
        return target._replace(scheme=base.scheme, netloc=base.netloc, fragment="").geturl()
    if target.scheme in ("http", "https") and target.hostname in task.other_hosts:
        return target._replace(fragment="").geturl()
    raise FetchError(
        f"{at}: it links to another host ({target.geturl():.200}), which is not followed; if "
        "that host is the publisher's, add it to the member hosts of the portal"
    )


def _member_at(value: Any, path: str) -> Any:
    """Return the member at a dotted path; None where one is missing."""
    return json_member(value, *path.split("."))


def _listed_releases(package: Any) -> list[Any] | None:
    """Return the releases or records of a package; None if it is no package."""
    if isinstance(package, list):
        return package
    for name in ("releases", "records"):
        if isinstance(json_member(package, name), list):
            return list(package[name])
    inner = next((name for name in WRAPPERS if json_member(package, name) is not None), None)
    return None if inner is None else _listed_releases(package[inner])


def _is_empty(body: bytes) -> bool:
    """Return whether a body is a package without releases; broken JSON is not, and is landed."""
    try:
        return _listed_releases(json.loads(body)) == []
    except (ValueError, RecursionError):
        return False


def _refuse_more_pages(at: str) -> FetchError:
    return FetchError(f"{at}: more than {_MOST_PAGES} pages, and no last one; report it")
