"""Fetch GLEIF's golden copy, API and mapping files, and OpenFIGI.

The golden copy and the mapping files arrive as zips of one file each, and are stored as such.
"""

import json
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from functools import partial

from assets.fetching import fetchers
from assets.fetching.client import FetchError
from assets.fetching.fetchers import FetchTask
from warehouse.record.landing import FetchedResponse
from warehouse.record.store import open_record
from warehouse.shared.data_files import sql_file

COUNTRIES = ("ZA", "NG", "KE", "EG", "GH", "MA", "MU", "TN", "CI", "ZM", "BW", "NA", "TZ", "UG")
ISINS = ("ZAE000018123", "ZAE000042164", "KE1000001402", "NGDANGCEM008")

# How many days back each delta of the golden copy reaches.
_DELTAS = ((1, "LastDay"), (7, "LastWeek"), (28, "LastMonth"))
_PAGE_SIZE = 200
_MAX_RECORDS = 10_000
# Jobs in one request to OpenFIGI.
_JOBS = 10
_JOBS_WITH_KEY = 100
# In one fetch, of what the record has without a FIGI.
_MOST_JOBS = 2_000
_ASK_AGAIN_AFTER = timedelta(days=90)
_SQL = sql_file(__name__, "without_figi")


def gleif(task: FetchTask) -> Iterator[FetchedResponse]:
    """Fetch the golden copy of LEI records, or its changes since a day.

    Deltas reach back a month; for an earlier day the whole copy is fetched.
    """
    path = "api/v2/golden-copies/publishes/lei2/latest.json"
    since, today = task.window.from_ or date.min, datetime.now(UTC).date()
    deltas = [name for days, name in _DELTAS if (today - since).days <= days]
    url = task.url(path, {"delta": deltas[0]} if deltas else {})
    return task.download(url, "zip")


def gleif_api(task: FetchTask) -> Iterator[FetchedResponse]:
    """Fetch the LEI records of each country, page by page.

    The API shows only the first 10,000 records: a country with more is an error.
    """
    names = task.settings.gleif_countries or COUNTRIES
    return fetchers.fetch_all(task.source, names, partial(_country, task))


def mapping(task: FetchTask) -> Iterator[FetchedResponse]:
    """Fetch the latest file that maps LEIs to other identifiers; nothing if it has not changed."""
    # GLEIF names its mapping files as our sources are named.
    return task.download(task.url(f"api/v2/{task.source}/latest/download"), "zip")


def openfigi(task: FetchTask) -> Iterator[FetchedResponse]:
    """Fetch FIGIs; the header ``x-jobs`` says what each answer is for.

    It requests the ISINs of ``SANKOFA_ISINS``; without that, a built-in list, and the ISINs and
    listings of the record that have no FIGI and were not requested in the last 90 days.
    With a key in ``SANKOFA_OPENFIGI_KEY`` one request may contain more.
    """
    isins = task.settings.isins
    jobs = [_isin_job(isin) for isin in isins or ISINS] + ([] if isins else _without_figi(task))
    key = task.settings.openfigi_key
    size = _JOBS_WITH_KEY if key else _JOBS
    batches = [json.dumps(jobs[start : start + size]) for start in range(0, len(jobs), size)]
    return fetchers.fetch_all(task.source, batches, partial(_figis, task, key))


def _isin_job(isin: str) -> dict[str, str]:
    return {"idType": "ID_ISIN", "idValue": isin}


def _without_figi(task: FetchTask) -> list[dict[str, str]]:
    """Return jobs for listed shares in the record without a FIGI: by ISIN, else by listing."""
    record = open_record(task.settings)
    delta = record.stored_table("identifiers")
    if delta is None:
        return []
    relation = record.relation("identifiers", delta)
    stored = record.query(_SQL.statement("without_figi", identifiers=relation))
    # Recent requests, whatever the answer to them: most of the unknown stay unknown.
    documents = [] if task.landing is None else task.landing.documents(task.source)
    since = datetime.now(UTC) - _ASK_AGAIN_AFTER
    requests = [each.headers.get("x-jobs") for each in documents if each.observed_at > since]
    recent = {_job_key(job) for text in requests if text for job in json.loads(text)}
    jobs = []
    for row in stored.to_pylist():
        kind, value = row["id_type"], row["id_value"]
        mic, _, ticker = value.partition(":")
        by_ticker = {"idType": "TICKER", "idValue": ticker, "micCode": mic}
        job = _isin_job(value) if kind == "isin" else by_ticker
        if _job_key(job) not in recent:
            jobs.append(job)
    return jobs[:_MOST_JOBS]


def _job_key(job: dict[str, str]) -> tuple[str, ...]:
    return tuple(str(job.get(member, "")) for member in ("idType", "idValue", "micCode"))


def _country(task: FetchTask, country: str) -> Iterator[FetchedResponse]:
    page, last = 1, 1
    while page <= last:
        query: dict[str, str | int] = {
            "filter[entity.legalAddress.country]": country,
            "page[size]": _PAGE_SIZE,
            "page[number]": page,
        }
        answer = task.client.get(task.url("api/v1/lei-records", query), "json")
        pagination = fetchers.json_member(fetchers.response_json(answer), "meta", "pagination")
        last, total = (fetchers.json_member(pagination, name) for name in ("lastPage", "total"))
        if not isinstance(last, int) or not isinstance(total, int):
            raise FetchError(f"{answer.url}: the answer does not say how it goes on; report it")
        # Better no records than some of a country: what is missing would look as if it did not
        # exist.
        if total > _MAX_RECORDS:
            raise FetchError(
                f"{country} has {total} records, more than the API shows: fetch the golden copy"
            )
        yield task.landable(answer)
        page += 1


def _figis(task: FetchTask, key: str, request: str) -> Iterator[FetchedResponse]:
    headers = {"Content-Type": "application/json"} | ({"X-OPENFIGI-APIKEY": key} if key else {})
    answer = task.client.post(f"{task.base_url}/v3/mapping", request.encode(), headers)
    results, jobs = fetchers.response_json(answer), json.loads(request)
    if not isinstance(results, list) or len(results) != len(jobs):
        raise FetchError(f"{answer.url}: not one answer for each of {len(jobs)} jobs; try again")
    yield task.landable(answer, {"x-jobs": request})
