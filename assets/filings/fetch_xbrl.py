"""Fetch the reports of filings.xbrl.org."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from assets.fetching import fetchers
from assets.fetching.client import FetchError
from assets.fetching.fetchers import FetchTask
from warehouse.record.landing import FetchedResponse

COUNTRIES = ("UA",)

_PAGE = 100


def xbrl_filings(task: FetchTask) -> Iterator[FetchedResponse]:
    """Fetch the reports that were added to the index in the window, with their dates and ids."""
    names = task.settings.xbrl_countries or COUNTRIES
    return fetchers.fetch_all(task.source, names, partial(_country, task))


def _country(task: FetchTask, country: str) -> Iterator[FetchedResponse]:
    for filing in _index(task, country):
        path, added = (
            fetchers.json_member(filing, "json_url"),
            str(fetchers.json_member(filing, "date_added")),
        )
        # A filing without a JSON report is one that the index could not convert.
        if not path or (task.window.to and added[:10] > str(task.window.to)):
            continue
        response = task.client.get(
            f"{task.base_url}/{str(path).lstrip('/')}", "json", conditional=True
        )
        if response.changed:
            # The report states neither: its parser reads them from the landed headers.
            report_id = str(fetchers.json_member(filing, "fxo_id"))
            extra_headers = {"x-date-added": added, "x-fxo-id": report_id}
            yield task.landable(response, extra_headers)


def _index(task: FetchTask, country: str) -> Iterator[Any]:
    """Yield the filings of a country, newest first, back to the first day of the task.window."""
    query: dict[str, str | int] = {
        "filter[country]": country,
        "page[size]": _PAGE,
        "sort": "-date_added",
    }
    seen, count, page = 0, 1, 1
    while seen < count:
        response = task.client.get(task.url("api/filings", query | {"page[number]": page}), "json")
        index = fetchers.response_json(response)
        filings, count = (
            fetchers.json_member(index, "data"),
            fetchers.json_member(index, "meta", "count"),
        )
        if not isinstance(filings, list) or not isinstance(count, int):
            raise FetchError(f"{response.url}: not a page of the index; report it")
        # Otherwise a page that fails quietly would look like the end.
        if not filings and seen < count:
            raise FetchError(f"{country}: page {page} is empty after {seen} of {count}; try again")
        for filing in filings:
            attributes = fetchers.json_member(filing, "attributes")
            if task.window.from_ and str(fetchers.json_member(attributes, "date_added"))[:10] < str(
                task.window.from_
            ):
                return
            yield attributes
        seen, page = seen + len(filings), page + 1
