"""Fetch macroeconomic figures: World Bank, ECB and H.10. ALFRED has a module of its own."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from assets.fetching import fetchers
from assets.fetching.client import FetchError, SourceResponse
from assets.fetching.fetchers import FetchTask
from assets.macro.worldbank import missing_pages
from warehouse.record.landing import FetchedResponse

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
_CURRENCIES = ("ZAR", "USD", "GBP", "CHF", "JPY", "CNY", "INR", "BRL", "MXN", "TRY", "IDR", "MYR")
RATES = tuple(
    f"{frequency}.{currency}.EUR.SP00.A" for frequency in ("D", "M") for currency in _CURRENCIES
)

_PAGE_SIZE = 20_000

_Query = dict[str, str | int]


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
    return fetchers.fetch_all(task.source, task.settings.h10_cadences, partial(_h10_file, task))


def _indicator(task: FetchTask, code: str) -> Iterator[FetchedResponse]:
    # All pages are fetched before the first is landed: an indicator is taken whole or not at all.
    query: _Query = {"format": "json", "per_page": _PAGE_SIZE}
    path = f"v2/country/all/indicator/{code}"
    first = task.client.get(task.url(path, query | {"page": 1}), "json")
    answers, metas = [first], [_meta(first)]
    pages = int(metas[0]["pages"])
    for page in range(2, pages + 1):
        try:
            answers.append(task.client.get(task.url(path, query | {"page": page}), "json"))
        except FetchError as error:
            raise FetchError(
                f"page {page} of {pages} did not arrive, so nothing of {code} is taken: {error}",
                error.status,
            ) from None
        metas.append(_meta(answers[-1]))
    _refuse_gaps(code, metas)
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


def _refuse_gaps(code: str, metas: list[dict[str, Any]]) -> None:
    missing = missing_pages(metas)
    if missing:
        raise FetchError(f"{code}: pages {missing} are missing, so nothing is taken; try again")
    # Pages of two updates could lack rows or have them twice.
    if len({meta.get("lastupdated") for meta in metas}) > 1:
        raise FetchError(f"{code} was updated while it was fetched; try again")


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


def _h10_file(task: FetchTask, cadence: str) -> Iterator[FetchedResponse]:
    answer = task.client.get(f"{task.base_url}/{cadence}.csv", "csv", conditional=True)
    if answer.changed:
        yield task.landable(answer, {"frequency": cadence})
