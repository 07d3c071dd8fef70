"""A mirror changes where bytes come from, and nothing else."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from assets.fetching.client import Client, FetchError, Mirror
from assets.fetching.fetchers import Window
from assets.ingest.land import land_live
from assets.ingest.sources import SOURCES
from tests.helpers.http_client import http_client
from tests.helpers.replay_server import Replay, Reply
from warehouse.record.landing import Landing
from warehouse.shared.settings import read_settings

PUBLISHED = "https://stats.example/data"
H10 = next(source for source in SOURCES if source.key == "h10")


@pytest.fixture
def client(server: Replay) -> Iterator[Client]:
    with http_client(sleep=lambda _: None) as client:
        yield client.through(Mirror(PUBLISHED, f"{server.base}/mirror"))


def test_a_request_goes_to_the_mirror_and_keeps_its_address(server: Replay, client: Client) -> None:
    server.on("/mirror/cpi.csv", Reply(b"1"))
    response = client.get(f"{PUBLISHED}/cpi.csv?year=2024")
    assert (response.url, response.body) == (f"{PUBLISHED}/cpi.csv?year=2024", b"1")
    assert server.requests[0].query == {"year": "2024"}
    assert client.post(f"{PUBLISHED}/cpi.csv", b"{}", {}, "any").url == f"{PUBLISHED}/cpi.csv"


def test_a_link_that_names_the_mirror_is_landed_at_the_publisher(
    server: Replay, client: Client
) -> None:
    url = server.on("/mirror/next.json", Reply(b"{}"))
    assert client.get(url, "json").url == f"{PUBLISHED}/next.json"
    assert client.published_url(url) == f"{PUBLISHED}/next.json"


@pytest.mark.parametrize("target", [f"{PUBLISHED}/b.csv", "/mirror/b.csv", "b.csv"])
def test_a_redirect_stays_on_the_mirror(server: Replay, client: Client, target: str) -> None:
    server.on("/mirror/a.csv", Reply(b"", 302, {"Location": target}))
    server.on("/mirror/b.csv", Reply(b"2"))
    response = client.get(f"{PUBLISHED}/a.csv")
    assert (response.url, response.body) == (f"{PUBLISHED}/a.csv", b"2")
    assert server.requests[-1].headers["host"] == server.base.partition("://")[2]


def test_only_whole_parts_of_an_address_are_replaced() -> None:
    mirror = Mirror("https://a.example/x", "http://127.0.0.1:8")
    assert mirror.request_url("https://a.example/x") == "http://127.0.0.1:8"
    assert mirror.request_url("https://a.example/x?y") == "http://127.0.0.1:8?y"
    for other in ("https://a.example/xy", "https://a.example.org/x", "https://b.example/x"):
        assert mirror.request_url(other) == other


def test_a_failure_names_both_addresses(server: Replay, client: Client) -> None:
    with pytest.raises(FetchError, match=rf"{PUBLISHED}/a, requested from {server.base}/mirror/a"):
        client.get(f"{PUBLISHED}/a")


def test_a_mirror_is_asked_only_for_what_changed(
    server: Replay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SANKOFA_BASE_H10", f"{server.base}/mirror")
    monkeypatch.setenv("SANKOFA_H10_CADENCES", "monthly")
    settings, landing = read_settings(os.environ), Landing(str(tmp_path))
    server.on("/mirror/monthly.csv", Reply(b"Date\n", headers={"ETag": '"1"'}), Reply(b"", 304))
    assert land_live(landing, H10, Window(), settings) == (1, 1)
    assert land_live(landing, H10, Window(), settings) == (0, 0)
    assert server.requests[1].headers["if-none-match"] == '"1"'
    (document,) = landing.documents("h10")
    assert document.url == f"{H10.base_url}/monthly.csv"
