"""SEC issuers that filed something since the last fetch, by the daily indexes, over HTTP."""

import logging
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from assets.fetching.client import FetchError
from assets.fetching.fetchers import Window
from assets.filings import fetch
from assets.filings.fetch import batch_of
from assets.filings.sources import SOURCES
from assets.ingest.land import land_live
from tests.helpers.daily_indexes import form_index
from tests.helpers.replay_server import Replay, Reply
from tests.helpers.sec_zips import filer, name_of, zip_of
from warehouse.record.landing import Landing
from warehouse.shared.settings import read_settings

LISTS, FACTS = "sec-submissions", "sec-companyfacts"
SOURCE = {source.key: source for source in SOURCES}
CIKS = tuple(f"{number:010}" for number in range(1, 9))
# A Tuesday, and the Thursday after a holiday in the same week.
TUESDAY, THURSDAY = datetime(2026, 11, 10, 12, tzinfo=UTC), datetime(2026, 11, 12, 12, tzinfo=UTC)
INDEX = "/2026/QTR4/form.202611{}.idx"
ALL = {LISTS: "/bulkdata/submissions.zip", FACTS: "/xbrl/companyfacts.zip"}
PATH = {LISTS: "submissions", FACTS: "api/xbrl/companyfacts"}


def stated(cik: str, value: int = 1) -> bytes:
    return b'{"cik": %d, "entityName": "Fictional Gold Ltd", "facts": {"x": {"y": %d}}}' % (
        int(cik),
        value,
    )


class Home:
    """A home that has fetched everything on a Tuesday."""

    def __init__(self, folder: Path, server: Replay, monkeypatch: pytest.MonkeyPatch) -> None:
        self.server, self.landing = server, Landing(str(folder / "landing"))
        self._monkeypatch = monkeypatch
        lists = {name_of(cik): filer(cik) for cik in CIKS}
        facts = {name_of(cik): stated(cik) for cik in CIKS[:-1]}
        server.on("/bulkdata/submissions.zip", Reply(zip_of(lists)))
        server.on("/xbrl/companyfacts.zip", Reply(zip_of(facts)))
        for cik in CIKS:
            server.on(f"/submissions/{name_of(cik)}", Reply(filer(cik, name="New Name Ltd")))
        for cik in CIKS[:-1]:
            server.on(f"/api/xbrl/companyfacts/{name_of(cik)}", Reply(stated(cik, 2)))
        # The days before: Friday and Monday. Wednesday is Veterans Day, Thursday not over.
        for day in ("06", "09"):
            self.index(day, "77")
        self.index("10", "77", CIKS[1], CIKS[3])

    def index(self, day: str, *ciks: str) -> None:
        filings = [("6-K", "Fictional Gold Ltd", str(int(cik))) for cik in ciks]
        self.server.on(INDEX.format(day), Reply(form_index(*filings)))

    def fetch(
        self, key: str, now: datetime, ciks: str = "", window: Window | None = None
    ) -> tuple[int, int]:
        self._monkeypatch.setattr(fetch, "utc_now", lambda: now)
        bases = ("SANKOFA_BASE_SEC_SUBMISSIONS", "SANKOFA_BASE_SEC_COMPANYFACTS")
        settings = read_settings(
            {**os.environ, **dict.fromkeys(bases, self.server.base), "SANKOFA_CIKS": ciks}
        )
        return land_live(self.landing, SOURCE[key], window or Window(), settings)

    def requested(self) -> list[str]:
        paths = [request.path for request in self.server.requests]
        self.server.requests.clear()
        return paths


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Home]:
    with Replay() as server:
        home = Home(tmp_path, server, monkeypatch)
        assert home.fetch(LISTS, TUESDAY) == (8, 8)
        assert home.fetch(FACTS, TUESDAY) == (7, 7)
        # Nothing was fetched before: no index is requested.
        assert home.requested() == [ALL[LISTS], ALL[FACTS]]
        yield home


def indexes() -> list[str]:
    return [INDEX.format(day) for day in ("06", "09", "10", "11", "12")]


@pytest.mark.parametrize(("key", "others"), [(LISTS, []), (FACTS, [CIKS[-1]])])
def test_only_followed_issuers_that_filed_something_are_asked_for(
    home: Home, key: str, others: list[str]
) -> None:
    assert home.fetch(key, THURSDAY) == (2, 2)
    # One of the rule has no facts yet: it is requested, and is no failure.
    fetched = [f"/{PATH[key]}/{name_of(cik)}" for cik in (CIKS[1], CIKS[3], *others)]
    assert home.requested() == [*indexes(), *fetched]


def test_nothing_filed_is_nothing_to_ask_for(home: Home) -> None:
    home.index("10", "77")
    assert home.fetch(LISTS, THURSDAY) == (0, 0)
    assert home.requested() == indexes()


@pytest.mark.parametrize("status", [403, 404])
def test_a_holiday_without_an_index_is_no_failure(home: Home, status: int) -> None:
    home.server.on(INDEX.format("11"), Reply(b"<Error/>", status))
    assert home.fetch(LISTS, THURSDAY) == (2, 2)


def test_an_empty_index_is_that_of_a_holiday(home: Home) -> None:
    home.index("11")
    assert home.fetch(LISTS, THURSDAY) == (2, 2)


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (Reply(b"not here", 404), "it answers 404"),
        (Reply(form_index()), "is empty, on a working day"),
        (Reply(b"<html>Request Rate Threshold Exceeded</html>"), "not an index of EDGAR"),
        (Reply(form_index(("6-K", "X", "1"))[:-70]), "line 11: no number of a filer"),
    ],
)
def test_without_the_index_of_a_working_day_all_are_asked_and_the_log_says_so(
    home: Home, reply: Reply, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    home.server.on(INDEX.format("10"), reply)
    with caplog.at_level(logging.WARNING):
        home.fetch(LISTS, THURSDAY)

    assert home.requested()[-1] == ALL[LISTS]
    assert "the index of 2026-11-10 could not be read, so every issuer is requested" in caplog.text
    assert reason in caplog.text


def test_the_first_fetch_of_a_week_gets_everything(home: Home) -> None:
    home.fetch(LISTS, datetime(2026, 11, 16, 12, tzinfo=UTC))
    assert home.requested() == [ALL[LISTS]]


def test_a_fetch_that_failed_is_made_again_from_where_the_one_before_ended(home: Home) -> None:
    path = f"/submissions/{name_of(CIKS[3])}"
    home.server.on(path, Reply(b"gone", 410))
    with pytest.raises(FetchError, match="did not arrive complete"):
        home.fetch(LISTS, THURSDAY)
    home.requested()

    home.server.on(path, Reply(filer(CIKS[3], name="New Name Ltd")))
    friday = datetime(2026, 11, 13, 12, tzinfo=UTC)
    home.index("12", "77")
    assert home.fetch(LISTS, friday) == (2, 1)
    assert INDEX.format("06") in home.requested()


def test_an_issuer_that_is_added_is_asked_for_although_it_filed_nothing(home: Home) -> None:
    added = "0000000042"
    home.server.on(f"/submissions/{name_of(added)}", Reply(filer(added)))
    lists = {name_of(cik): filer(cik) for cik in (*CIKS, added)}
    home.server.on(ALL[LISTS], Reply(zip_of(lists)))
    # Another setting is another set of issuers, which was never requested: everything is.
    assert home.fetch(LISTS, THURSDAY, "+42") == (9, 1)
    assert home.requested() == [ALL[LISTS]]


def test_a_fetch_of_one_batch_says_nothing_of_the_others(home: Home) -> None:
    window = Window(batches=frozenset({batch_of(CIKS[0])}))
    wednesday = datetime(2026, 11, 11, 12, tzinfo=UTC)
    assert home.fetch(FACTS, wednesday, window=window) == (1, 1)
    home.requested()

    assert home.fetch(FACTS, THURSDAY) == (2, 2)
    assert home.requested()[:5] == indexes()


def test_a_long_list_of_issuers_is_asked_by_the_indexes_and_a_short_one_directly(
    home: Home,
) -> None:
    for ciks, paths in ((CIKS[:6], indexes()), (CIKS[:2], [])):
        words = " ".join(ciks)
        home.fetch(FACTS, TUESDAY, words)
        home.requested()
        home.fetch(FACTS, THURSDAY, words)
        fetched = [cik for cik in ciks if not paths or cik in (CIKS[1], CIKS[3])]
        assert home.requested() == [
            *paths,
            *(f"/api/xbrl/companyfacts/{name_of(cik)}" for cik in fetched),
        ]


def test_many_issuers_that_filed_come_from_the_zip(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetch, "FEW", 1)
    home.fetch(LISTS, THURSDAY)
    assert home.requested() == [*indexes(), ALL[LISTS]]
