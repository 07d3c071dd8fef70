"""The shape *index*: lists that name documents, each of which is then fetched.

A list is JSON (``items`` and ``name`` say what names a document) or any text, such as HTML or RSS
(``pattern`` finds the names).
"""

import html
import re
from collections.abc import Iterator
from datetime import date
from functools import partial
from typing import Any
from urllib.parse import quote

from assets.fetching.client import FetchError, SourceResponse
from assets.fetching.fetchers import FetchTask, Window, fetch_all, response_json
from assets.tenders.requests.asking import (
    MOST_PAGES,
    Publisher,
    Span,
    ask,
    followed,
    listed_releases,
    member_at,
    page_values,
    refuse_more_pages,
    retried_statuses,
    spans,
    url_of,
)
from assets.tenders.requests.declared import Index
from assets.tenders.requests.patterns import Period, PeriodKind, fill, periods_of
from warehouse.record.landing import FetchedResponse


def fetch(request: Index, publisher: Publisher, task: FetchTask) -> Iterator[FetchedResponse]:
    """Read the lists of the window, then fetch every document they name.

    If a list does not arrive, what was named before it is fetched all the same.
    """
    names: dict[str, None] = {}
    failed: FetchError | None = None
    try:
        for span in spans(request, publisher, task.window):
            for name in _names(request, task, span):
                if _in_window(request, name, task.window):
                    names.setdefault(name)
    except FetchError as error:
        failed = error
    yield from fetch_all(task.source, list(names), partial(_document, request, task))
    if failed is not None:
        raise FetchError(f"the list did not arrive: {failed}", failed.status, failed.retryable)


def _names(request: Index, task: FetchTask, span: Span) -> Iterator[str]:
    """Yield the names on all pages of a list."""
    values: dict[str, Any] = {**span.values}
    if request.cursor is not None:
        values["cursor"] = fill(request.cursor, values)
    seen = set[str]()
    for page in range(MOST_PAGES):
        values |= page_values(request, page)
        url = url_of(task, span.pattern, values)
        try:
            response = ask(
                task,
                request,
                url,
                "any" if request.pattern else "json",
                request.body,
                values,
            )
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
    raise refuse_more_pages(url)


def _found(request: Index, response: SourceResponse, content: Any) -> Iterator[str]:
    if request.pattern is not None:
        text = response.body.decode("utf-8", "replace")
        yield from map(html.unescape, re.findall(request.pattern, text, re.DOTALL))
        return
    items = content if request.items is None else member_at(content, request.items)
    if request.items is not None and items is None:
        # "content": null is how some portals say that there is no such page.
        return
    if not isinstance(items, list):
        where = f"its member {request.items}" if request.items else "the response"
        raise FetchError(f"{response.url}: {where} is not a list; report it")
    for item in items:
        name = item if request.name is None else member_at(item, request.name)
        if isinstance(name, bool) or not isinstance(name, str | int) or not str(name).strip():
            raise FetchError(
                f"{response.url}: an item without a {request.name or 'name'}: {item!r:.100}"
            )
        yield str(name)


def _continues(request: Index, page: int, content: Any, values: dict[str, Any]) -> bool:
    """Return whether there may be another page; sets the cursor of the next one."""
    used = request.placeholders()
    if "cursor" in used:
        cursor = member_at(content, request.next or "")
        if cursor in (None, "", values["cursor"]):
            return False
        values["cursor"] = cursor
        return True
    if used.isdisjoint({"page", "offset"}):
        return False
    if request.pages is not None:
        count = member_at(content, request.pages)
        return isinstance(count, int) and page + 1 < count
    return request.next is None or bool(member_at(content, request.next))


def _in_window(request: Index, name: str, window: Window) -> bool:
    """Return whether the period in a name lies in the window; True if it has none."""
    match = re.search(request.dated, name) if request.dated is not None else None
    if match is None or window == Window():
        return True
    found = {group: int(number) for group, number in match.groupdict().items() if number}
    kind: PeriodKind = "day" if "day" in found else "month" if "month" in found else "year"
    try:
        period = _period(kind, found)
    except ValueError:
        return True
    return not (
        (window.to is not None and period.first > window.to)
        or (window.from_ is not None and period.last < window.from_)
    )


def _period(kind: PeriodKind, found: dict[str, int]) -> Period:
    day = date(found["year"], found.get("month", 1), found.get("day", 1))
    (period,) = periods_of(kind, Window(day, day), day)
    return period


def _document(request: Index, task: FetchTask, name: str) -> Iterator[FetchedResponse]:
    for old, new in request.replace.items():
        name = name.replace(old, new)
    if request.document is None:
        url = followed(task, f"{task.base_url}/", name)
    else:
        address = fill(request.document, {"name": quote(name, safe="")})
        url = followed(task, f"{task.base_url}/", address)
    try:
        if request.format == "json":
            response = ask(task, request, url, "json", conditional=True)
            if response.changed and not _is_empty(response):
                yield task.landable(response)
            return
        yield from task.download(url, request.format, retried_statuses(request))
    except FetchError as error:
        if error.status not in request.ends_on:
            raise


def _is_empty(response: SourceResponse) -> bool:
    """Return whether a response is a package without releases; broken JSON is landed."""
    try:
        return listed_releases(response_json(response)) == []
    except FetchError:
        return False
