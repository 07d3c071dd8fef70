"""Fetch filings: SEC EDGAR by issuer or in bulk, and the reports of filings.xbrl.org."""

import re
from collections.abc import Iterator
from functools import partial
from typing import Any

from assets.fetching import fetchers
from assets.fetching.client import Client, FetchError
from assets.fetching.fetchers import Window
from warehouse.record.landing import FetchedResponse
from warehouse.settings import Settings

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


def submissions(
    client: Client, base: str, window: Window, settings: Settings
) -> Iterator[FetchedResponse]:
    """Fetch the list of filings of every issuer, with the older pages it names.

    The source cannot be queried by date; an issuer whose list has not changed yields nothing.
    """
    names = _issuers(window, settings)
    return fetchers.fetch_all("sec-submissions", names, partial(_submissions, client, base))


def companyfacts(
    client: Client, base: str, window: Window, settings: Settings
) -> Iterator[FetchedResponse]:
    """Fetch all facts of every issuer; the source cannot be queried by date."""
    names = _issuers(window, settings)
    return fetchers.fetch_all("sec-companyfacts", names, partial(_companyfacts, client, base))


def companyfacts_bulk(
    client: Client, base: str, window: Window, settings: Settings
) -> Iterator[FetchedResponse]:
    """Fetch the nightly zip of all issuers' facts in one download.

    It is landed as one body: a zip with one ``CIK##########.json`` per issuer, like a single
    response of companyfacts. The loader reads it through ``Source.stream``: a zip is opened from
    its end, so the stream copies the body to a temporary file first, then parses member by
    member; memory stays that of one issuer.
    """
    url = f"{base}/xbrl/companyfacts.zip"
    return fetchers.download_file(client, "sec-companyfacts-bulk", "public-domain", url, "zip")


def submissions_bulk(
    client: Client, base: str, window: Window, settings: Settings
) -> Iterator[FetchedResponse]:
    """Fetch the nightly zip of all filers' lists; it is read like the zip of facts."""
    url = f"{base}/bulkdata/submissions.zip"
    return fetchers.download_file(client, "sec-submissions-bulk", "public-domain", url, "zip")


def xbrl_filings(
    client: Client, base: str, window: Window, settings: Settings
) -> Iterator[FetchedResponse]:
    """Fetch the reports that were added to the index in the window, with their dates and ids."""
    names = settings.xbrl_countries or COUNTRIES
    return fetchers.fetch_all("xbrl-filings", names, partial(_country, client, base, window))


def batch_of(cik: str) -> str:
    """Return the batch of an issuer, which never depends on the other issuers."""
    return BATCHES[int(_padded(cik)) % len(BATCHES)]


def _issuers(window: Window, settings: Settings) -> tuple[str, ...]:
    names = settings.ciks or tuple(ISSUERS)
    if not window.batches:
        return names
    return tuple(name for name in names if batch_of(name) in window.batches)


def _padded(cik: str) -> str:
    if not re.fullmatch(r"[0-9]{1,10}", cik):
        raise FetchError(f"{cik!r:.40} is not a CIK: give up to ten digits")
    return cik.zfill(10)


def _submissions(client: Client, base: str, cik: str) -> Iterator[FetchedResponse]:
    response = client.get(f"{base}/submissions/CIK{_padded(cik)}.json", "json", conditional=True)
    if not response.changed:
        return
    # The list names only the recent filings; older ones are in files beside it.
    older = [
        client.get(f"{base}/submissions/{name}", "json")
        for name in _older_pages(fetchers.response_json(response))
    ]
    for page in (response, *older):
        yield fetchers.fetched_response("sec-submissions", "public-domain", page)


def _older_pages(filer: Any) -> list[str]:
    files = fetchers.json_member(filer, "filings", "files") or []
    names = [str(fetchers.json_member(file, "name")) for file in files]
    invalid = [name for name in names if not _OLDER_PAGE.fullmatch(name)]
    if invalid:
        raise FetchError(
            f"{invalid[0]!r:.60} is not the name of an older page of filings; report it"
        )
    return names


def _companyfacts(client: Client, base: str, cik: str) -> Iterator[FetchedResponse]:
    url = f"{base}/api/xbrl/companyfacts/CIK{_padded(cik)}.json"
    response = client.get(url, "json", conditional=True)
    if response.changed:
        yield fetchers.fetched_response("sec-companyfacts", "public-domain", response)


def _country(client: Client, base: str, window: Window, country: str) -> Iterator[FetchedResponse]:
    for filing in _index(client, base, window, country):
        path, added = (
            fetchers.json_member(filing, "json_url"),
            str(fetchers.json_member(filing, "date_added")),
        )
        # A filing without a JSON report is one that the index could not convert.
        if not path or (window.to and added[:10] > str(window.to)):
            continue
        response = client.get(f"{base}/{str(path).lstrip('/')}", "json", conditional=True)
        if response.changed:
            # The report states neither: its parser reads them from the landed headers.
            report_id = str(fetchers.json_member(filing, "fxo_id"))
            extra_headers = {"x-date-added": added, "x-fxo-id": report_id}
            yield fetchers.fetched_response("xbrl-filings", "restricted", response, extra_headers)


def _index(client: Client, base: str, window: Window, country: str) -> Iterator[Any]:
    """Yield the filings of a country, newest first, back to the first day of the window."""
    query: dict[str, str | int] = {
        "filter[country]": country,
        "page[size]": _PAGE,
        "sort": "-date_added",
    }
    seen, count, page = 0, 1, 1
    while seen < count:
        response = client.get(
            fetchers.build_url(base, "api/filings", query | {"page[number]": page}), "json"
        )
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
            if window.from_ and str(fetchers.json_member(attributes, "date_added"))[:10] < str(
                window.from_
            ):
                return
            yield attributes
        seen, page = seen + len(filings), page + 1
