"""Fetch the SEC's lists of submissions and company facts: from its nightly zips, or by issuer.

The zips are the default. A few issuers, named in the settings or chosen by batches, are asked for
one by one. Both ways land the same documents, one per issuer, under the SEC's own address of it.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import IO, Any, cast

from assets.fetching import fetchers
from assets.fetching.client import FetchError
from assets.fetching.fetchers import FetchTask
from assets.filings.bulk import BulkFile, file_name, issuers_by_rule, open_bulk
from assets.filings.issuers import ChosenIssuers, follows_rule
from warehouse.record.landing import Document, FetchedResponse, Landing

API = "https://data.sec.gov"
ZIPS = "https://www.sec.gov/Archives/edgar/daily-index"
SUBMISSIONS = "sec-submissions"
# Up to so many issuers are asked for one by one: the answers of more are larger than the zip.
FEW = 500
# Fixed batches of issuers, for partitions: see ``batch_of``.
BATCHES = tuple(f"{number:02}" for number in range(16))
# Landed with a document that came in a zip: the address of the zip, and of which day it was.
ZIP_HEADER, ZIP_DATE_HEADER = "x-zip", "x-zip-last-modified"

_FILER_URL = re.compile(r"/CIK([0-9]{10})\.json$")
_OLDER_PAGE = re.compile(r"CIK[0-9]{10}-submissions-[0-9]+\.json")
# Thousands of members can fail for one reason: so many failures are told.
_TOLD = 5


@dataclass(frozen=True)
class _Files:
    """Where the SEC has one kind of file: of all issuers in a zip, and of each by itself."""

    zip_path: str
    path: str

    @property
    def zip_url(self) -> str:
        """The SEC's address of the zip."""
        return f"{ZIPS}/{self.zip_path}"

    def url_of(self, name: str) -> str:
        """Return the SEC's own address of the file of an issuer."""
        return f"{API}/{self.path}/{name}"

    def member_url(self, member_name: str) -> str | None:
        """Return the same of a member of any zip; None if it is no issuer's."""
        name = file_name(member_name)
        return None if name is None else self.url_of(name)


LISTS = _Files("bulkdata/submissions.zip", "submissions")
FACTS = _Files("xbrl/companyfacts.zip", "api/xbrl/companyfacts")


@dataclass(frozen=True)
class _Followed:
    """The issuers to fetch, and why some filers could not be judged."""

    ciks: frozenset[str]
    failures: dict[str, str] = field(default_factory=dict)


_FetchOne = Callable[[FetchTask, str], Iterator[FetchedResponse]]
_Choose = Callable[[BulkFile], _Followed]


def submissions(task: FetchTask) -> Iterator[FetchedResponse]:
    """Fetch the list of filings of every issuer, with its older pages.

    The source cannot be queried by date; an issuer whose list has not changed adds nothing.
    """
    chosen = ChosenIssuers.from_words(task.settings.ciks)
    if chosen.by_rule:
        return _from_zip(task, LISTS, partial(_by_rule, task, chosen), chosen)
    return _some(task, LISTS, chosen, _submissions)


def companyfacts(task: FetchTask) -> Iterator[FetchedResponse]:
    """Fetch all facts of every issuer; the source cannot be queried by date."""
    chosen = ChosenIssuers.from_words(task.settings.ciks)
    if chosen.by_rule and _in_all_batches(task):
        return _from_zip(task, FACTS, lambda _: _followed(task, chosen), chosen)
    return _some(task, FACTS, chosen, _companyfacts)


def batch_of(cik: str) -> str:
    """Return the batch of an issuer, which never depends on the other issuers."""
    return BATCHES[int(cik) % len(BATCHES)]


def _in_all_batches(task: FetchTask) -> bool:
    return not task.window.batches or task.window.batches >= set(BATCHES)


def _in_batches(task: FetchTask, cik: str) -> bool:
    return not task.window.batches or batch_of(cik) in task.window.batches


def _some(
    task: FetchTask, files: _Files, chosen: ChosenIssuers, fetch_one: _FetchOne
) -> Iterator[FetchedResponse]:
    """Fetch a list or batches of issuers: one by one if they are few."""
    followed = _Followed(frozenset(chosen.only)) if chosen.only else _followed(task, chosen)
    ciks = [cik for cik in chosen.only or sorted(followed.ciks) if _in_batches(task, cik)]
    if len(ciks) <= FEW:
        yield from fetchers.fetch_all(task.source, ciks, partial(fetch_one, task))
    else:
        followed = _Followed(frozenset(ciks), followed.failures)
        yield from _from_zip(task, files, lambda _: followed, chosen)


def _from_zip(
    task: FetchTask, files: _Files, choose: _Choose, chosen: ChosenIssuers
) -> Iterator[FetchedResponse]:
    """Download a zip and yield the files of the issuers that ``choose`` names, one at a time."""
    for zipped, bulk in _zips(task, files):
        followed = choose(bulk)
        failures, found = dict(followed.failures), set[str]()
        for member in bulk.members():
            if member.cik not in followed.ciks:
                continue
            found.add(member.cik)
            try:
                body = bulk.read(member)
            except ValueError as error:
                failures[member.name] = str(error)
                continue
            yield replace(
                zipped,
                url=files.url_of(member.name),
                body=body,
                headers=_zip_headers(zipped, files),
            )
        missing = (chosen.named & followed.ciks) - found
        failures |= dict.fromkeys(sorted(missing), "not in the zip")
        _raise_failures(files.zip_url, failures)


def _zips(task: FetchTask, files: _Files) -> Iterator[tuple[FetchedResponse, BulkFile]]:
    """Yield a zip, once it is downloaded to a temporary file."""
    # A mirror has the zips beside the files of single issuers.
    url = f"{task.base_url}/{files.zip_path}" if task.client.is_mirrored else files.zip_url
    for zipped in task.download(url, "zip"):
        with open_bulk(cast(IO[bytes], zipped.body), files.zip_url) as bulk:
            yield zipped, bulk


def _zip_headers(zipped: FetchedResponse, files: _Files) -> dict[str, str]:
    # Not the headers themselves: the ETag of the zip must not be sent for a file of its own.
    headers = {"content-type": "application/json", ZIP_HEADER: files.zip_url}
    modified = zipped.headers.get("last-modified")
    return headers if modified is None else headers | {ZIP_DATE_HEADER: modified}


def _raise_failures(url: str, failures: dict[str, str]) -> None:
    if not failures:
        return
    told = [f"{name}: {reason}" for name, reason in list(failures.items())[:_TOLD]]
    more = f", and {len(failures) - _TOLD:,} more" if len(failures) > _TOLD else ""
    raise FetchError(f"{url} did not arrive complete. {'. '.join(told)}{more}")


def _by_rule(task: FetchTask, chosen: ChosenIssuers, lists: BulkFile) -> _Followed:
    """Return the issuers of the rule, with the changes of the setting."""
    ciks, failures = issuers_by_rule(lists)
    if not ciks:
        raise FetchError(
            f"{LISTS.zip_url}: the rule takes none of its filers, so its form may have "
            "changed; report it"
        )
    followed = (cik for cik in chosen.applied_to(ciks) if _in_batches(task, cik))
    return _Followed(frozenset(followed), failures)


def _followed(task: FetchTask, chosen: ChosenIssuers) -> _Followed:
    """Return the issuers of the rule from the landed lists; without those, from the zip of lists.

    A list that changes its mind about the rule counts from the next fetch of the lists.
    """
    landed = _landed_by_rule(task.landing) if task.landing is not None else None
    if landed is not None:
        return _Followed(chosen.applied_to(landed))
    (followed,) = (_by_rule(task, chosen, lists) for _, lists in _zips(task, LISTS))
    return followed


def _landed_by_rule(landing: Landing) -> list[str] | None:
    """Return the issuers of the rule whose lists are landed; None if no zip of lists was."""
    # In the order in which they were observed: the newest list of an issuer wins.
    lists: dict[str, Document] = {}
    for document in landing.documents(SUBMISSIONS):
        if match := _FILER_URL.search(document.url):
            lists[match[1]] = document
    if not any(ZIP_HEADER in document.headers for document in lists.values()):
        return None
    return [cik for cik, document in lists.items() if _is_followed(landing.read(document))]


def _is_followed(body: bytes) -> bool:
    try:
        return follows_rule(body)
    except ValueError:
        # Its parser says what is wrong with it.
        return False


def _submissions(task: FetchTask, cik: str) -> Iterator[FetchedResponse]:
    url = f"{task.base_url}/{LISTS.path}"
    response = task.client.get(f"{url}/CIK{cik}.json", "json", conditional=True)
    if not response.changed:
        return
    # The list names only the recent filings; older ones are in files beside it.
    older = [
        task.client.get(f"{url}/{name}", "json")
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
    url = f"{task.base_url}/{FACTS.path}/CIK{cik}.json"
    response = task.client.get(url, "json", conditional=True)
    if response.changed:
        yield task.landable(response)
