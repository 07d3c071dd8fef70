"""Fetch the statements that CVM publishes: a zip for each form and year."""

from collections.abc import Iterator
from datetime import UTC, datetime

from assets.fetching import fetchers
from assets.fetching.fetchers import FetchTask
from warehouse.record.landing import FetchedResponse

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
