"""Links lead where the service is reached; what is signed says nothing about where that is."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.mcp_service import call, mcp_served, post, request
from tests.helpers.rest_service import Served, World, make_world, served, served_here
from warehouse.shared.urls import as_reached

EXPORTS_URL = "http://localhost:8321/exports"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return make_world(tmp_path_factory, "addresses", twice=True)


@pytest.fixture(scope="module")
def server(world: World) -> Iterator[Served]:
    with served(world, "--workers", "1") as running:
        yield running


def urls_in(manifest: dict[str, Any]) -> list[str]:
    """Return every address in a manifest."""
    artifacts = manifest["artifacts"]
    deltas = [artifact["delta"]["url"] for artifact in artifacts if artifact["delta"]]
    of_files = [artifact[name] for artifact in artifacts for name in ("url", "schema_url")]
    return [manifest["signature_url"], manifest["datapackage_url"], *of_files, *deltas]


def test_signed_files_name_files_beside_them(world: World) -> None:
    folder = Path(world.exports) / world.published().latest()
    manifest = json.loads((folder / "manifest.json").read_bytes())
    croissant = json.loads((folder / "croissant.json").read_bytes())
    package = json.loads((folder / "datapackage.json").read_bytes())
    assert any(artifact["delta"] for artifact in manifest["artifacts"])
    names = {
        *urls_in(manifest),
        *(file["contentUrl"] for file in croissant["distribution"]),
        *(resource["path"] for resource in package["resources"]),
    }
    assert all((folder / name).is_file() for name in names)
    assert "127.0.0.1" not in (folder / "manifest.json").read_text()


def test_every_link_of_the_export_leads_somewhere_wherever_the_service_listens(
    server: Served, world: World
) -> None:
    manifest = json.loads(server.get("/v1/export", world.paid)[2])
    for url in urls_in(manifest):
        assert url.startswith(f"{server.address}/exports/{manifest['data_version']}/")
        assert server.get(url.removeprefix(server.address), world.paid, "HEAD")[0] == 200


def test_links_have_the_host_that_was_asked_unless_one_is_configured(
    server: Served, world: World
) -> None:
    for host, base in (("data.example:99", "http://data.example:99"), ("a b", ""), ("<b>", "")):
        first = urls_in(json.loads(server.get("/v1/export", world.paid, Host=host)[2]))[0]
        assert first.startswith(f"{base}/exports/")
    with served_here(world, base_urls=("https://api.example",)) as configured:
        answer = json.loads(configured.get("/v1/export", world.paid, Host="data.example")[2])
    assert {url.partition("/exports/")[0] for url in urls_in(answer)} == {"https://api.example"}


def test_a_trusted_proxy_says_how_it_was_reached(world: World) -> None:
    forwarded = {"X_Forwarded_Host": "api.example", "X_Forwarded_Proto": "https"}
    with served_here(world, proxies=("127.0.0.1",)) as behind:
        answer = json.loads(behind.get("/v1/export", world.paid, **forwarded)[2])
    assert answer["signature_url"].startswith("https://api.example/exports/")


def test_files_may_be_served_from_elsewhere(world: World) -> None:
    with served(world, "--workers", "1", "--exports-url", "https://cdn.example/x") as running:
        answer = json.loads(running.get("/v1/export", world.paid)[2])
    version = answer["data_version"]
    assert answer["signature_url"] == f"https://cdn.example/x/{version}/manifest.json.sig"


def test_an_agent_is_linked_to_the_host_that_it_reached(world: World) -> None:
    arguments = {"series": "FX.EUR.ZAR", "limit": 1}
    options = ("--exports-url", EXPORTS_URL, "--allowed-host", "mcp.example:99")
    with mcp_served(world, *options) as server:
        links = {
            host: call(server, world.paid, "get_macro", arguments, Host=host).result["content"][1]
            for host in (f"127.0.0.1:{server.port}", "mcp.example:99")
        }
        read = request("resources/read", {"uri": "sankofa://exports/manifest"})
        resource = post(server, read, world.paid, Host="mcp.example:99").result["contents"][0]
    hosts = [link["uri"].partition("/exports/")[0] for link in links.values()]
    assert hosts == ["http://127.0.0.1:8321", "http://mcp.example:8321"]
    manifest = json.loads(resource["text"])
    assert manifest["signature_url"].startswith("http://mcp.example:8321/exports/")


@pytest.mark.parametrize(
    ("url", "host", "reached"),
    [
        ("http://127.0.0.1:8322", "data.example", "http://data.example:8322"),
        ("http://127.0.0.1:8322", "data.example:80", "http://data.example:8322"),
        ("http://localhost:8322/mcp", "[fd00::1]:9", "http://[fd00::1]:8322/mcp"),
        ("http://[::1]:8322", "[fd00::1]", "http://[fd00::1]:8322"),
        ("https://mcp.example", "data.example", "https://mcp.example"),
        ("http://127.0.0.1:8322", None, "http://127.0.0.1:8322"),
        ("http://127.0.0.1:8322", 'x"><b>', "http://127.0.0.1:8322"),
        ("", "data.example", ""),
    ],
)
def test_only_a_local_address_is_given_the_name_that_was_reached(
    url: str, host: str | None, reached: str
) -> None:
    assert as_reached(url, host) == reached
