"""SEC issuers from the nightly zips, over HTTP, into the landing and the record."""

import os
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from assets.fetching.client import FetchError
from assets.fetching.fetchers import Window
from assets.filings import fetch
from assets.filings.fetch import BATCHES, ZIP_DATE_HEADER, ZIP_HEADER, batch_of
from assets.filings.sources import SOURCES
from assets.ingest.assets import total_counts
from assets.ingest.land import land_live
from assets.ingest.load import load_source
from assets.ingest.recordings import Origin, Recordings
from tests.helpers.replay_server import Replay, Reply
from tests.helpers.sec_zips import facts, filer, name_of, sample_cik, zip_of
from warehouse.record.landing import FetchedResponse, Landing
from warehouse.record.store import Record
from warehouse.shared.settings import Settings, read_settings

LISTS, FACTS = "sec-submissions", "sec-companyfacts"
SOURCE = {source.key: source for source in SOURCES}
AFRICAN, CHINESE, AMERICAN = sample_cik(1), sample_cik(2), sample_cik(3)
ALWAYS = Window()


def lists(**more: bytes) -> dict[str, bytes]:
    return {
        name_of(AFRICAN): filer(AFRICAN),
        f"CIK{AFRICAN}-submissions-001.json": b'{"accessionNumber":[],"filingDate":[],"form":[]}',
        name_of(CHINESE): filer(CHINESE, incorporated="E9", business="F4", forms=["10-K"]),
        name_of(AMERICAN): filer(AMERICAN, incorporated="DE", business="CA", forms=["10-K"]),
        "placeholder.txt": b"",
        **more,
    }


def all_facts() -> dict[str, bytes]:
    return {name_of(sample_cik(serial)): facts(serial) for serial in (1, 2, 3)}


class Home:
    """A home that fetches from a local server."""

    def __init__(self, folder: Path, server: Replay) -> None:
        self.folder, self.server = folder, server
        self.landing, self.record = Landing(str(folder / "landing")), Record(str(folder / "record"))

    def serve(self, listed: dict[str, bytes], stated: dict[str, bytes] | None = None) -> None:
        dated = {"Last-Modified": "Sat, 14 Nov 2026 08:00:00 GMT", "ETag": '"zip"'}
        self.server.on("/bulkdata/submissions.zip", Reply(zip_of(listed), headers=dated))
        self.server.on("/xbrl/companyfacts.zip", Reply(zip_of(stated or all_facts())))

    def settings(self, ciks: str) -> Settings:
        bases = ("SANKOFA_BASE_SEC_SUBMISSIONS", "SANKOFA_BASE_SEC_COMPANYFACTS")
        return read_settings(
            {**os.environ, **dict.fromkeys(bases, self.server.base), "SANKOFA_CIKS": ciks}
        )

    def fetch(self, key: str, ciks: str = "", window: Window = ALWAYS) -> tuple[int, int]:
        """Fetch and land; return how many documents came and how many were new."""
        return land_live(self.landing, SOURCE[key], window, self.settings(ciks))

    def load(self, key: str) -> dict[str, int]:
        return total_counts(load_source(self.record, self.landing, SOURCE[key]))

    def landed(self, key: str) -> list[str]:
        return sorted(document.url for document in self.landing.documents(key))

    def requested(self) -> list[str]:
        paths = [request.path for request in self.server.requests]
        self.server.requests.clear()
        return paths


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    with Replay() as server:
        home = Home(tmp_path, server)
        home.serve(lists())
        yield home


def list_url(name: str) -> str:
    return f"https://data.sec.gov/submissions/{name}"


def facts_url(cik: str) -> str:
    return f"https://data.sec.gov/api/xbrl/companyfacts/{name_of(cik)}"


def test_each_issuer_of_the_rule_is_landed_as_its_own_document(home: Home) -> None:
    assert home.fetch(LISTS) == (3, 3)

    assert home.landed(LISTS) == sorted(
        [
            list_url(f"CIK{AFRICAN}-submissions-001.json"),
            list_url(name_of(AFRICAN)),
            list_url(name_of(CHINESE)),
        ]
    )
    headers = home.landing.documents(LISTS)[0].headers
    assert headers[ZIP_HEADER] == (
        "https://www.sec.gov/Archives/edgar/daily-index/bulkdata/submissions.zip"
    )
    assert headers[ZIP_DATE_HEADER].startswith("Sat, 14 Nov 2026")
    assert "etag" not in headers and "last-modified" not in headers
    counts = home.load(LISTS)
    # Of each issuer its record, its number and its filing; that a page lists nothing is said.
    assert (counts["appended"], counts["quarantined"]) == (6, 1)


def test_facts_are_those_of_the_issuers_whose_lists_are_landed(home: Home) -> None:
    home.fetch(LISTS)
    home.requested()

    assert home.fetch(FACTS) == (2, 2)
    assert home.requested() == ["/xbrl/companyfacts.zip"]
    assert home.landed(FACTS) == sorted([facts_url(AFRICAN), facts_url(CHINESE)])
    counts = home.load(FACTS)
    assert counts["appended"] == counts["read"] - counts["quarantined"] > 0


def test_without_landed_lists_the_facts_ask_the_zip_of_lists(home: Home) -> None:
    assert home.fetch(FACTS) == (2, 2)

    assert home.requested() == ["/xbrl/companyfacts.zip", "/bulkdata/submissions.zip"]
    assert home.landed(LISTS) == []


def test_lists_landed_one_by_one_do_not_stand_for_the_rule(home: Home) -> None:
    home.server.on(f"/submissions/{name_of(AFRICAN)}", Reply(filer(AFRICAN)))
    home.fetch(LISTS, AFRICAN)

    assert home.fetch(FACTS) == (2, 2)
    assert "/bulkdata/submissions.zip" in home.requested()


def test_an_unchanged_issuer_adds_nothing_and_a_changed_one_itself(home: Home) -> None:
    home.fetch(LISTS)
    home.load(LISTS)
    renamed = filer(CHINESE, business="F4", forms=["10-K"], name="New Name Ltd")
    home.serve(lists(**{name_of(CHINESE): renamed}))

    assert home.fetch(LISTS) == (3, 1)
    counts = home.load(LISTS)
    # The organisation has a new name; its number and its filing are the same.
    assert (counts["read"], counts["appended"], counts["held"]) == (3, 1, 2)
    assert home.load(LISTS)["read"] == 0


def test_the_set_grows_without_reading_the_others_again(home: Home) -> None:
    home.fetch(LISTS)
    home.fetch(FACTS)
    home.load(FACTS)
    grown = lists(**{name_of(AMERICAN): filer(AMERICAN, incorporated="DE", business="Q5")})
    home.serve(grown)

    assert home.fetch(LISTS) == (4, 1)
    assert home.fetch(FACTS) == (3, 1)
    assert facts_url(AMERICAN) in home.landed(FACTS)
    for entry in load_source(home.record, home.landing, SOURCE[FACTS]):
        assert len(entry.documents) == 1 and entry.appended > 0


def test_signs_add_to_the_rule_and_take_from_it(home: Home) -> None:
    ciks = f"+{AMERICAN} -{CHINESE}"
    assert home.fetch(LISTS, ciks) == (3, 3)
    assert list_url(name_of(AMERICAN)) in home.landed(LISTS)
    home.fetch(FACTS, ciks)
    assert home.landed(FACTS) == sorted([facts_url(AFRICAN), facts_url(AMERICAN)])


def test_a_short_list_is_asked_for_one_by_one(home: Home) -> None:
    home.server.on(f"/submissions/{name_of(AMERICAN)}", Reply(filer(AMERICAN)))
    home.server.on(f"/api/xbrl/companyfacts/{name_of(AMERICAN)}", Reply(facts(3)))

    assert home.fetch(LISTS, AMERICAN) == home.fetch(FACTS, AMERICAN.lstrip("0")) == (1, 1)
    assert home.requested() == [
        f"/submissions/{name_of(AMERICAN)}",
        f"/api/xbrl/companyfacts/{name_of(AMERICAN)}",
    ]


def test_a_long_list_comes_from_the_zip(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch, "FEW", 1)

    assert home.fetch(FACTS, f"{AMERICAN} {AFRICAN}") == (2, 2)
    assert home.requested() == ["/xbrl/companyfacts.zip"]


def test_both_ways_give_the_same_rows_once(home: Home) -> None:
    home.fetch(LISTS)
    home.fetch(FACTS)
    first = home.load(FACTS)
    home.server.on(f"/api/xbrl/companyfacts/{name_of(AFRICAN)}", Reply(facts(1)))
    home.fetch(FACTS, AFRICAN)

    second = home.load(FACTS)
    assert first["appended"] > 0 and second["appended"] == 0
    assert second["held"] == second["read"] - second["quarantined"]


def test_a_batch_of_the_rule_is_asked_for_one_by_one(home: Home) -> None:
    home.fetch(LISTS)
    home.requested()
    home.server.on(f"/api/xbrl/companyfacts/{name_of(AFRICAN)}", Reply(facts(1)))

    assert batch_of(AFRICAN) != batch_of(CHINESE)
    assert home.fetch(FACTS, window=Window(batches=frozenset({batch_of(AFRICAN)}))) == (1, 1)
    assert home.requested() == [f"/api/xbrl/companyfacts/{name_of(AFRICAN)}"]


def test_all_batches_are_one_download(home: Home) -> None:
    home.fetch(LISTS, window=Window(batches=frozenset(BATCHES)))
    assert home.fetch(FACTS, window=Window(batches=frozenset(BATCHES))) == (2, 2)
    assert home.requested() == ["/bulkdata/submissions.zip", "/xbrl/companyfacts.zip"]


def test_an_issuer_asked_for_by_number_that_is_not_in_the_zip_is_told(home: Home) -> None:
    with pytest.raises(FetchError, match=r"did not arrive complete\. 0000000099: not in the zip"):
        home.fetch(LISTS, "+99")
    assert len(home.landed(LISTS)) == 3


def test_a_filer_that_cannot_be_judged_is_told_after_the_others_landed(home: Home) -> None:
    home.serve(lists(CIK0000000008=b"", **{name_of("9"): b'{"stateOfIncorporation":"T3"'}))

    with pytest.raises(FetchError, match="0000000009: not a list of submissions"):
        home.fetch(LISTS)
    assert len(home.landed(LISTS)) == 3


def test_a_zip_of_which_the_rule_takes_nobody_is_refused(home: Home) -> None:
    home.serve({name_of(AMERICAN): filer(AMERICAN, incorporated="DE", business="CA")})

    with pytest.raises(FetchError, match="the rule takes none of its filers"):
        home.fetch(LISTS)


def test_a_zip_given_as_a_recording_is_read_whole_under_the_same_addresses(home: Home) -> None:
    home.fetch(FACTS)
    recording = home.folder / "companyfacts.zip"
    recording.write_bytes(zip_of(all_facts() | {"readme.txt": b"x"}))
    origin = Origin(fetch.FACTS.zip_url, datetime(2026, 11, 14, tzinfo=UTC))

    urls = [document.url for document in Recordings(SOURCE[FACTS]).read([recording], origin)]
    assert urls == [
        *(facts_url(cik) for cik in (AFRICAN, CHINESE, AMERICAN)),
        f"{fetch.FACTS.zip_url}!/readme.txt",
    ]


def test_what_the_old_bulk_sources_loaded_stays_and_is_not_stored_again(home: Home) -> None:
    for key, body in ((LISTS, filer(AFRICAN)), (FACTS, facts(1))):
        old = replace(SOURCE[key], key=f"{key}-bulk")
        address = f"https://www.sec.gov/a.zip!/{name_of(AFRICAN)}"
        read_on = datetime(2026, 11, 1, tzinfo=UTC)
        home.landing.land(FetchedResponse(old.key, address, body, old.license_class, read_on))
        assert total_counts(load_source(home.record, home.landing, old))["appended"] > 0
    home.serve(lists(), {name_of(AFRICAN): facts(1)})
    home.fetch(LISTS)
    home.fetch(FACTS)

    # A figure is the same whichever source states it; an organisation is told by each source.
    counts = home.load(FACTS)
    assert (counts["appended"], counts["held"]) == (2, counts["read"] - counts["quarantined"] - 2)
    assert home.load(LISTS)["appended"] == 6
    entities = home.record.query(
        f"SELECT source FROM {home.record.relation('entities')} ORDER BY source"
    )
    sources = [FACTS, f"{FACTS}-bulk", LISTS, LISTS, f"{LISTS}-bulk"]
    assert entities["source"].to_pylist() == sources


def test_a_download_that_breaks_off_is_repeated_from_its_start(home: Home) -> None:
    body = zip_of(lists())
    home.server.on("/bulkdata/submissions.zip", Reply(body, drop_after=200), Reply(body))

    assert home.fetch(LISTS) == (3, 3)
