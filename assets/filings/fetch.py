"""Fetch filings: SEC EDGAR by issuer or in bulk, and the reports of filings.xbrl.org."""

import re
from collections.abc import Iterator
from functools import partial
from typing import Any

from assets.fetching import fetchers
from assets.fetching.client import FetchError
from assets.fetching.fetchers import FetchTask
from warehouse.record.landing import FetchedResponse

# CIK -> name; the default unless the settings list others.
ISSUERS: dict[str, str] = {
    "1172724": "Gold Fields",
    "314590": "Sasol",
    "1067428": "AngloGold Ashanti",
    "1023514": "Harmony Gold",
    "1023512": "DRDGOLD",
    "1786909": "Sibanye Stillwater",
    "1756708": "Jumia",
    "1046179": "Taiwan Semiconductor",
    "917851": "Vale",
    "1119639": "Petrobras",
}
COUNTRIES = ("UA",)
# Fixed batches of issuers, for partitions: see ``batch_of``.
BATCHES = tuple(f"{number:02}" for number in range(16))

_PAGE = 100
_OLDER_PAGE = re.compile(r"CIK[0-9]{10}-submissions-[0-9]+\.json")


def submissions(task: FetchTask) -> Iterator[FetchedResponse]:
    """Fetch the list of filings of every issuer, with the older pages it names.

    The source cannot be queried by date; an issuer whose list has not changed yields nothing.
    """
    names = _issuers(task)
    return fetchers.fetch_all(task.source, names, partial(_submissions, task))


def companyfacts(task: FetchTask) -> Iterator[FetchedResponse]:
    """Fetch all facts of every issuer; the source cannot be queried by date."""
    names = _issuers(task)
    return fetchers.fetch_all(task.source, names, partial(_companyfacts, task))


def companyfacts_bulk(task: FetchTask) -> Iterator[FetchedResponse]:
    """Fetch the nightly zip of all issuers' facts in one download.

    It is landed as one body: a zip with one ``CIK##########.json`` per issuer, like a single
    response of companyfacts. The loader reads it through ``Source.stream``: a zip is opened from
    its end, so the stream copies the body to a temporary file first, then parses member by
    member; memory stays that of one issuer.
    """
    url = f"{task.base_url}/xbrl/companyfacts.zip"
    return task.download(url, "zip")


def submissions_bulk(task: FetchTask) -> Iterator[FetchedResponse]:
    """Fetch the nightly zip of all filers' lists; it is read like the zip of facts."""
    url = f"{task.base_url}/bulkdata/submissions.zip"
    return task.download(url, "zip")


def xbrl_filings(task: FetchTask) -> Iterator[FetchedResponse]:
    """Fetch the reports that were added to the index in the window, with their dates and ids."""
    names = task.settings.xbrl_countries or COUNTRIES
    return fetchers.fetch_all(task.source, names, partial(_country, task))


def batch_of(cik: str) -> str:
    """Return the batch of an issuer, which never depends on the other issuers."""
    return BATCHES[int(_padded(cik)) % len(BATCHES)]


def _issuers(task: FetchTask) -> tuple[str, ...]:
    names = task.settings.ciks or tuple(ISSUERS)
    if not task.window.batches:
        return names
    return tuple(name for name in names if batch_of(name) in task.window.batches)


def _padded(cik: str) -> str:
    if not re.fullmatch(r"[0-9]{1,10}", cik):
        raise FetchError(f"{cik!r:.40} is not a CIK: give up to ten digits")
    return cik.zfill(10)


def _submissions(task: FetchTask, cik: str) -> Iterator[FetchedResponse]:
    response = task.client.get(
        f"{task.base_url}/submissions/CIK{_padded(cik)}.json", "json", conditional=True
    )
    if not response.changed:
        return
    # The list names only the recent filings; older ones are in files beside it.
    older = [
        task.client.get(f"{task.base_url}/submissions/{name}", "json")
        for name in _older_pages(fetchers.response_json(response))
    ]
    for page in (response, *older):
        yield task.landable(page)


def _older_pages(filer: Any) -> list[str]:
    files = fetchers.json_member(filer, "filings", "files") or []
    names = [str(fetchers.json_member(file, "name")) for file in files]
    invalid = [name for name in names if not _OLDER_PAGE.fullmatch(name)]
    if invalid:
        raise FetchError(
            f"{invalid[0]!r:.60} is not the name of an older page of filings; report it"
        )
    return names


def _companyfacts(task: FetchTask, cik: str) -> Iterator[FetchedResponse]:
    url = f"{task.base_url}/api/xbrl/companyfacts/CIK{_padded(cik)}.json"
    response = task.client.get(url, "json", conditional=True)
    if response.changed:
        yield task.landable(response)


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
