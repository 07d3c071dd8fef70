"""Fetch tenders: from portals' own APIs, the data registry, or any URL or file.

URLs are landed as requested, so that fetching one again shows what was edited.
"""

from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from functools import partial
from pathlib import Path

from assets.fetching import fetchers
from assets.fetching.client import Client, FetchError, SourceResponse
from assets.fetching.fetchers import Window
from assets.tenders.portals import PORTALS
from warehouse.record.landing import FetchedResponse
from warehouse.settings import Settings, variable_of
from warehouse.tables import LicenseClass

# Publications of the Open Contracting data registry by portal.
PUBLICATIONS: dict[str, str] = {"ng-budget": "64"}

# Without a window, as many days back as the portal still edits most of its releases.
_DAYS = 30
_PAGE = 1000
# A portal that never says it is the last page must not be fetched for ever.
_MOST_PAGES = 10_000
_FIRST_FINANCIAL_YEAR = 2018


def south_africa(
    client: Client, base: str, window: Window, settings: Settings
) -> Iterator[FetchedResponse]:
    """Fetch every day of the window by its own URL, completely.

    One day at a time: a release that disappears from the response for its day was withdrawn.
    """
    last = window.to or datetime.now(UTC).date()
    first = window.from_ or last - timedelta(days=_DAYS)
    days = [str(first + timedelta(days=n)) for n in range((last - first).days + 1)]
    return fetchers.fetch_all("za-etenders", days, partial(_day, client, base))


def kenya(
    client: Client, base: str, window: Window, settings: Settings
) -> Iterator[FetchedResponse]:
    """Fetch the financial years, July to June, that the window touches."""
    last = _financial_year(window.to or datetime.now(UTC).date())
    first = _financial_year(window.from_) if window.from_ else last
    years = range(max(first, _FIRST_FINANCIAL_YEAR), last + 1)
    names = [f"{year}-{year + 1}" for year in years]
    return fetchers.fetch_all("ke-ppip", names, partial(_financial_year_of_kenya, client, base))


def registry(
    client: Client,
    base: str,
    window: Window,
    settings: Settings,
    *,
    portal: str,
) -> Iterator[FetchedResponse]:
    """Fetch a publisher's bulk ``jsonl.gz``: by year in a window, else all of it.

    URLs or files in ``SANKOFA_ADDRESSES_<PORTAL>`` are fetched instead.
    """
    if portal in settings.addresses:
        return addresses(client, portal, settings.addresses[portal])
    number = settings.publications.get(portal, PUBLICATIONS.get(portal))
    if not number:
        raise FetchError(
            f"{portal}: which publication of the registry it is, is not set: set "
            f"{variable_of('SANKOFA_PUBLICATION_', portal)} to its number at "
            f"https://data.open-contracting.org, or {variable_of('SANKOFA_ADDRESSES_', portal)}"
        )
    names = [f"{name}.jsonl.gz" for name in _years(window) or ["full"]]
    return fetchers.fetch_all(portal, names, partial(_bulk, client, base, portal, number))


def addresses(client: Client, portal: str, locations: Sequence[str]) -> Iterator[FetchedResponse]:
    """Fetch URLs or local files as documents of a portal, in this order."""
    return fetchers.fetch_all(portal, locations, partial(_url_or_file, client, portal))


def _license_class(portal: str) -> LicenseClass:
    """Return the licence class that applies unless a package states its own."""
    return PORTALS[portal].license_class or "licensed"


def _day(client: Client, base: str, day: str) -> Iterator[FetchedResponse]:
    """Fetch all pages of a day before yielding any: an incomplete day is not landed."""
    responses: list[SourceResponse] = []
    for page in range(1, _MOST_PAGES):
        query: dict[str, str | int] = {"PageNumber": page, "PageSize": _PAGE}
        url = fetchers.build_url(base, "api/OCDSReleases", query | {"dateFrom": day, "dateTo": day})
        try:
            response = client.get(url, "json")
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
    license_class = _license_class("za-etenders")
    yield from (
        fetchers.fetched_response("za-etenders", license_class, response) for response in responses
    )


def _financial_year(day: date) -> int:
    return day.year if day.month >= 7 else day.year - 1


def _financial_year_of_kenya(client: Client, base: str, year: str) -> Iterator[FetchedResponse]:
    url = fetchers.build_url(base, "api/ocds/tenders", {"fy": year})
    response = client.get(url, "json", conditional=True)
    if response.changed:
        yield fetchers.fetched_response("ke-ppip", _license_class("ke-ppip"), response)


def _years(window: Window) -> list[str]:
    if window.from_ is None:
        return []
    last = (window.to or datetime.now(UTC).date()).year
    return [str(year) for year in range(window.from_.year, last + 1)]


def _bulk(
    client: Client, base: str, portal: str, number: str, name: str
) -> Iterator[FetchedResponse]:
    url = fetchers.build_url(base, f"en/publication/{number}/download", {"name": name})
    return fetchers.download_file(client, portal, _license_class(portal), url, "gzip")


def _url_or_file(client: Client, portal: str, location: str) -> Iterator[FetchedResponse]:
    if "://" in location:
        yield from fetchers.download_file(client, portal, _license_class(portal), location, "any")
        return
    path = Path(location)
    try:
        body = path.open("rb")
    except OSError as error:
        raise FetchError(f"{location} cannot be read ({error.strerror}): check the path") from None
    with body:
        url, observed_at = path.resolve().as_uri(), datetime.now(UTC)
        yield FetchedResponse(portal, url, body, _license_class(portal), observed_at)
