"""Fetching series of FRED with every value they ever had, as ALFRED keeps them."""

import json
import logging
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from functools import partial
from typing import Any

from assets.fetching import fetchers
from assets.fetching.client import Answer, Client, FetchError
from assets.fetching.fetchers import Window
from warehouse.record.landing import FetchedResponse
from warehouse.settings import Settings

BASE_URL = "https://api.stlouisfed.org"

# Series of the US government, which are in the public domain.
SERIES = ("GDP", "CPIAUCSL", "CPILFESL")

# How many of each FRED gives on one page.
_MOST = {"observations": 100_000, "vintage_dates": 10_000}
_FIRST_DAY, _LAST_DAY = date(1776, 7, 4), date.max
_FREQUENCIES = {"D": "daily", "M": "monthly", "Q": "quarterly", "A": "annual"}
_DESCRIBED = ("realtime_start", "realtime_end", "title", "frequency", "frequency_short", "units")

_Asked = dict[str, str | int]
_At = Callable[[str, _Asked], str]
_Span = tuple[date, date]

_log = logging.getLogger(__name__)


def alfred(
    client: Client, base: str, window: Window, settings: Settings
) -> Iterator[FetchedResponse]:
    """Fetch each series with every value it ever had; the key is ``SANKOFA_FRED_KEY``."""
    key = settings.fred_key
    if not key and base == BASE_URL:
        raise FetchError(
            "FRED answers only with a key: get one at https://fred.stlouisfed.org/docs/api/ "
            "free of charge, and set SANKOFA_FRED_KEY"
        )
    names = settings.fred_series or SERIES
    return fetchers.each("alfred", names, partial(_series, client, base, window, key))


def _series(
    client: Client, base: str, window: Window, key: str, name: str
) -> Iterator[FetchedResponse]:
    secret = {"api_key": key} if key else {}
    asked: _Asked = {"series_id": name, **secret, "file_type": "json"}
    span = (window.from_ or _FIRST_DAY, window.to or _LAST_DAY)
    about = fetchers.address(base, "fred/series", _within(asked, span))
    described = _described(client.get(about, "json"))
    if any("copyright" in each.get("notes", "").lower() for each in described):
        _log.warning("alfred, %s: left out, its notes claim a copyright", name)
        return
    pages = _known_in(client, partial(fetchers.address, base), asked, span)
    yield from (
        fetchers.fetched("alfred", "public-domain", page, _headers(described)) for page in pages
    )


def _described(answer: Answer) -> list[dict[str, str]]:
    """Give the descriptions of a series, each with the days on which it held."""
    found = fetchers.member(fetchers.decoded(answer), "seriess")
    if (
        not isinstance(found, list)
        or not found
        or not all(isinstance(each, dict) for each in found)
    ):
        raise FetchError(f"{answer.url}: the source describes no such series; check its id")
    return [
        {name: value for name, value in each.items() if isinstance(value, str)} for each in found
    ]


def _headers(described: list[dict[str, str]]) -> dict[str, str]:
    """Give what the observations do not say of their series."""
    latest = max(described, key=lambda each: each.get("realtime_start", ""))
    short = latest.get("frequency_short", "")
    headers = {
        "frequency": _FREQUENCIES.get(short, latest.get("frequency", "").lower()),
        "units": latest.get("units", ""),
        "seasonal-adjustment": latest.get("seasonal_adjustment", ""),
        "title": latest.get("title", ""),
        "last-updated": latest.get("last_updated", ""),
        "series-versions": json.dumps(
            [{name: each[name] for name in _DESCRIBED if name in each} for each in described]
        ),
    }
    return {name: value for name, value in headers.items() if value}


def _known_in(client: Client, at: _At, asked: _Asked, span: _Span) -> list[Answer]:
    """Ask for what was known in a span; in parts where the source finds it too long."""
    try:
        return _pages_of(client, at, asked, span)
    except FetchError as error:
        if not _has_too_many_vintages(error):
            raise
    dates = _vintage_dates(client, at, asked, span)
    return _halves(client, at, asked, span, dates)


def _halves(client: Client, at: _At, asked: _Asked, span: _Span, dates: list[date]) -> list[Answer]:
    """Ask for each half of the vintages of a span, and halve again what is still too long.

    A value known on both sides of a cut comes twice, the second time from the day of the cut:
    a repetition, which makes no vintage.
    """
    pages: list[Answer] = []
    middle = dates[len(dates) // 2]
    halves = (
        ((span[0], middle - timedelta(days=1)), dates[: len(dates) // 2]),
        ((middle, span[1]), dates[len(dates) // 2 :]),
    )
    for half, within in halves:
        try:
            pages += _pages_of(client, at, asked, half)
        except FetchError as error:
            if not _has_too_many_vintages(error) or len(within) < 2:
                raise
            pages += _halves(client, at, asked, half, within)
    return pages


def _has_too_many_vintages(error: FetchError) -> bool:
    return error.status == 400 and "vintage" in str(error).lower()


def _vintage_dates(client: Client, at: _At, asked: _Asked, span: _Span) -> list[date]:
    """Give the days in a span on which the series changed."""
    answers = _pages(client, at("fred/series/vintagedates", _within(asked, span)), "vintage_dates")
    try:
        dates = [date.fromisoformat(day) for _, days in answers for day in days]
    except (TypeError, ValueError):
        dates = []
    if len(dates) < 2:
        raise FetchError(f"{asked['series_id']} has too many vintages, but names none; report it")
    return sorted(dates)


def _pages_of(client: Client, at: _At, asked: _Asked, span: _Span) -> list[Answer]:
    url = at("fred/series/observations", _within(asked, span))
    return [answer for answer, _ in _pages(client, url, "observations")]


def _within(asked: _Asked, span: _Span) -> _Asked:
    first, last = span
    return asked | {"realtime_start": str(first), "realtime_end": str(last)}


def _pages(client: Client, url: str, name: str) -> Iterator[tuple[Answer, list[Any]]]:
    """Ask page by page until as many of what is named came as the source counts."""
    offset, count = 0, 1
    while offset < count:
        answer = client.get(f"{url}&limit={_MOST[name]}&offset={offset}", "json")
        page = fetchers.decoded(answer)
        rows, count = fetchers.member(page, name), fetchers.member(page, "count")
        if not isinstance(rows, list) or not isinstance(count, int):
            raise FetchError(f"{answer.url}: the answer holds no {name}; report it")
        if not rows and offset < count:
            raise FetchError(
                f"{answer.url}: {offset} of {count} {name} arrived, so nothing is taken; try again",
                again=True,
            )
        yield answer, rows
        offset += max(len(rows), 1)
