"""Fetching macroeconomic figures: World Bank, ECB, FRED with its vintages, H.10."""

import logging
import os
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from assets.fetching import (
    LIVE,
    Fetch,
    Window,
    address,
    configured,
    decoded,
    each,
    fetched,
    member,
)
from assets.http import Answer, Client, FetchError
from assets.macro.worldbank import missing_pages
from warehouse.landing import Fetched

INDICATORS = (
    "NY.GDP.MKTP.CD",
    "NY.GDP.MKTP.KD.ZG",
    "NY.GDP.PCAP.CD",
    "FP.CPI.TOTL",
    "FP.CPI.TOTL.ZG",
    "SP.POP.TOTL",
    "NE.EXP.GNFS.CD",
    "NE.IMP.GNFS.CD",
    "BN.CAB.XOKA.CD",
    "FI.RES.TOTL.CD",
    "DT.DOD.DECT.CD",
    "PA.NUS.FCRF",
)
# Series of the US government, which are in the public domain.
SERIES = ("GDP", "CPIAUCSL", "CPILFESL")
_CURRENCIES = ("ZAR", "USD", "GBP", "CHF", "JPY", "CNY", "INR", "BRL", "MXN", "TRY", "IDR", "MYR")
RATES = tuple(
    f"{frequency}.{currency}.EUR.SP00.A" for frequency in ("D", "M") for currency in _CURRENCIES
)
CADENCES = ("daily", "monthly", "annual")

_ROWS = 20_000
_OBSERVATIONS = 100_000
_FREQUENCIES = {"D": "daily", "M": "monthly", "Q": "quarterly", "A": "annual"}

_log = logging.getLogger(__name__)


def worldbank(
    client: Client, base: str, window: Window, indicators: Sequence[str] | None = None
) -> Iterator[Fetched]:
    """Fetch all pages of each indicator; an indicator with a page missing gives nothing.

    The source does not say what was published when: every window is asked for whole.
    """
    codes = configured("SANKOFA_INDICATORS", indicators, INDICATORS)
    return each("worldbank", codes, partial(_indicator, client, base))


def ecb(
    client: Client, base: str, window: Window, rates: Sequence[str] | None = None
) -> Iterator[Fetched]:
    """Fetch exchange rates with all their versions; from a day on, only what was changed."""
    keys = configured("SANKOFA_ECB_KEYS", rates, RATES)
    return each("ecb", keys, partial(_exchange_rate, client, base, window))


def alfred(
    client: Client, base: str, window: Window, series: Sequence[str] | None = None
) -> Iterator[Fetched]:
    """Fetch each series with every value it ever had; the key is ``SANKOFA_FRED_KEY``."""
    key = os.environ.get("SANKOFA_FRED_KEY", "").strip()
    if not key and base == LIVE["alfred"]:
        raise FetchError(
            "FRED answers only with a key: get one at https://fred.stlouisfed.org/docs/api/ "
            "free of charge, and set SANKOFA_FRED_KEY"
        )
    names = configured("SANKOFA_FRED_SERIES", series, SERIES)
    return each("alfred", names, partial(_series, client, base, window, key))


def h10(
    client: Client, base: str, window: Window, cadences: Sequence[str] | None = None
) -> Iterator[Fetched]:
    """Fetch the long files of H.10, which FRED's series are gathered in; always whole."""
    names = configured("SANKOFA_H10_CADENCES", cadences, CADENCES)
    return each("h10", names, partial(_h10_file, client, base))


FETCH: dict[str, Fetch] = {"worldbank": worldbank, "ecb": ecb, "alfred": alfred, "h10": h10}


def _indicator(client: Client, base: str, code: str) -> Iterator[Fetched]:
    asked: dict[str, str | int] = {"format": "json", "per_page": _ROWS}
    path = f"v2/country/all/indicator/{code}"
    first = client.get(address(base, path, asked | {"page": 1}), "json")
    answers, metas = [first], [_meta(first)]
    pages = int(metas[0]["pages"])
    for page in range(2, pages + 1):
        try:
            answers.append(client.get(address(base, path, asked | {"page": page}), "json"))
        except FetchError as error:
            raise FetchError(
                f"page {page} of {pages} did not arrive, so nothing of {code} is taken: {error}",
                error.status,
            ) from None
        metas.append(_meta(answers[-1]))
    _refuse_gaps(code, metas)
    yield from (fetched("worldbank", "cc-by", answer) for answer in answers)


def _meta(answer: Answer) -> dict[str, Any]:
    page = decoded(answer)
    meta: Any = page[0] if isinstance(page, list) and page else None
    message = member(meta, "message")
    if message:
        raise FetchError(f"{answer.url}: the source answers {message!r:.200}; check the indicator")
    try:
        return {**meta, "page": int(meta["page"]), "pages": int(meta["pages"])}
    except (TypeError, KeyError, ValueError):
        raise FetchError(f"{answer.url}: not a page of the World Bank; report it") from None


def _refuse_gaps(code: str, metas: list[dict[str, Any]]) -> None:
    missing = missing_pages(metas)
    if missing:
        raise FetchError(f"{code}: pages {missing} are missing, so nothing is taken; try again")
    if len({meta.get("lastupdated") for meta in metas}) > 1:
        raise FetchError(f"{code} was updated while it was fetched; try again")


def _exchange_rate(client: Client, base: str, window: Window, key: str) -> Iterator[Fetched]:
    asked: dict[str, str | int] = {"format": "csvdata", "includeHistory": "true"}
    if window.from_:
        asked["updatedAfter"] = f"{window.from_}T00:00:00+00:00"
    url = address(base, f"service/data/EXR/{key}", asked)
    try:
        answer = client.get(url, "csv", conditional=True)
    except FetchError as error:
        # the source says 404 where nothing was changed
        if error.status == 404 and window.from_:
            return
        raise
    if answer.changed:
        yield fetched("ecb", "open-attribution", answer)


def _series(client: Client, base: str, window: Window, key: str, name: str) -> Iterator[Fetched]:
    secret = {"api_key": key} if key else {}
    asked: dict[str, str | int] = {"series_id": name, **secret, "file_type": "json"}
    described = _described(client.get(address(base, "fred/series", asked), "json"))
    if "copyright" in described.get("notes", "").lower():
        _log.warning("alfred, %s: left out, its notes claim a copyright", name)
        return
    asked["realtime_start"] = str(window.from_ or "1776-07-04")
    asked["realtime_end"] = str(window.to or "9999-12-31")
    url = address(base, "fred/series/observations", asked | {"limit": _OBSERVATIONS})
    pages = list(_observations(client, url, name))
    yield from (fetched("alfred", "public-domain", page, _headers(described)) for page in pages)


def _described(answer: Answer) -> dict[str, str]:
    found = member(decoded(answer), "seriess")
    if not isinstance(found, list) or len(found) != 1 or not isinstance(found[0], dict):
        raise FetchError(f"{answer.url}: the source describes no such series; check its id")
    return {name: value for name, value in found[0].items() if isinstance(value, str)}


def _headers(described: dict[str, str]) -> dict[str, str]:
    """Give what the observations do not say of their series."""
    short = described.get("frequency_short", "")
    headers = {
        "frequency": _FREQUENCIES.get(short, described.get("frequency", "").lower()),
        "units": described.get("units", ""),
        "seasonal-adjustment": described.get("seasonal_adjustment", ""),
        "title": described.get("title", ""),
        "last-updated": described.get("last_updated", ""),
    }
    return {name: value for name, value in headers.items() if value}


def _observations(client: Client, url: str, name: str) -> Iterator[Answer]:
    """Ask page by page until as many observations came as the source counts."""
    offset, count = 0, 1
    while offset < count:
        answer = client.get(f"{url}&offset={offset}", "json")
        page = decoded(answer)
        rows, count = member(page, "observations"), member(page, "count")
        if not isinstance(rows, list) or not isinstance(count, int):
            raise FetchError(f"{answer.url}: the answer holds no observations; report it")
        if not rows and offset < count:
            raise FetchError(
                f"{name}: {offset} of {count} observations arrived, so nothing is taken; try again"
            )
        yield answer
        offset += max(len(rows), 1)


def _h10_file(client: Client, base: str, cadence: str) -> Iterator[Fetched]:
    answer = client.get(f"{base}/{cadence}.csv", "csv", conditional=True)
    if answer.changed:
        yield fetched("h10", "public-domain", answer, {"frequency": cadence})
