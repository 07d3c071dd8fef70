"""Fetch macroeconomic figures: World Bank, ECB, H.10, and FRED as ALFRED archives it."""

import json
import logging
from collections.abc import Iterator
from datetime import date, timedelta
from functools import partial
from typing import Any

from assets.fetching import fetchers
from assets.fetching.client import FetchError, SourceResponse
from assets.fetching.fetchers import FetchTask
from assets.macro.alfred import FREQUENCIES, VERSIONS_HEADER
from warehouse.record.landing import FetchedResponse

# Fetch series of FRED with every value they ever had, as ALFRED archives them.

# Series of the US government, which are in the public domain.
SERIES = ("GDP", "CPIAUCSL", "CPILFESL")

# The page sizes of FRED.
_PAGE_SIZES = {"observations": 100_000, "vintage_dates": 10_000}
# FRED's own bounds of the real-time period: between them lies every vintage.
_FIRST_DAY, _LAST_DAY = date(1776, 7, 4), date.max
_DESCRIPTION_MEMBERS = (
    *("realtime_start", "realtime_end", "title", "frequency", "frequency_short", "units"),
)

_Query = dict[str, str | int]
_Span = tuple[date, date]

_log = logging.getLogger(__name__)


def alfred(task: FetchTask) -> Iterator[FetchedResponse]:
    """Fetch each series with every value it ever had; the key is ``SANKOFA_FRED_KEY``."""
    key = task.settings.fred_key
    # A mirror needs no key.
    if not key and not task.client.is_mirrored:
        raise FetchError(
            "FRED answers only with a key: get one at https://fred.stlouisfed.org/docs/api/ "
            "free of charge, and set SANKOFA_FRED_KEY"
        )
    names = task.settings.fred_series or SERIES
    return fetchers.fetch_all(task.source, names, partial(_series, task, key))


def _series(task: FetchTask, key: str, name: str) -> Iterator[FetchedResponse]:
    secret = {"api_key": key} if key else {}
    query: _Query = {"series_id": name, **secret, "file_type": "json"}
    # Without a span FRED answers with today's values only.
    span = (task.window.from_ or _FIRST_DAY, task.window.to or _LAST_DAY)
    url = task.url("fred/series", _within(query, span))
    answer = task.client.get(url, "json")
    descriptions = _descriptions(fetchers.response_json(answer))
    if not descriptions:
        raise FetchError(f"{answer.url}: the source describes no such series; check its id")
    # Such series belong to a third party, and may not be redistributed.
    if any("copyright" in version.get("notes", "").lower() for version in descriptions):
        _log.warning("alfred, %s: left out, its notes claim a copyright", name)
        return
    pages = _observations(task, query, span)
    yield from (task.landable(page, _headers(descriptions)) for page in pages)


def _descriptions(answer: Any) -> list[dict[str, str]]:
    """Return the descriptions of a series, with the interval in which each was valid."""
    versions = fetchers.json_member(answer, "seriess")
    if not isinstance(versions, list) or not all(isinstance(each, dict) for each in versions):
        return []
    return [
        {name: value for name, value in version.items() if isinstance(value, str)}
        for version in versions
    ]


def _headers(descriptions: list[dict[str, str]]) -> dict[str, str]:
    """Return headers with what the observations do not say about their series."""
    latest = max(descriptions, key=lambda version: version.get("realtime_start", ""))
    short = latest.get("frequency_short", "")
    headers = {
        "frequency": FREQUENCIES.get(short, latest.get("frequency", "").lower()),
        "units": latest.get("units", ""),
        "seasonal-adjustment": latest.get("seasonal_adjustment", ""),
        "title": latest.get("title", ""),
        "last-updated": latest.get("last_updated", ""),
        VERSIONS_HEADER: json.dumps(
            [
                {name: version[name] for name in _DESCRIPTION_MEMBERS if name in version}
                for version in descriptions
            ]
        ),
    }
    return {name: value for name, value in headers.items() if value}


def _observations(
    task: FetchTask, query: _Query, span: _Span, dates: list[date] | None = None
) -> list[SourceResponse]:
    """Fetch what was published in a span; in halves if FRED refuses it as too long.

    ``dates`` are the vintages of the span, if it is a half. A value that was current on both sides
    of a cut comes twice, the second time from the day of the cut: a repetition, which makes no
    vintage.
    """
    url = task.url("fred/series/observations", _within(query, span))
    try:
        return [answer for answer, _ in _pages(task, url, "observations")]
    except FetchError as error:
        # FRED limits the vintages of one answer and says so only in the text of a 400.
        is_too_long = error.status == 400 and "vintage" in str(error).lower()
        if not is_too_long or (dates is not None and len(dates) < 2):
            raise
    dates = dates or _vintage_dates(task, query, span)
    number = len(dates) // 2
    before, after = (span[0], dates[number] - timedelta(days=1)), (dates[number], span[1])
    return [
        *_observations(task, query, before, dates[:number]),
        *_observations(task, query, after, dates[number:]),
    ]


def _vintage_dates(task: FetchTask, query: _Query, span: _Span) -> list[date]:
    """Return the days in a span on which the series changed."""
    answers = _pages(
        task, task.url("fred/series/vintagedates", _within(query, span)), "vintage_dates"
    )
    try:
        dates = [date.fromisoformat(day) for _, days in answers for day in days]
    except (TypeError, ValueError):
        dates = []
    if len(dates) < 2:
        raise FetchError(f"{query['series_id']} has too many vintages, but names none; report it")
    return sorted(dates)


def _within(query: _Query, span: _Span) -> _Query:
    first, last = span
    return query | {"realtime_start": str(first), "realtime_end": str(last)}


def _pages(task: FetchTask, url: str, name: str) -> Iterator[tuple[SourceResponse, list[Any]]]:
    """Fetch pages until as many ``name`` arrived as the source counts."""
    offset, count = 0, 1
    while offset < count:
        answer = task.client.get(f"{url}&limit={_PAGE_SIZES[name]}&offset={offset}", "json")
        page = fetchers.response_json(answer)
        rows, count = fetchers.json_member(page, name), fetchers.json_member(page, "count")
        if not isinstance(rows, list) or not isinstance(count, int):
            raise FetchError(f"{answer.url}: the answer holds no {name}; report it")
        if not rows and offset < count:
            raise FetchError(
                f"{answer.url}: {offset} of {count} {name} arrived, so nothing is taken; try again",
                retryable=True,
            )
        yield answer, rows
        # At least 1, so that an empty last page ends the loop.
        offset += max(len(rows), 1)


INDICATORS = (
    *("NY.GDP.MKTP.CD", "NY.GDP.MKTP.KD.ZG", "NY.GDP.PCAP.CD", "FP.CPI.TOTL", "FP.CPI.TOTL.ZG"),
    *("SP.POP.TOTL", "NE.EXP.GNFS.CD", "NE.IMP.GNFS.CD", "BN.CAB.XOKA.CD", "FI.RES.TOTL.CD"),
    *("DT.DOD.DECT.CD", "PA.NUS.FCRF"),
)
_CURRENCIES = ("ZAR", "USD", "GBP", "CHF", "JPY", "CNY", "INR", "BRL", "MXN", "TRY", "IDR", "MYR")
RATES = tuple(
    f"{frequency}.{currency}.EUR.SP00.A" for frequency in ("D", "M") for currency in _CURRENCIES
)

_PAGE_SIZE = 20_000


def worldbank(task: FetchTask) -> Iterator[FetchedResponse]:
    """Fetch all pages of each indicator; nothing of an indicator with a missing page.

    The source does not say what was published when: every window is fetched whole.
    """
    codes = task.settings.indicators or INDICATORS
    return fetchers.fetch_all(task.source, codes, partial(_indicator, task))


def ecb(task: FetchTask) -> Iterator[FetchedResponse]:
    """Fetch exchange rates with all their versions; from a day on, only the changes."""
    keys = task.settings.ecb_keys or RATES
    return fetchers.fetch_all(task.source, keys, partial(_exchange_rate, task))


def h10(task: FetchTask) -> Iterator[FetchedResponse]:
    """Fetch the long files of H.10, collected from FRED's series; always whole."""

    def fetch_one(cadence: str) -> Iterator[FetchedResponse]:
        answer = task.client.get(f"{task.base_url}/{cadence}.csv", "csv", conditional=True)
        if answer.changed:
            yield task.landable(answer, {"frequency": cadence})

    return fetchers.fetch_all(task.source, task.settings.h10_cadences, fetch_one)


def _indicator(task: FetchTask, code: str) -> Iterator[FetchedResponse]:
    # All pages are fetched before the first is landed: an indicator is taken whole or not at all.
    query: _Query = {"format": "json", "per_page": _PAGE_SIZE}
    path = f"v2/country/all/indicator/{code}"
    first = task.client.get(task.url(path, query | {"page": 1}), "json")
    answers, metas = [first], [_meta(first)]
    pages = metas[0]["pages"]
    for page in range(2, pages + 1):
        try:
            answers.append(task.client.get(task.url(path, query | {"page": page}), "json"))
        except FetchError as error:
            raise FetchError(
                f"page {page} of {pages} did not arrive, so nothing of {code} is taken: {error}",
                error.status,
            ) from None
        metas.append(_meta(answers[-1]))
    arrived = {meta["page"] for meta in metas}
    last = max(meta["pages"] for meta in metas)
    missing = [page for page in range(1, last + 1) if page not in arrived]
    if missing:
        raise FetchError(f"{code}: pages {missing} are missing, so nothing is taken; try again")
    # Pages of two updates could lack rows or have them twice.
    if len({meta.get("lastupdated") for meta in metas}) > 1:
        raise FetchError(f"{code} was updated while it was fetched; try again")
    yield from (task.landable(answer) for answer in answers)


def _meta(answer: SourceResponse) -> dict[str, Any]:
    page = fetchers.response_json(answer)
    meta: Any = page[0] if isinstance(page, list) and page else None
    message = fetchers.json_member(meta, "message")
    if message:
        raise FetchError(f"{answer.url}: the source answers {message!r:.200}; check the indicator")
    try:
        return {**meta, "page": int(meta["page"]), "pages": int(meta["pages"])}
    except (TypeError, KeyError, ValueError):
        raise FetchError(f"{answer.url}: not a page of the World Bank; report it") from None


def _exchange_rate(task: FetchTask, key: str) -> Iterator[FetchedResponse]:
    # includeHistory adds VALID_FROM and VALID_TO, without which a revision has no day.
    query: _Query = {"format": "csvdata", "includeHistory": "true"}
    if task.window.from_:
        query["updatedAfter"] = f"{task.window.from_}T00:00:00+00:00"
    url = task.url(f"service/data/EXR/{key}", query)
    try:
        answer = task.client.get(url, "csv", conditional=True)
    except FetchError as error:
        # The ECB answers 404 if nothing has changed.
        if error.status == 404 and task.window.from_:
            return
        raise
    if answer.changed:
        yield task.landable(answer)
