"""Fetch filings that are published as files: CVM's zips, and the SEC's data sets."""

import logging
from collections.abc import Iterator
from datetime import UTC, date, datetime

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
