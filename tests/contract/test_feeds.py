"""What a reader of feeds and a search engine find."""

from xml.etree import ElementTree

import pytest
from falcon.testing import TestClient

from api.app import create_app
from tests.helpers.rest_service import World, make_world
from warehouse.control.keys import KeyStore
from warehouse.serve.build import Mart

ATOM = "{http://www.w3.org/2005/Atom}"
BASE = "https://data.sankofa.example"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return make_world(tmp_path_factory, "feeds", twice=True)


@pytest.fixture(scope="module")
def reader(world: World) -> TestClient:
    app = create_app(
        Mart(world.marts), KeyStore(world.keys), exports=world.published(), base_urls=(BASE,)
    )
    return TestClient(app)


def test_each_publication_is_an_entry_that_says_what_it_brought(
    reader: TestClient, world: World
) -> None:
    feed = reader.simulate_get("/changes.json").json
    assert feed["version"] == "https://jsonfeed.org/version/1.1"
    assert feed["feed_url"] == f"{BASE}/changes.json"
    newest, oldest = feed["items"]
    versions = world.published().versions()
    assert [newest["title"], oldest["title"]] == [
        f"data_version {version}" for version in reversed(versions)
    ]
    # What stayed as it was is not told; the first brought everything.
    assert newest["_changes"] == [
        {"dataset": "AF-TENDER", "added": 1, "restated": 0, "withdrawn": 0, "removed": 0}
    ]
    assert newest["content_text"] == "AF-TENDER: 1 new, 0 restated, 0 withdrawn, 0 removed."
    assert [each["dataset"] for each in oldest["_changes"]] == ["AF-FUND", "AF-MACRO", "AF-TENDER"]


def test_the_atom_feed_has_the_entries_of_the_json_feed(reader: TestClient) -> None:
    found = reader.simulate_get("/changes.atom")
    assert found.headers["Content-Type"] == "application/atom+xml; charset=utf-8"
    feed = ElementTree.fromstring(found.content)
    entries = feed.findall(f"{ATOM}entry")
    items = reader.simulate_get("/changes.json").json["items"]
    assert [entry.findtext(f"{ATOM}id") for entry in entries] == [item["id"] for item in items]
    assert all(entry.findtext(f"{ATOM}updated") for entry in (feed, *entries))


def test_pages_name_the_feeds_and_every_version_has_its_files(
    reader: TestClient, world: World
) -> None:
    page = reader.simulate_get("/changes").text
    assert 'type="application/atom+xml"' in page and 'property="og:title"' in page
    index = reader.simulate_get("/exports/").text
    for version in world.published().versions():
        assert f'id="v{version}"' in page
        assert f'href="/exports/{version}/manifest.json"' in index
        assert reader.simulate_get(f"/exports/{version}/manifest.json").status_code == 200
    current = world.published().manifest(world.published().latest())
    for file in current.artifacts:
        url = f"/exports/{current.data_version}/{file.key}.parquet"
        assert f'href="{url}"' in index
        assert reader.simulate_get(url).status_code == (401 if file.requires_key else 200)


def test_a_search_engine_finds_pages_that_answer(reader: TestClient) -> None:
    robots = reader.simulate_get("/robots.txt").text
    assert f"Sitemap: {BASE}/sitemap.xml" in robots and "Disallow: /v1/" in robots
    sitemap = ElementTree.fromstring(reader.simulate_get("/sitemap.xml").content)
    addresses = [str(location.text) for location in sitemap.iter() if location.tag.endswith("loc")]
    assert f"{BASE}/issuers/DCA1" in addresses and len(set(addresses)) == len(addresses)
    for address in addresses:
        path = address.removeprefix(BASE)
        # The metrics of this world are invented without inputs, which a page of a company shows.
        if "/issuers/" not in path:
            assert reader.simulate_get(path).status_code == 200, path
    assert reader.simulate_get("/favicon.ico").status_code == 200


@pytest.mark.parametrize(
    "query", ["id=DCA1", "id=FX.EUR.ZAR", "dataset=AF-TENDER", "buyer=agency&country=ZA"]
)
def test_a_company_a_series_a_dataset_and_a_buyer_can_be_followed(
    reader: TestClient, query: str
) -> None:
    feed = reader.simulate_get(f"/changes.json?{query}").json
    assert feed["items"] and feed["feed_url"] == f"{BASE}/changes.json?{query}"
    days = [item["date_published"] for item in feed["items"]]
    assert days == sorted(days, reverse=True)
    atom = ElementTree.fromstring(reader.simulate_get(f"/changes.atom?{query}").content)
    entries = [entry.findtext(f"{ATOM}id") for entry in atom.findall(f"{ATOM}entry")]
    assert entries == [item["id"] for item in feed["items"]]
    assert len(set(entries)) == len(entries)


def test_the_feed_of_a_buyer_asks_for_its_country(reader: TestClient) -> None:
    refused = reader.simulate_get("/changes.json?buyer=agency")
    assert refused.status_code == 400
    assert "country is required" in refused.text
