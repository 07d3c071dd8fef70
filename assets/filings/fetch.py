"""Fetch filings: the SEC's lists of submissions and company facts, and files of a year or quarter.

The first fetch of the lists in a week gets everything: from nightly zips or, if they are few, named
in the settings or chosen by batches, issuer by issuer. Until the week is over EDGAR's daily indexes
tell who filed something since the last fetch, and only these are requested. Both ways land the same
documents, one per issuer, under the SEC's own address of it.
"""

import hashlib
import logging
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta, timezone
from functools import partial
from typing import IO, Any, NamedTuple, cast
from zipfile import BadZipFile, ZipFile, ZipInfo

from assets.entities.identifiers import cik_of
from assets.fetching import fetchers
from assets.fetching.client import FetchError
from assets.fetching.fetchers import FetchTask
from assets.fetching.http_bodies import RETRYABLE_STATUSES
from assets.filings.issuers import ChosenIssuers, follows_rule, may_follow
from assets.parsing.unpacking import UNREADABLE, open_zip, zip_members
from warehouse.record.landing import Document, FetchedResponse, Landing

_log = logging.getLogger(__name__)

# EDGAR's daily indexes: one for each working day, complete when the day is over. On weekends there
# is none, on holidays none or an empty one. Where one is missing that should be there, nothing is
# known.

_RULE = re.compile(r"-{20,}\s*")
# A header has about ten lines.
_HEADER_WITHIN = 40
# The index by form has columns of fixed width, and long names push those of a line to the right: a
# line is therefore read from its end, where the number of the filer, day and file are.
_LINE = re.compile(
    r".*\S\s+(?P<cik>[0-9]{1,10})\s+(?:[0-9]{8}|[0-9]{4}-[0-9]{2}-[0-9]{2})\s+edgar/\S+\s*"
)


def filers_of(body: bytes) -> list[str]:
    """Return the CIK of each line of an index; none if it has only a header, as on holidays.

    ValueError if this is no index, or if any line cannot be read: a filer could be missing.
    """
    # Names are in Latin-1, which accepts every byte.
    lines = body.decode("latin-1").splitlines()
    rules = (number for number, line in enumerate(lines[:_HEADER_WITHIN]) if _RULE.fullmatch(line))
    rule = next(rules, None)
    if rule is None:
        raise ValueError("not an index of EDGAR: no line of dashes below a header")
    header = " ".join(lines[:rule])
    if "Form Type" not in header or "Company Name" not in header:
        raise ValueError("not an index of EDGAR: no columns Form Type and Company Name")
    ciks = []
    for number, line in enumerate(lines[rule + 1 :], rule + 2):
        if line.strip():
            match = _LINE.fullmatch(line)
            if match is None:
                raise ValueError(f"line {number}: no number of a filer, day and file at its end")
            ciks.append(cik_of(match["cik"]))
    return ciks


DAILY_INDEX = "https://www.sec.gov/Archives/edgar/daily-index"
INDEX_PATH = "{year}/QTR{quarter}/form.{day}.idx"

# What the SEC answers where there is no file.
_MISSING = frozenset({403, 404})
# A zip is made in the night before, and a day is over when it is over in New York. Four days before
# a fetch there is a working day, whatever the weekend and the holidays.
_OVERLAP = timedelta(days=4)
# Winter time all year round: in summer a day is then over an hour late.
_NEW_YORK = timezone(timedelta(hours=-5))
_SATURDAY = 5


def daily_index_url(task: FetchTask, path: str) -> str:
    """Return the address of a file next to the indexes; a mirror has it among those of issuers."""
    return f"{task.base_url if task.client.is_mirrored else DAILY_INDEX}/{path}"


def index_path(day: date) -> str:
    """Return the path of the index of a day."""
    quarter = (day.month + 2) // 3
    return INDEX_PATH.format(year=day.year, quarter=quarter, day=f"{day:%Y%m%d}")


def index_days(since: datetime, now: datetime) -> list[date]:
    """Return the days whose indexes say what was filed since a moment; weekends have none."""
    first = (since.astimezone(_NEW_YORK) - _OVERLAP).date()
    last = now.astimezone(_NEW_YORK).date()
    days = (first + timedelta(days=number) for number in range((last - first).days + 1))
    return [day for day in days if day.weekday() < _SATURDAY]


def filed_since(task: FetchTask, since: datetime, now: datetime) -> frozenset[str] | None:
    """Return the CIKs that filed something since a moment; None if an index is missing.

    The log says which.
    """
    days = index_days(since, now)
    holidays = _holidays(days)
    filers: set[str] = set()
    for day in days:
        is_working_day = day < now.astimezone(_NEW_YORK).date() and day not in holidays
        try:
            filers.update(_filers(task, day, is_working_day))
        except (FetchError, ValueError) as error:
            _log.warning(
                "%s: the index of %s could not be read, so every issuer is requested: %s",
                task.source,
                day,
                error,
            )
            return None
    return frozenset(filers)


def _filers(task: FetchTask, day: date, is_working_day: bool) -> list[str]:
    """Return the filers of a day; raise if its index is missing and should be there."""
    retry_on = RETRYABLE_STATUSES if is_working_day else RETRYABLE_STATUSES - _MISSING
    try:
        response = task.client.get(daily_index_url(task, index_path(day)), retry_on=retry_on)
    except FetchError as error:
        if is_working_day or error.status not in _MISSING:
            raise
        _log.info("%s: there is no index of %s, a holiday or not over", task.source, day)
        return []
    filers = filers_of(response.body)
    if is_working_day and not filers:
        raise ValueError(f"{response.url} is empty, on a working day")
    return filers


def _holidays(days: list[date]) -> frozenset[date]:
    """Return the federal holidays of the United States among some days, as they are observed."""
    # Imported here: it takes long, and every command imports the sources.
    from pandas.tseries.holiday import USFederalHolidayCalendar

    calendar = USFederalHolidayCalendar()
    found = calendar.holidays(min(days).isoformat(), max(days).isoformat())
    return frozenset(moment.date() for moment in found.to_pydatetime())


# The SEC's nightly zips: one file per issuer, the same that is served at its own address.
#
# ``submissions.zip`` names about a million filers and ``companyfacts.zip`` has gigabytes of
# facts: members are read one at a time, and most of the former only as far as their addresses.

# The largest issuers have about 20 MB of facts: a larger member is not an issuer's.
LARGEST_MEMBER = 256 << 20
# Twice as many as there are filers. The directory of so many takes a gigabyte of memory.
MOST_MEMBERS = 2_000_000

# A list of submissions begins with the filer and ends with the filings.
_HEAD = 4 << 10
_ADDRESSES, _FILINGS = b'"addresses"', b'"filings"'
_NAME = re.compile(r"(?:.*/)?(CIK([0-9]{10})(-submissions-[0-9]+)?\.json)")


def utc_now() -> datetime:
    """Return the moment at which a fetch begins."""
    return datetime.now(UTC)


class Member(NamedTuple):
    """A file of an issuer in a zip; ``older``: an older page of its list of submissions."""

    name: str
    cik: str
    older: bool
    info: ZipInfo


class BulkFile:
    """A zip of issuers' files, in a file that stays open."""

    def __init__(self, archive: ZipFile) -> None:
        self._archive = archive

    def members(self) -> Iterator[Member]:
        """Yield the files of issuers; others, such as a placeholder, are passed by."""
        for info in zip_members(self._archive):
            if match := _NAME.fullmatch(info.filename):
                yield Member(match[1], match[2], match[3] is not None, info)

    def read(self, member: Member) -> bytes:
        """Return the content of a member; ValueError if it is damaged or too large."""
        size = max(member.info.file_size, member.info.compress_size)
        if size > LARGEST_MEMBER:
            raise ValueError(f"{size} bytes: more than an issuer has")
        try:
            return self._archive.read(member.info)
        except UNREADABLE as error:
            raise ValueError(f"damaged: {error}") from None

    def may_follow(self, member: Member) -> bool:
        """Return False if the rule cannot take a filer, from the beginning of its list."""
        try:
            with self._archive.open(member.info) as opened:
                head = opened.read(_HEAD)
            addresses = head.find(_ADDRESSES)
            filings = head.find(_FILINGS, addresses)
            return may_follow(head[:filings] if 0 <= addresses < filings else self.read(member))
        except (*UNREADABLE, ValueError):
            # Reading all of it will say what is wrong.
            return True


@contextmanager
def open_bulk(body: IO[bytes], url: str) -> Iterator[BulkFile]:
    """Open a downloaded zip; FetchError if it is none."""
    try:
        with open_zip(body, MOST_MEMBERS) as archive:
            yield BulkFile(archive)
    except BadZipFile as error:
        raise FetchError(
            f"{url} cannot be read as a zip: {error}; try again", retryable=True
        ) from None


def issuers_by_rule(submissions: BulkFile) -> tuple[set[str], dict[str, str]]:
    """Return the CIKs that the rule takes, and why some filers could not be judged, by CIK."""
    followed: set[str] = set()
    unreadable: dict[str, str] = {}
    for member in submissions.members():
        if member.older or not submissions.may_follow(member):
            continue
        try:
            if follows_rule(submissions.read(member)):
                followed.add(member.cik)
        except ValueError as error:
            unreadable[member.cik] = str(error)
    return followed, unreadable


API = "https://data.sec.gov"
SUBMISSIONS = "sec-submissions"
INDEXES = f"{DAILY_INDEX}/{INDEX_PATH}"
# Up to so many issuers are requested one by one: the answers of more are larger than the zip.
FEW = 500
# Fixed batches of issuers, for partitions: see ``batch_of``.
BATCHES = tuple(f"{number:02}" for number in range(16))
# Landed with a document that came in a zip: the address of the zip, and of which day it was.
ZIP_HEADER, ZIP_DATE_HEADER = "x-zip", "x-zip-last-modified"

_NOT_FOUND = 404

_FILER_URL = re.compile(r"/CIK([0-9]{10})\.json$")
_OLDER_PAGE = re.compile(r"CIK[0-9]{10}-submissions-[0-9]+\.json")
# Thousands of members can fail for one reason: so many failures are named.
_NAMED = 5


@dataclass(frozen=True)
class _Files:
    """Where the SEC has one kind of file: of all issuers in a zip, and of each by itself."""

    zip_path: str
    path: str

    @property
    def zip_url(self) -> str:
        """The SEC's address of the zip."""
        return f"{DAILY_INDEX}/{self.zip_path}"

    def member_url(self, member_name: str) -> str | None:
        """Return the SEC's own address of a member of any zip; None if it is no issuer's."""
        match = _NAME.fullmatch(member_name)
        return f"{API}/{self.path}/{match[1]}" if match else None


LISTS = _Files("bulkdata/submissions.zip", "submissions")
FACTS = _Files("xbrl/companyfacts.zip", "api/xbrl/companyfacts")


class _Followed(NamedTuple):
    """The issuers to fetch, and why some filers could not be judged."""

    ciks: frozenset[str]
    failures: Mapping[str, str] = {}


def submissions(task: FetchTask) -> Iterator[FetchedResponse]:
    """Fetch the lists of filings of the issuers that filed something, with their older pages.

    The source cannot be queried by date; an issuer whose list has not changed adds nothing.
    """
    return _since_last_fetch(task, LISTS)


def companyfacts(task: FetchTask) -> Iterator[FetchedResponse]:
    """Fetch all facts of the issuers that filed something; none can be queried by date."""
    return _since_last_fetch(task, FACTS)


def _since_last_fetch(task: FetchTask, files: _Files) -> Iterator[FetchedResponse]:
    """Fetch the issuers that filed something since the last fetch of the same ones, or all."""
    chosen, begun = ChosenIssuers.from_words(task.settings.ciks), utc_now()
    ciks = _to_ask(task, chosen, begun)
    if ciks is None:
        yield from _all(task, files, chosen)
    else:
        _log.info("%s: asking for %d issuers that filed something", task.source, len(ciks))
        fetch_if_there = partial(_fetch_if_there, task, files, chosen)
        yield from fetchers.fetch_all(task.source, sorted(ciks), fetch_if_there)
    # Only now: what failed must be requested again.
    if task.landing is not None:
        task.landing.mark_fetched(_fetched_key(task), begun)


def _all(task: FetchTask, files: _Files, chosen: ChosenIssuers) -> Iterator[FetchedResponse]:
    """Fetch all issuers: from the zip or, if they are a list or batches of few, one by one."""
    if chosen.by_rule and (files is LISTS or _in_all_batches(task)):
        yield from _from_zip(task, files, None, chosen)
        return
    followed = _Followed(frozenset(chosen.only)) if chosen.only else _followed(task, chosen)
    ciks = [cik for cik in chosen.only or sorted(followed.ciks) if _in_batches(task, cik)]
    if len(ciks) <= FEW:
        yield from fetchers.fetch_all(task.source, ciks, partial(_fetch_one, task, files))
    else:
        some = _Followed(frozenset(ciks), followed.failures)
        yield from _from_zip(task, files, some, chosen)


def _fetch_if_there(
    task: FetchTask, files: _Files, chosen: ChosenIssuers, cik: str
) -> Iterator[FetchedResponse]:
    """Fetch an issuer; as in the zips, one that is not named by its number may have no file."""
    try:
        yield from _fetch_one(task, files, cik)
    except FetchError as error:
        if error.status != _NOT_FOUND or cik in chosen.named:
            raise
        _log.info("%s: the SEC has no file of %s", task.source, cik)


def _fetched_key(task: FetchTask) -> str:
    """Return the name of the mark of a fetch: the source, and which issuers were requested.

    A batch, or other issuers in the setting, say nothing about when the others were requested.
    """
    batches = () if _in_all_batches(task) else sorted(task.window.batches)
    requested = " ".join((*sorted(task.settings.ciks), "in", *batches))
    return f"{task.source}.{hashlib.sha256(requested.encode()).hexdigest()[:16]}"


def _to_ask(task: FetchTask, chosen: ChosenIssuers, now: datetime) -> frozenset[str] | None:
    """Return the followed issuers that filed something since the last fetch; None for all.

    Once a week all are requested: the SEC also changes files of issuers that filed nothing, and
    only the zips show who is new to the rule.
    """
    since = None if task.landing is None else task.landing.last_fetched(_fetched_key(task))
    if task.landing is None or since is None or since.isocalendar()[:2] != now.isocalendar()[:2]:
        return None
    by_rule = _landed_by_rule(task.landing) if chosen.by_rule else ()
    if by_rule is None:
        return None
    followed = {cik for cik in chosen.applied_to(by_rule) if _in_batches(task, cik)}
    # So few issuers take fewer requests than the indexes.
    if not chosen.by_rule and len(followed) <= len(index_days(since, now)):
        return None
    filed = filed_since(task, since, now)
    if filed is None:
        return None
    # Issuers without a landed document are requested, whoever filed: the set may have grown.
    found = (_FILER_URL.search(each.url) for each in task.landing.documents(task.source))
    landed = {match[1] for match in found if match}
    ciks = frozenset(cik for cik in followed if cik in filed or cik not in landed)
    return ciks if len(ciks) <= FEW else None


def batch_of(cik: str) -> str:
    """Return the batch of an issuer, which never depends on the other issuers."""
    return BATCHES[int(cik) % len(BATCHES)]


def _in_all_batches(task: FetchTask) -> bool:
    return not task.window.batches or task.window.batches >= set(BATCHES)


def _in_batches(task: FetchTask, cik: str) -> bool:
    return not task.window.batches or batch_of(cik) in task.window.batches


def _from_zip(
    task: FetchTask, files: _Files, followed: _Followed | None, chosen: ChosenIssuers
) -> Iterator[FetchedResponse]:
    """Download a zip and yield the files of issuers, one at a time.

    Without ``followed`` they are those of the rule; the zip of lists itself says whom it takes.
    """
    for zipped, bulk in _zips(task, files):
        if followed is None:
            # Only now: a zip that has not changed needs no lists.
            is_list = files is LISTS
            followed = _by_rule(task, chosen, bulk) if is_list else _followed(task, chosen)
        ciks, unjudged = followed
        failures, found = dict(unjudged), set[str]()
        for member in bulk.members():
            if member.cik not in ciks:
                continue
            found.add(member.cik)
            try:
                body = bulk.read(member)
            except ValueError as error:
                failures[member.name] = str(error)
                continue
            url = f"{API}/{files.path}/{member.name}"
            # Not those of the zip: its ETag must not be sent for a file of its own.
            headers = {"content-type": "application/json", ZIP_HEADER: files.zip_url}
            if (modified := zipped.headers.get("last-modified")) is not None:
                headers[ZIP_DATE_HEADER] = modified
            yield replace(zipped, url=url, body=body, headers=headers)
        missing = (chosen.named & ciks) - found
        failures |= dict.fromkeys(sorted(missing), "not in the zip")
        if failures:
            named = [f"{name}: {reason}" for name, reason in list(failures.items())[:_NAMED]]
            more = f", and {len(failures) - _NAMED:,} more" if len(failures) > _NAMED else ""
            raise FetchError(f"{files.zip_url} did not arrive complete. {'. '.join(named)}{more}")


def _zips(task: FetchTask, files: _Files) -> Iterator[tuple[FetchedResponse, BulkFile]]:
    """Yield a zip, once it is downloaded to a temporary file."""
    for zipped in task.download(daily_index_url(task, files.zip_path), "zip"):
        with open_bulk(cast(IO[bytes], zipped.body), files.zip_url) as bulk:
            yield zipped, bulk


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
    """Return the issuers of the rule whose lists are landed.

    None if no zip of lists was, or the body of a list was removed.
    """
    # In the order in which they were observed: the newest list of an issuer wins.
    lists: dict[str, Document] = {}
    for document in landing.documents(SUBMISSIONS):
        if match := _FILER_URL.search(document.url):
            lists[match[1]] = document
    if not any(ZIP_HEADER in document.headers for document in lists.values()):
        return None
    if any(document.removal is not None for document in lists.values()):
        return None
    followed = []
    for cik, document in lists.items():
        body = landing.read(document)
        # Of one that cannot be read its parser says what is wrong with it.
        with suppress(ValueError):
            if follows_rule(body):
                followed.append(cik)
    return followed


def _fetch_one(task: FetchTask, files: _Files, cik: str) -> Iterator[FetchedResponse]:
    """Fetch the file of an issuer, if it has changed; with its older pages if it is a list."""
    url = f"{task.base_url}/{files.path}"
    response = task.client.get(f"{url}/CIK{cik}.json", "json", conditional=True)
    if not response.changed:
        return
    # The list names only the recent filings; older ones are in files next to it.
    names = _older_pages(fetchers.response_json(response)) if files is LISTS else []
    older = [task.client.get(f"{url}/{name}", "json") for name in names]
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


# CVM's statements: a zip for each form and year.
# Its forms, annual and quarterly, and the first year that CVM has a file of.
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


# The SEC's Financial Statement Data Sets: a zip for each quarter since 2009.
FOLDER = "files/dera/data/financial-statement-data-sets"
_FIRST_YEAR = 2009


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
