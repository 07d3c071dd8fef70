"""Fetch tenders: from portals' own APIs or the data registry.

URLs are landed as requested, so that fetching one again shows what was edited.
"""

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from functools import partial

from assets.fetching import fetchers
from assets.fetching.client import FetchError, SourceResponse
from assets.fetching.fetchers import FetchTask, Window
from warehouse.record.landing import FetchedResponse
from warehouse.settings import variable_of

# Publications of the Open Contracting data registry by portal.
PUBLICATIONS: dict[str, str] = {"ng-budget": "64"}

# Without a window, as many days back as the portal still edits most of its releases.
_DAYS = 30
_PAGE = 1000
# A portal that never says it is the last page must not be fetched for ever.
_MOST_PAGES = 10_000
_FIRST_FINANCIAL_YEAR = 2018


def south_africa(task: FetchTask) -> Iterator[FetchedResponse]:
    """Fetch every day of the window by its own URL, completely.

    One day at a time: a release that disappears from the response for its day was withdrawn.
    """
    last = task.window.to or datetime.now(UTC).date()
    first = task.window.from_ or last - timedelta(days=_DAYS)
    days = [str(first + timedelta(days=n)) for n in range((last - first).days + 1)]
    return fetchers.fetch_all(task.source, days, partial(_day, task))


def kenya(task: FetchTask) -> Iterator[FetchedResponse]:
    """Fetch the financial years, July to June, that the window touches."""
    last = _financial_year(task.window.to or datetime.now(UTC).date())
    first = _financial_year(task.window.from_) if task.window.from_ else last
    years = range(max(first, _FIRST_FINANCIAL_YEAR), last + 1)
    names = [f"{year}-{year + 1}" for year in years]
    return fetchers.fetch_all(task.source, names, partial(_financial_year_of_kenya, task))


def registry(task: FetchTask) -> Iterator[FetchedResponse]:
    """Fetch a publisher's bulk ``jsonl.gz``: by year in a window, else all of it."""
    number = task.settings.publications.get(task.source, PUBLICATIONS.get(task.source))
    if not number:
        raise FetchError(
            f"{task.source}: which publication of the registry it is, is not set: set "
            f"{variable_of('SANKOFA_PUBLICATION_', task.source)} to its number at "
            "https://data.open-contracting.org"
        )
    names = [f"{name}.jsonl.gz" for name in _years(task.window) or ["full"]]
    return fetchers.fetch_all(task.source, names, partial(_bulk, task, number))


def _day(task: FetchTask, day: str) -> Iterator[FetchedResponse]:
    """Fetch all pages of a day before yielding any: an incomplete day is not landed."""
    responses: list[SourceResponse] = []
    for page in range(1, _MOST_PAGES):
        query: dict[str, str | int] = {"PageNumber": page, "PageSize": _PAGE}
        url = task.url("api/OCDSReleases", query | {"dateFrom": day, "dateTo": day})
        try:
            response = task.client.get(url, "json")
        except FetchError as error:
            raise FetchError(f"page {page} did not arrive: {error}", error.status) from None
        package = fetchers.response_json(response)
        releases = fetchers.json_member(package, "releases")
        if not isinstance(releases, list):
            raise FetchError(f"{response.url}: the response is not a release package; report it")
        if releases:
            responses.append(response)
        if not releases or not fetchers.json_member(package, "links", "next"):
            break
    yield from map(task.landable, responses)


def _financial_year(day: date) -> int:
    return day.year if day.month >= 7 else day.year - 1


def _financial_year_of_kenya(task: FetchTask, year: str) -> Iterator[FetchedResponse]:
    url = task.url("api/ocds/tenders", {"fy": year})
    response = task.client.get(url, "json", conditional=True)
    if response.changed:
        yield task.landable(response)


def _years(window: Window) -> list[str]:
    if window.from_ is None:
        return []
    last = (window.to or datetime.now(UTC).date()).year
    return [str(year) for year in range(window.from_.year, last + 1)]


def _bulk(task: FetchTask, number: str, name: str) -> Iterator[FetchedResponse]:
    return task.download(task.url(f"en/publication/{number}/download", {"name": name}), "gzip")
