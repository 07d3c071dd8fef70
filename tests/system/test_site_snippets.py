"""Every snippet of the catalogue runs unchanged."""

import contextlib
import io
import json
import re
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pytest
from fsspec.implementations.http import HTTPFileSystem

from api.site.datasets import CARDS, Card
from tests.helpers.installation import sample_home
from tests.helpers.made_once import copy_of
from tests.helpers.mcp_service import call, mcp_served, post, request
from tests.helpers.rest_service import Served, World, world_of
from tests.helpers.site import MCP, Snippet, served_site, snippets

_SECRET = re.compile(r"CREATE OR REPLACE SECRET \(.*?MAP \{'X-API-Key': '([^']+)'\}\);")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return world_of(copy_of(sample_home(tmp_path_factory), "snippets", tmp_path_factory))


@pytest.fixture(scope="module")
def server(world: World) -> Iterator[Served]:
    with served_site(world) as running:
        yield running


def of(card: Card, server: Served, world: World, language: str) -> list[Snippet]:
    page = server.get(f"/{card.path}/")[2].decode()
    page_snippets = snippets(page, world.paid)
    assert {"sql", "python", "sh", "json"} <= {item.language for item in page_snippets}
    return [item for item in page_snippets if item.language == language]


class Keyed(HTTPFileSystem):  # type: ignore[misc]
    """HTTP for DuckDB, whose own extension is downloaded when first used: its secret is ours."""

    def modified(self, path: str) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC)


def run_sql(code: str) -> int:
    """Run a statement through fsspec, with the header that its secret names; count its rows."""
    secret = _SECRET.match(code)
    headers = {"X-API-Key": secret[1]} if secret else {}
    engine = duckdb.connect()
    engine.register_filesystem(Keyed(client_kwargs={"headers": headers}, skip_instance_cache=True))
    try:
        return len(engine.sql(_SECRET.sub("", code)).fetchall())
    finally:
        engine.close()


@pytest.mark.parametrize("card", CARDS, ids=lambda card: card.path)
def test_sql_snippets_run_unchanged(card: Card, server: Served, world: World) -> None:
    rows = [run_sql(item.code) for item in of(card, server, world, "sql")]
    assert rows and any(rows)


@pytest.mark.parametrize("card", CARDS, ids=lambda card: card.path)
def test_pandas_and_polars_snippets_run_unchanged(card: Card, server: Served, world: World) -> None:
    python_snippets = of(card, server, world, "python")
    assert {item.tool for item in python_snippets} == {"pandas", "polars"}
    for item in python_snippets:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(item.code, item.tool, "exec"), {})
        assert len(printed.getvalue().splitlines()) > 3, item.code


@pytest.mark.parametrize("card", CARDS, ids=lambda card: card.path)
def test_curl_snippets_run_unchanged(
    card: Card, server: Served, world: World, tmp_path: Path
) -> None:
    for item in of(card, server, world, "sh"):
        completed = subprocess.run(["sh", "-c", item.code], capture_output=True, cwd=tmp_path)
        assert completed.returncode == 0, completed.stderr
        if item.code.startswith("curl -fsSO"):
            assert item.code.split("/")[-1].strip("'") in {path.name for path in tmp_path.iterdir()}
        else:
            body = json.loads(completed.stdout)
            assert body.get("data") or body.get("observations")


def test_an_agent_connects_with_the_shown_settings_and_its_calls_return_data(
    server: Served, world: World
) -> None:
    with mcp_served(world) as running:
        for card in CARDS:
            settings_and_calls = [json.loads(item.code) for item in of(card, server, world, "json")]
            entry = settings_and_calls[0]["mcpServers"]["sankofa"]
            assert entry == {"url": f"{MCP}/mcp", "headers": {"X-API-Key": world.sample}}
            for call_params in settings_and_calls[1:]:
                key = entry["headers"]["X-API-Key"]
                if "uri" in call_params:
                    resource = post(running, request("resources/read", call_params), key).result
                    assert resource["contents"][0]["text"].startswith("# ")
                else:
                    body = call(running, key, call_params["name"], call_params["arguments"]).result
                    assert body["structuredContent"]["data"] and not body.get("isError")
