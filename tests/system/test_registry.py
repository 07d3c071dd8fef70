"""``sankofa sources registry`` against a server that answers as the data registry does."""

import gzip
import json
import os
import tomllib
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from assets.fetching.fetchers import Window
from assets.source import fetch_task
from assets.tenders.portal_files import read_portals
from assets.tenders.sources import portal_source
from pipelines.commands.main import sankofa
from tests.helpers.http_client import http_client
from tests.helpers.replay_server import Replay, Reply
from tests.helpers.withheld_key import WITHHELD_KEY
from warehouse.shared.settings import read_settings

LISTED = [
    {
        "id": 64,
        "title": 'Nigeria: "Budget" Portal',
        "country": "Nigeria",
        "source_id": "nigeria_portal",
        "date_from": "2014-01-01",
        "date_to": "2020-12-31",
        "last_retrieved": "2024-06-01",
        "frozen": False,
    },
    {
        "id": 101,
        "title": "Niger: ARMP",
        "country": "Niger",
        "source_id": "niger_armp",
        "date_from": None,
        "date_to": None,
        "last_retrieved": None,
    },
    {"id": 7, "title": "Kosovo", "country": "Kosovo", "source_id": "kosovo"},
]
PAGE = """<html><script type="application/ld+json">{broken</script>
<script type="application/ld+json">{"@type": "Dataset", "license": "LICENCE"}</script></html>"""


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Replay]:
    for name in [name for name in os.environ if name.startswith("SANKOFA_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("SANKOFA_WITHHELD_KEY", WITHHELD_KEY)
    monkeypatch.setenv("SANKOFA_HOME", str(tmp_path / "home"))
    with Replay() as replay:
        replay.on("/en/publications.json", Reply(json.dumps(LISTED).encode()))
        monkeypatch.setenv("SANKOFA_BASE_REGISTRY", replay.base)
        yield replay


def run(*words: str) -> Result:
    return CliRunner().invoke(sankofa, ["sources", "registry", *words])


def listed(*words: str) -> list[str]:
    return [item["id"] for item in json.loads(run(*words, "--json").output)]


def test_every_publisher_of_the_registry_is_listed(server: Replay) -> None:
    lines = run().output.splitlines()
    assert lines[0].split()[:3] == ["id", "country", "title"]
    assert len(lines) == 4
    assert "2014-01-01" in lines[1]
    assert "nigeria_portal" in lines[1]


def test_a_country_is_one_country_and_not_a_part_of_its_name(server: Replay) -> None:
    assert listed("--country", "NE") == ["101"]
    assert listed("--country", "nigeria") == ["64"]
    assert listed("--country", "XK") == ["7"]
    assert listed("--search", "portal budget") == ["64"]
    assert "none of 3 publications matches" in run("--country", "ZZ").output


def test_a_saved_copy_of_the_list_can_be_read_instead(server: Replay, tmp_path: Path) -> None:
    saved = tmp_path / "publications.json"
    saved.write_text(json.dumps(LISTED[:1]))
    assert listed("--file", str(saved)) == ["64"]
    assert server.requests == []
    saved.write_text("<html>")
    assert "not JSON" in run("--file", str(saved)).output


@pytest.mark.parametrize(
    ("stated", "license_class"),
    [("https://creativecommons.org/licenses/by/4.0/", "cc-by"), ("Ask us", "per-package")],
)
def test_a_publisher_by_its_id_is_an_entry_with_the_licence_of_its_page(
    server: Replay, stated: str, license_class: str
) -> None:
    server.on("/en/publication/64", Reply(PAGE.replace("LICENCE", stated).encode()))
    ((key, entry),) = tomllib.loads(run("--toml", "64").output).items()
    assert key == "ng-registry-nigeria-portal"
    assert (entry["country"], entry["title"]) == ("NG", 'Nigeria: "Budget" Portal')
    assert entry["licence"]["class"] == license_class
    assert entry["licence"]["name"] == stated
    assert entry["licence"]["stated_at"] == "https://data.open-contracting.org/en/publication/64"
    assert entry["request"]["whole"].endswith("/publication/64/download?name=full.jsonl.gz")


def test_the_entry_of_a_publisher_is_fetched_from_the_registry(
    server: Replay, tmp_path: Path
) -> None:
    file = tmp_path / "portals.toml"
    file.write_text(run("--toml", "64").output, "utf-8")
    (entry,) = read_portals(file)
    source = portal_source(entry)
    server.on("/en/publication/64/download", Reply(gzip.compress(b'{"ocid": "1"}')))
    settings = read_settings({**os.environ, "SANKOFA_BASE_NG_REGISTRY_NIGERIA_PORTAL": server.base})
    assert source.fetch is not None
    with http_client() as client:
        for window in (Window(), Window(date(2020, 3, 1), date(2020, 4, 1))):
            task = fetch_task(client, source, window, settings)
            assert [document.source for document in source.fetch(task)] == [source.key]
    names = [request.query["name"] for request in server.requests if "name" in request.query]
    assert names == ["full.jsonl.gz", "2020.jsonl.gz"]


def test_without_the_page_only_packages_that_state_an_open_licence_are_accepted(
    server: Replay,
) -> None:
    entry = tomllib.loads(run("--toml", "64").output)["ng-registry-nigeria-portal"]
    assert entry["licence"]["class"] == "per-package"


def test_an_id_that_is_not_in_the_list_is_named(server: Replay) -> None:
    outcome = run("--toml", "65")
    assert outcome.exit_code == 1
    assert "no publication 65" in outcome.output
