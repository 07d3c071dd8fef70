"""What the three shapes share: spans of a window, one request, links to the same publisher."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from itertools import product
from typing import Any
from urllib.parse import urljoin, urlsplit

from assets.fetching.client import FetchError, SourceResponse
from assets.fetching.fetchers import FetchTask, Window, json_member
from assets.fetching.http_bodies import RETRYABLE_STATUSES, ExpectedFormat
from assets.tenders.releases import WRAPPERS
from assets.tenders.requests.declared import Request
from assets.tenders.requests.patterns import fill, fill_all, periods_of, placeholders

# A portal that never says it is the last page must not be fetched for ever.
MOST_PAGES = 10_000


@dataclass(frozen=True)
class Publisher:
    """What a fetcher knows of a portal besides its request."""

    since: date | None = None
    complete: bool = False
    publication: str | None = None


@dataclass(frozen=True)
class Span:
    """One period and one value of each list: its name, and the values of its placeholders."""

    name: str
    pattern: str
    values: Mapping[str, Any]


def spans(request: Request, publisher: Publisher, window: Window) -> list[Span]:
    """Return what has to be asked for a window, oldest first."""
    lists = [
        dict(zip(request.each, values, strict=True)) for values in product(*request.each.values())
    ]
    fixed = {} if publisher.publication is None else {"publication": publisher.publication}
    if request.period is None or (request.whole is not None and window == Window()):
        pattern, periods = request.whole or request.address, [("all", dict[str, Any]())]
    else:
        today = datetime.now(UTC).date()
        found = periods_of(
            request.period,
            window,
            today,
            publisher.since,
            request.year_starts or 1,
            request.recent,
        )
        pattern = request.address
        periods = [(period.name, period.values(request.year_offset)) for period in found]
    return [
        Span(" ".join([name, *chosen.values()]), pattern, {**fixed, **chosen, **values})
        for name, values in periods
        for chosen in lists
    ]


def page_values(request: Request, page: int) -> dict[str, int]:
    """Return the values of the placeholders that count pages; ``page`` counts from 0."""
    return {"page": request.first_page + page, "offset": page * (request.page_size or 0)}


def is_paged(pattern: str) -> bool:
    """Return whether a pattern asks for a page by its number."""
    return not {"page", "offset"}.isdisjoint(placeholders(pattern))


def url_of(task: FetchTask, pattern: str, values: Mapping[str, Any]) -> str:
    """Return the URL of a filled pattern."""
    return task.base_url + fill(pattern, values)


def ask(
    task: FetchTask,
    request: Request,
    url: str,
    expects: ExpectedFormat,
    body: Any = None,
    values: Mapping[str, Any] | None = None,
    conditional: bool = False,
) -> SourceResponse:
    """Send one request; with ``body``, a POST of it as JSON."""
    if body is None:
        return task.client.get(
            url, expects, conditional=conditional, retry_on=retried_statuses(request)
        )
    content = json.dumps(fill_all(body, values or {})).encode()
    headers = {"Content-Type": "application/json"}
    return task.client.post(url, content, headers, expects, retry_on=retried_statuses(request))


def retried_statuses(request: Request) -> frozenset[int]:
    """Return the statuses after which a request is sent again, a few times, with growing waits."""
    return (RETRYABLE_STATUSES | request.repeats_on) - request.ends_on


def followed(task: FetchTask, at: str, link: str) -> str:
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


def member_at(value: Any, path: str) -> Any:
    """Return the member at a dotted path; None where one is missing."""
    return json_member(value, *path.split("."))


def listed_releases(package: Any) -> list[Any] | None:
    """Return the releases or records of a package; None if it is no package."""
    if isinstance(package, list):
        return package
    for name in ("releases", "records"):
        if isinstance(json_member(package, name), list):
            return list(package[name])
    inner = next((name for name in WRAPPERS if json_member(package, name) is not None), None)
    return None if inner is None else listed_releases(package[inner])


def refuse_more_pages(at: str) -> FetchError:
    """Return the error for a portal that never ends."""
    return FetchError(f"{at}: more than {MOST_PAGES} pages, and no last one; report it")
