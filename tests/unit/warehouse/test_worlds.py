"""A landing holds documents of real sources or of fictional ones, never of both.

Real ones may follow those of the starter world, which are real as well.
"""

from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from tests.helpers.record_rows import load, series_row
from warehouse.record.landing import FetchedResponse, Landing, World
from warehouse.record.store import Record
from warehouse.record.tables import MACRO_SERIES
from warehouse.record.versions import world_of
from warehouse.shared.errors import LandingError, SankofaError

DAY = date(2026, 1, 1)
MOMENT = datetime(2026, 2, 20, 6, tzinfo=UTC)
URLS: dict[World, str] = {
    "real": "https://stats.example/cpi.csv",
    "starter": "https://stats.example/cpi.csv",
    "fictional": "https://fictional.example/stats/cpi.csv",
}


def response(world: World, url: str = "", source: str = "stats") -> FetchedResponse:
    return FetchedResponse(source, url or URLS[world], b"1", "cc0", MOMENT, world=world)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("real", "fictional"),
        ("fictional", "real"),
        ("real", "starter"),
        ("starter", "fictional"),
        ("fictional", "starter"),
    ],
)
def test_the_other_world_is_refused_with_what_to_do(
    tmp_path: Path, first: World, second: World
) -> None:
    assert Landing(str(tmp_path)).world() is None
    Landing(str(tmp_path)).land(response(first))
    assert Landing(str(tmp_path)).world() == first
    for landing in (Landing(str(tmp_path)), Landing(tmp_path.as_uri())):
        with pytest.raises(SankofaError, match="set SANKOFA_HOME to another folder"):
            landing.land(response(second, source="other"))
    assert Landing(str(tmp_path)).documents("other") == []
    assert not list(tmp_path.glob("documents/other"))


def test_a_home_that_began_with_the_starter_world_becomes_real_with_the_first_real_document(
    tmp_path: Path,
) -> None:
    landing = Landing(str(tmp_path))
    for world in ("starter", "starter", "real"):
        landing.land(response(world))
        assert Landing(str(tmp_path)).world() == world
    with pytest.raises(SankofaError, match="this home holds real documents"):
        Landing(str(tmp_path)).land(response("starter", source="other"))


def test_one_open_landing_refuses_what_came_second(tmp_path: Path) -> None:
    landing = Landing(str(tmp_path))
    landing.land(response("fictional"))
    with pytest.raises(SankofaError, match="which is fictional"):
        landing.land(response("real"))


@pytest.mark.parametrize("world", ["real", "fictional"])
def test_a_landing_without_a_mark_is_judged_by_its_documents(tmp_path: Path, world: World) -> None:
    Landing(str(tmp_path)).land(response(world))
    (tmp_path / "world").unlink()
    assert Landing(str(tmp_path)).world() == world
    # It is marked as soon as something is landed again.
    Landing(str(tmp_path)).land(response(world))
    assert (tmp_path / "world").read_text() == f"{world}\n"


def test_a_damaged_mark_is_named(tmp_path: Path) -> None:
    (tmp_path / "world").write_text("unreal")
    with pytest.raises(LandingError, match="world is damaged: write real, starter or fictional"):
        Landing(str(tmp_path)).land(response("real"))


@pytest.mark.parametrize(
    "url",
    [
        "file:///home/me/cpi.csv",
        "/home/me/cpi.csv",
        "cpi.csv",
        "ftp://stats.example/cpi.csv",
        "https:///cpi.csv",
        "http://localhost/cpi.csv",
        "http://localhost:8399/cpi.csv",
        "http://127.0.0.1:8399/cpi.csv",
        "http://127.1.2.3/cpi.csv",
        "http://[::1]/cpi.csv",
        "http://10.0.0.4/cpi.csv",
        "http://192.168.1.7/cpi.csv",
        "http://0.0.0.0/cpi.csv",
        "http://mirror/cpi.csv",
        "http://mirror.local/cpi.csv",
        "http://printer.localhost./cpi.csv",
        "http://[bad/cpi.csv",
        "http://127.1/cpi.csv",
        "http://0x7f.0.0.1/cpi.csv",
        "http://2130706433/cpi.csv",
        "http://stats.test/cpi.csv",
        "http://stats.home/cpi.csv",
        "http://stats.corp/cpi.csv",
        "http://stats.invalid/cpi.csv",
        "https://fictional.example/stats/cpi.csv",
        "http://fictional.example/stats/cpi.csv",
        "https://FICTIONAL.example./stats/cpi.csv",
    ],
)
def test_only_an_address_of_a_publisher_is_landed_for_a_real_source(
    tmp_path: Path, url: str
) -> None:
    with pytest.raises(LandingError, match="cannot be the address of a document"):
        Landing(str(tmp_path)).land(response("real", url))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("url", ["https://8.8.8.8/cpi.csv", "http://stats.gov.gh:8080/a?b=c"])
def test_any_public_address_is_landed(tmp_path: Path, url: str) -> None:
    document, is_new = Landing(str(tmp_path)).land(response("real", url))
    assert is_new and document.url == url


def test_a_fictional_source_has_no_address_of_a_publisher(tmp_path: Path) -> None:
    with pytest.raises(LandingError, match="none but addresses of the sample world"):
        Landing(str(tmp_path)).land(response("fictional", URLS["real"]))


@pytest.mark.parametrize(("landed", "loaded"), [("real", "fictional"), ("fictional", "real")])
def test_a_record_with_rows_of_the_other_world_is_not_published(
    tmp_path: Path, landed: World, loaded: World
) -> None:
    landing, record = Landing(str(tmp_path / "landing")), Record(str(tmp_path / "record"))
    landing.land(response(landed))
    load(record, MACRO_SERIES, series_row("1", DAY, source_ref=f"{URLS[landed]}#/1"))
    assert world_of(record, landing) == landed
    load(record, MACRO_SERIES, series_row("2", DAY, source_ref=f"{URLS[loaded]}#/2"))
    for opened in (landing, Landing(str(tmp_path / "deleted"))):
        with pytest.raises(
            SankofaError, match=r"record has \w+ rows, for example of macro_series: "
        ):
            world_of(record, opened)


@pytest.mark.parametrize("world", ["real", "fictional"])
def test_a_record_whose_landing_is_gone_is_judged_by_its_rows(tmp_path: Path, world: World) -> None:
    landing, record = Landing(str(tmp_path / "landing")), Record(str(tmp_path / "record"))
    load(record, MACRO_SERIES, series_row("1", DAY, source_ref=f"{URLS[world]}#/1"))
    assert world_of(record, landing) == world
