"""Agents find the MCP server, can connect to it by a bundle, and are told how to send a key."""

import hashlib
import html
import json
import re
import sys
import zipfile
from base64 import b64decode
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import anyio
import httpx2
import pytest
from falcon import testing
from mcp.client.auth import OAuthClientProvider, OAuthRegistrationError, TokenStorage
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientMetadata
from mcp_server import stdio_bridge
from mcp_server.tools import TOOLS
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

from api.app import create_app
from clients.mcp.bundle import manifest, registry_entry, write_bundle
from mcp import Client
from tests.helpers.mcp_service import MODES, mcp_served
from tests.helpers.mcp_world import Agents
from tests.helpers.paths import ROOT
from warehouse.contract.agent_discovery import PROTOCOL_VERSIONS
from warehouse.control.keys import KeyStore
from warehouse.serve.build import Mart

WORDS = "Send your API key in the header X-API-Key"


@pytest.mark.parametrize("path", ["/mcp/server-card", "/.well-known/mcp/server-card.json"])
def test_the_card_says_where_the_server_is_and_what_it_needs(agents: Agents, path: str) -> None:
    status, headers, body = agents.server.get(path)
    card = json.loads(body)
    (remote,) = card["remotes"]
    assert (status, headers["Content-Type"]) == (200, "application/mcp-server-card+json")
    assert headers["Access-Control-Allow-Origin"] == "*"
    assert remote["url"] == f"{agents.server.address}/mcp"
    assert [(header["name"], header["isSecret"]) for header in remote["headers"]] == [
        ("X-API-Key", True)
    ]
    assert card["version"] == version("sankofa") and len(card["description"]) <= 100


def test_the_card_names_the_versions_that_the_server_speaks() -> None:
    assert (*HANDSHAKE_PROTOCOL_VERSIONS, *MODERN_PROTOCOL_VERSIONS) == PROTOCOL_VERSIONS


def test_the_catalog_of_a_host_leads_to_the_card(agents: Agents) -> None:
    status, headers, body = agents.server.get("/.well-known/ai-catalog.json")
    (entry,) = json.loads(body)["entries"]
    assert (status, headers["Content-Type"]) == (200, "application/ai-catalog+json")
    assert entry["type"] == "application/mcp-server-card+json"
    assert agents.server.get(entry["url"].removeprefix(agents.server.address))[0] == 200


def test_a_configured_address_is_the_one_of_the_card(agents: Agents) -> None:
    with mcp_served(agents.world, "--base-url", "https://mcp.example.com") as server:
        card = json.loads(server.get("/mcp/server-card")[2])
    assert card["remotes"][0]["url"] == "https://mcp.example.com/mcp"


def test_every_page_of_rest_names_the_mcp_server(agents: Agents) -> None:
    world = agents.world
    app = create_app(Mart(world.marts), KeyStore(world.keys), mcp_url="http://127.0.0.1:8322")
    client, host = testing.TestClient(app), {"Host": "data.example"}
    url = "http://data.example:8322/mcp"

    def text(path: str) -> str:
        return client.simulate_get(path, headers=host).text

    assert url in text("/llms.txt") and url in text("/docs/mcp")
    assert 'href="/docs/mcp"' in text("/docs")
    assert json.loads(text("/openapi.json"))["x-mcp"]["url"] == url
    assert json.loads(text("/.well-known/mcp/server-card.json"))["remotes"][0]["url"] == url
    assert json.loads(text("/.well-known/ai-catalog.json"))["entries"][0]["url"].startswith(url)
    without = testing.TestClient(create_app(Mart(world.marts), KeyStore(world.keys)))
    assert "MCP" not in without.simulate_get("/llms.txt").text
    assert without.simulate_get("/docs/mcp").status_code == 404


@pytest.mark.parametrize("client_name", ["Claude Code", "Claude Desktop", "Cursor", "VS Code"])
def test_the_page_has_settings_for_each_client_with_the_sandbox_key(
    agents: Agents, client_name: str
) -> None:
    world = agents.world
    app = create_app(Mart(world.marts), KeyStore(world.keys), mcp_url="http://127.0.0.1:8322")
    page = testing.TestClient(app).simulate_get("/docs/mcp").text
    section = page.partition(f"## {client_name}\n")[2].partition("\n## ")[0]
    assert "8322/mcp" in section
    assert world.sample in section or "${input:sankofa}" in section
    settings = section.partition("```\n{")[2].partition("\n```")[0]
    assert client_name == "Claude Code" or json.loads("{" + settings)


def test_one_click_adds_the_server_to_an_editor(agents: Agents) -> None:
    world = agents.world
    app = create_app(Mart(world.marts), KeyStore(world.keys), mcp_url="http://127.0.0.1:8322")
    page = testing.TestClient(app).simulate_get("/docs/mcp", headers={"Accept": "text/html"}).text
    server = {"url": "http://127.0.0.1:8322/mcp", "headers": {"X-API-Key": world.sample}}
    with_host = {**server, "url": "http://falconframework.org:8322/mcp"}
    links = [html.unescape(link) for link in re.findall(r'href="((?:cursor|vscode):[^"]+)"', page)]
    for_cursor, for_vscode = map(urlsplit, links)
    assert (for_cursor.netloc, for_cursor.path) == ("anysphere.cursor-deeplink", "/mcp/install")
    config = parse_qs(for_cursor.query)["config"][0]
    assert json.loads(b64decode(config)) == with_host
    assert for_vscode.path == "mcp/install"
    assert json.loads(unquote(for_vscode.query)) == {"name": "sankofa", "type": "http", **with_host}


def test_the_entry_for_the_registry_is_that_of_this_version_and_keeps_its_rules() -> None:
    entry = json.loads((ROOT / "mcp" / "server.json").read_text())
    assert entry == registry_entry()
    assert re.fullmatch(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", entry["name"])
    assert max(len(entry["title"]), len(entry["description"])) <= 100
    addresses = [entry["websiteUrl"], entry["repository"]["url"], entry["icons"][0]["src"]]
    assert all(url.startswith("https://") and len(url) <= 255 for url in addresses)
    of_index, of_release = entry["packages"]
    # The registry looks for its name in the description of the package.
    readme = (ROOT / "clients" / "mcp" / "README.md").read_text("utf-8")
    assert of_index["identifier"] == "sankofa-mcp" and f"mcp-name: {entry['name']} " in readme
    assert {package["version"] for package in entry["packages"]} == {entry["version"]}
    assert f"/v{entry['version']}/" in of_release["identifier"]
    sha256 = hashlib.sha256(b"").hexdigest()
    assert registry_entry(sha256)["packages"][1]["fileSha256"] == sha256


class _NoTokens(TokenStorage):
    async def get_tokens(self) -> None:
        return None

    async def set_tokens(self, tokens: object) -> None: ...

    async def get_client_info(self) -> None:
        return None

    async def set_client_info(self, client_info: object) -> None: ...


@pytest.mark.parametrize("mode", MODES)
def test_the_user_of_a_client_without_a_key_reads_our_words(agents: Agents, mode: str) -> None:
    async def connect() -> None:
        transport = streamable_http_client(f"{agents.server.address}/mcp")
        async with Client(transport, mode=mode) as client:
            await client.list_tools()

    with pytest.raises(Exception) as refused:
        anyio.run(connect)
    assert WORDS in _texts(refused.value)


def test_a_client_that_looks_for_oauth_is_told_that_there_is_none(agents: Agents) -> None:
    url = f"{agents.server.address}/mcp"

    async def never(*_: object) -> Any:
        raise AssertionError("no one is redirected")

    metadata = OAuthClientMetadata.model_validate({"redirect_uris": ["http://localhost/back"]})
    oauth = OAuthClientProvider(url, metadata, _NoTokens(), never, never)

    async def connect() -> None:
        async with httpx2.AsyncClient(auth=oauth) as http_client:
            await http_client.post(url, json={"jsonrpc": "2.0", "id": 1, "method": "ping"})

    with pytest.raises(OAuthRegistrationError, match="There is no OAuth here"):
        anyio.run(connect)


def test_rest_has_no_oauth_either_and_says_so(agents: Agents) -> None:
    for path in (
        "/.well-known/oauth-protected-resource",
        "/.well-known/oauth-authorization-server",
    ):
        answer = agents.rest.simulate_get(path)
        assert answer.status_code == 404 and "There is no OAuth here" in answer.json["detail"]
    refused = agents.rest.simulate_get("/v1/tenders")
    assert refused.headers["WWW-Authenticate"] == 'ApiKey realm="sankofa", header="X-API-Key"'


def test_the_bundle_asks_for_a_key_and_is_the_same_every_time(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_bundle(tmp_path / f"{name}.mcpb")
    assert (tmp_path / "a.mcpb").read_bytes() == (tmp_path / "b.mcpb").read_bytes()
    with zipfile.ZipFile(tmp_path / "a.mcpb") as bundle:
        written = json.loads(bundle.read("manifest.json"))
        assert written["server"]["entry_point"] in bundle.namelist()
    assert written == manifest()
    assert written["user_config"]["api_key"]["sensitive"] is True
    assert [tool["name"] for tool in written["tools"]] == list(TOOLS)
    assert {written["icon"], "README.md"} <= set(bundle.namelist())
    assert written["privacy_policies"][0].endswith("clients/mcp/README.md#privacy")
    assert "\n## Privacy\n" in (ROOT / "clients" / "mcp" / "README.md").read_text("utf-8")


@pytest.mark.parametrize("mode", MODES)
def test_the_program_of_the_bundle_reaches_a_server_without_any_package(
    agents: Agents, mode: str
) -> None:
    async def ask(key: str) -> Any:
        url = f"--url={agents.server.address}/mcp"
        # -I and -S: nothing but the standard library.
        arguments = ["-I", "-S", stdio_bridge.__file__, url, "--home=${user_config.home}"]
        # A host may leave the placeholder of what its user did not fill in.
        given = {} if mode == "legacy" else {"SANKOFA_API_KEY": key}
        arguments += [f"--key={key if not given else '${user_config.api_key}'}"]
        program = StdioServerParameters(command=sys.executable, args=arguments, env=given)
        async with Client(stdio_client(program), mode=mode) as client:
            tools = await client.list_tools()
            rows = await client.call_tool("get_entity", {"service_id": "DCA1"})
            return [tool.name for tool in tools.tools], rows.structured_content

    names, rows = anyio.run(ask, agents.world.paid)
    assert names == list(TOOLS) and rows["count"] == 1
    with pytest.raises(Exception) as refused:
        anyio.run(ask, "sk_live_nobody")
    assert "This API key is unknown" in _texts(refused.value)


def _texts(error: BaseException) -> str:
    """Return what an error says, and all errors in its group."""
    inner = error.exceptions if isinstance(error, BaseExceptionGroup) else ()
    return " ".join((str(error), *map(_texts, inner)))
