"""The pages of a build: what they contain, who can see them, and when they are removed."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import pytest
from markupsafe import escape

from assets.pages.cards import CARDS
from assets.pages.coverage import short_count
from tests.helpers.installation import (
    BriefPublication,
    copy_of,
    publication,
    sample_home,
    settings_of,
)
from tests.helpers.rest_service import Served, World
from tests.helpers.site import MCP, addresses, served_site, world_of
from warehouse.mart.builds import builds_at
from warehouse.tables import Fundamental

_LINK = re.compile(r'<a\b[^>]*?href="([^"]*)"')
_LOADED = re.compile(r'<(?:script|link|img)\b[^>]*?(?:src|href)="([^"]*)"')


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return world_of(copy_of(sample_home(tmp_path_factory), "site", tmp_path_factory))


@pytest.fixture(scope="module")
def server(world: World) -> Iterator[Served]:
    with served_site(world) as running:
        yield running


def folder(world: World) -> Path:
    return world.root / "docs" / world.published().latest()


def test_every_dataset_and_panel_has_a_page(world: World) -> None:
    paths = addresses(world)
    assert {f"{card.path}/" for card in CARDS} < set(paths)
    others = {"", "issuers/", "issuers/view/", "screen/", "signals/", "quality/"}
    assert others | {"quality/data-docs/"} < set(paths)


def test_every_page_is_served_without_a_key_under_a_policy_that_forbids_elsewhere(
    server: Served, world: World
) -> None:
    for address in addresses(world):
        status, headers, body = server.get(f"/{address}")
        assert (status, headers["Content-Type"]) == (200, "text/html; charset=utf-8"), address
        policy = headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy and "unsafe" not in policy and "http" not in policy
        page = body.decode()
        assert not re.search(r"<script>|<style| style=|\son[a-z]+=\"|javascript:", page), address
        etag = headers["ETag"]
        assert server.get(f"/{address}", If_None_Match=etag)[0] == 304


def test_every_link_and_everything_loaded_resolves(server: Served, world: World) -> None:
    links: dict[str, str] = {}
    for address in addresses(world):
        page = server.get(f"/{address}")[2].decode()
        for link in (*_LINK.findall(page), *_LOADED.findall(page)):
            if not link.startswith(("data:", "#")):
                links.setdefault(urljoin(f"{server.address}/{address}", link), address)
    assert len(links) > 60
    for link, address in links.items():
        assert urlsplit(link).netloc == urlsplit(server.address).netloc, (link, address)
        path = link.removeprefix(server.address).split("#")[0]
        licensed = "/af-" in path and path.endswith(".parquet")
        status = server.get(path, world.paid if licensed else None)[0]
        assert status == 200, (link, address)


def test_links_work_wherever_the_folder_is_put(world: World) -> None:
    root = folder(world)
    for address in addresses(world):
        page = (root / address / "index.html").read_text("utf-8")
        for tag, link in re.findall(r'<(a|link|script)\b[^>]*?(?:href|src)="([^"]*)"', page):
            if link.startswith(("data:", "#")):
                continue
            assert not link.startswith("/") and "://" not in link, (address, link)
            below = Path(urlsplit(link).path)
            if tag != "a" or not re.match(r"(\.\./)*(\./)?(exports|docs|methodology)", link):
                target = (root / address / below).resolve()
                assert target.is_file() or (target / "index.html").is_file(), (address, link)


def test_an_address_without_its_slash_and_the_id_of_an_issuer_lead_to_their_pages(
    server: Served,
) -> None:
    for path, location in (
        ("/issuers", "issuers/"),
        ("/datasets/af-fund", "af-fund/"),
        ("/issuers/DC7Q2M4XK9", "view/?id=DC7Q2M4XK9"),
    ):
        status, headers, _ = server.get(path)
        assert (status, headers["Location"]) == (302, location)


def test_pages_outside_a_build_link_to_those_inside(server: Served) -> None:
    for path in ("/docs", "/methodology", "/methodology/metrics-v1/net_margin"):
        page = server.get(path, Accept="text/html")[2].decode()
        links = re.findall(r'<li><a href="(/[^"]*)"', page)
        assert {"/", "/issuers/", "/quality/", "/docs"} <= set(links)
        assert all(server.get(link)[0] == 200 for link in links)


@pytest.mark.parametrize(
    "path",
    [
        "/datasets/none",
        "/static/",
        "/quality/../../../keys.sqlite",
        "/quality/%2e%2e/%2e%2e/%2e%2e/keys.sqlite",
        "/data/..%2f..%2f..%2fkeys.sqlite",
        "/data//etc/passwd",
        "/static/.hidden",
        "/issuers/a%00b",
    ],
)
def test_nothing_but_the_pages_of_the_build_is_served(server: Served, path: str) -> None:
    status, headers, body = server.get(path)
    assert (status, headers["Content-Type"]) == (404, "application/problem+json")
    assert b"keys" not in body or b"not_found" in body


def test_the_catalogue_is_light(server: Served, world: World) -> None:
    page = server.get("/")[2].decode()
    loaded = [
        "/",
        "/config.json",
        *(f"/{match.removeprefix('./')}" for match in _LOADED.findall(page)),
    ]
    sizes = [len(server.get(path, Accept_Encoding="gzip")[2]) for path in loaded]
    assert sum(sizes) < 150_000


def test_only_coverage_definitions_and_first_rows_of_licensed_data_are_public(world: World) -> None:
    """A key of the sample tier gets 25 rows an answer: a page shows fewer, and no data file any."""
    root = folder(world)
    data = "\n".join(path.read_text("utf-8") for path in (root / "data").rglob("*.json"))
    assert "value_reported" not in data and "source_ref" not in data
    for card in CARDS:
        page = (root / card.path / "index.html").read_text("utf-8")
        for rows in re.findall(r'<table class="rows">(.*?)</table>', page, re.DOTALL):
            assert rows.count("<tr>") <= 1 + 5


def test_a_page_explains_every_field_as_its_definition_does(world: World) -> None:
    page = (folder(world) / "datasets/af-fund/index.html").read_text("utf-8")
    for name in ("value_reported", "period_type", "available_at"):
        assert f"<code>{name}</code>" in page
        assert escape(str(Fundamental.model_fields[name].description)) in page


def test_the_quality_page_shows_every_measurement_of_the_build(world: World) -> None:
    page = (folder(world) / "quality/index.html").read_text("utf-8")
    metadata = builds_at(world.marts).metadata(world.published().latest())["measured"]
    measured = json.loads(metadata)
    badges = re.findall(r'<td><span class="badge ([a-z]+)">', page)
    assert sorted(badges) == sorted(row["status"].lower() for row in measured)
    counts = json.loads((folder(world) / "data/quality.json").read_text())["counts"]
    assert sum(count[-1] for count in counts.values()) == len(measured)


def test_the_configuration_names_the_sandbox_key_and_the_mcp_server(
    server: Served, world: World
) -> None:
    config = json.loads(server.get("/config.json")[2])
    assert config == {"api": "", "mcp": MCP, "sandbox_key": world.sample}


def test_the_pages_follow_the_current_build(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    home = copy_of(sample_home(tmp_path_factory), "followed", tmp_path_factory)
    settings, world = settings_of(home), world_of(home)
    first = str(builds_at(settings.marts).current())
    next_publication = publication(settings, BriefPublication)
    next_publication.notice = "Another notice."
    second = next_publication.run()

    assert sorted(path.name for path in Path(settings.pages).iterdir()) == [first, second]
    with served_site(world) as server:
        assert b"Another notice." in server.get("/")[2]
        builds_at(settings.marts).switch(first)
        assert b"Another notice." not in server.get("/")[2]


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0"), (999, "999"), (1500, "1.5k"), (45_000, "45k"), (2e6, "2.0M")]
)
def test_a_count_is_written_short(number: float, text: str) -> None:
    assert short_count(number) == text
