"""Fetch filings that are published as files: CVM's zips, the SEC's data sets, filings.xbrl.org."""

import logging
from collections.abc import Iterator
from datetime import UTC, date, datetime
from functools import partial
from typing import Any

from assets.fetching import fetchers
from assets.fetching.client import FetchError
from assets.fetching.fetchers import FetchTask
from warehouse.record.landing import FetchedResponse

# Fetch the statements that CVM publishes: a zip for each form and year.


# The forms, annual and quarterly, and the first year that CVM has a file of.
FIRST_YEARS = {"DFP": 2010, "ITR": 2011}


def statements(task: FetchTask) -> Iterator[FetchedResponse]:
    """Fetch the zips of all years; nothing of those that have not changed.

    The file of a year changes for as long as companies file its documents again.
    """
    years = range(min(FIRST_YEARS.values()), datetime.now(UTC).year + 1)
    names = [
        f"{form}/DADOS/{form.lower()}_cia_aberta_{year}.zip"
        for year in reversed(years)
        for form, first in FIRST_YEARS.items()
        if first <= year
    ]
    return fetchers.fetch_all(
        task.source,
        names,
        lambda name: task.download(task.url(f"dados/CIA_ABERTA/DOC/{name}"), "zip"),
    )


# Fetch the SEC's Financial Statement Data Sets: a zip for each quarter since 2009.


FOLDER = "files/dera/data/financial-statement-data-sets"
_FIRST_YEAR = 2009
_NOT_FOUND = 404
_log = logging.getLogger(__name__)


def data_sets(task: FetchTask) -> Iterator[FetchedResponse]:
    """Fetch the sets of all quarters that are over; nothing of those that have not changed."""
    names = quarters_until(datetime.now(UTC).date())

    def fetch_one(name: str) -> Iterator[FetchedResponse]:
        try:
            yield from task.download(task.url(f"{FOLDER}/{name}.zip"), "zip")
        except FetchError as error:
            # The set of a quarter is made some weeks after it is over.
            if error.status != _NOT_FOUND or name != names[0]:
                raise
            _log.info("%s: the set of %s is not published yet", task.source, name)

    return fetchers.fetch_all(task.source, names, fetch_one)


def quarters_until(today: date) -> list[str]:
    """Return the names of the quarters that are over, the newest first: ``2021q1``."""
    over = today.year * 4 + (today.month - 1) // 3
    return [
        f"{number // 4}q{number % 4 + 1}" for number in range(over - 1, _FIRST_YEAR * 4 - 1, -1)
    ]


# Fetch the reports of filings.xbrl.org.


COUNTRIES = ("UA",)

_PAGE = 100


def xbrl_filings(task: FetchTask) -> Iterator[FetchedResponse]:
    """Fetch the reports that were added to the index in the window, with their dates and ids."""
    names = task.settings.xbrl_countries or COUNTRIES
    return fetchers.fetch_all(task.source, names, partial(_country, task))


def _country(task: FetchTask, country: str) -> Iterator[FetchedResponse]:
    for filing in _index(task, country):
        path, added = fetchers.json_member(filing, "json_url"), _date_added(filing)
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
        filings = fetchers.json_member(index, "data")
        count = fetchers.json_member(index, "meta", "count")
        if not isinstance(filings, list) or not isinstance(count, int):
            raise FetchError(f"{response.url}: not a page of the index; report it")
        # Otherwise a page that fails quietly would look like the end.
        if not filings and seen < count:
            raise FetchError(f"{country}: page {page} is empty after {seen} of {count}; try again")
        for filing in filings:
            attributes = fetchers.json_member(filing, "attributes")
            if task.window.from_ and _date_added(attributes)[:10] < str(task.window.from_):
                return
            yield attributes
        seen, page = seen + len(filings), page + 1


def _date_added(filing: Any) -> str:
    return str(fetchers.json_member(filing, "date_added"))
