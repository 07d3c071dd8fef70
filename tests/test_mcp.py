"""The tools over a real build, asked through the SDK's own client."""

import json
import sys
from collections.abc import Awaitable, Callable
from datetime import date
from pathlib import Path
from typing import Any

import anyio
import pytest
from falcon import testing
from mcp_server.app import create_server
from mcp_server.results import LARGEST
from mcp_types import CallToolResult, TextContent

from api.app import create_app
from mcp import Client, StdioServerParameters, stdio_client
from tests.facts import fact
from tests.test_mart import entity_row, load, restated, series_row
from warehouse.keys import KeyStore, create
from warehouse.mart.build import publish
from warehouse.read.mart import Mart
from warehouse.record.store import Record
from warehouse.record.tables import ENTITIES, FUNDAMENTALS, MACRO_SERIES


@pytest.fixture(scope="module")
def mart(tmp_path_factory: pytest.TempPathFactory) -> Mart:
    root = tmp_path_factory.mktemp("mcp")
    record = Record(str(root / "record"))
    restated(record)
    exact = fact("1234567890123456.78", item="profit", issuer="DCEXACT")
    many = [fact("1", item=f"item{n:03}", issuer="DCMANY") for n in range(200)]
    load(record, FUNDAMENTALS, exact, *many)
    load(record, ENTITIES, entity_row())
    load(record, MACRO_SERIES, series_row("20.5", date(2019, 1, 2)))
    publish(record, root / "mart")
    return Mart(root / "mart")


def ask(mart: Mart, work: Callable[[Client], Awaitable[None]], mode: str = "auto") -> None:
    async def session() -> None:
        async with Client(create_server(mart), mode=mode) as client:
            await work(client)

    anyio.run(session)


def text(result: CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_tools_say_that_they_only_read(mart: Mart, mode: str) -> None:
    async def work(client: Client) -> None:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert set(tools) == {"get_entity", "get_fundamentals", "get_macro"}
        for tool in tools.values():
            assert tool.annotations is not None and tool.annotations.read_only_hint
            assert tool.description and "null" in tool.description
            assert tool.input_schema["additionalProperties"] is False

    ask(mart, work, mode)


def test_a_tool_gives_the_rows_of_rest_byte_for_byte(mart: Mart, tmp_path: Path) -> None:
    store = KeyStore(tmp_path / "keys.sqlite")
    headers = {"X-API-Key": create(store, "starter")}
    rest = testing.TestClient(create_app(mart, store))
    asked: list[tuple[str, dict[str, Any], str]] = [
        (
            "get_fundamentals",
            {"service_id": "DCTEST1", "as_of": "2019-12-31"},
            "/v1/fundamentals/DCTEST1?as_of=2019-12-31",
        ),
        ("get_fundamentals", {"service_id": "DCEXACT"}, "/v1/fundamentals/DCEXACT"),
        ("get_entity", {"service_id": "DCTEST1"}, "/v1/entities/DCTEST1"),
        ("get_macro", {"series": "FX.EUR.ZAR"}, "/v1/macro?series=FX.EUR.ZAR"),
    ]

    async def work(client: Client) -> None:
        for name, arguments, path in asked:
            result = await client.call_tool(name, arguments)
            assert not result.is_error
            served = rest.simulate_get(path, headers=headers).text
            assert text(result).split(',"count"')[0] == served.split(',"count"')[0]
            assert json.loads(text(result))["count"] >= 1

    ask(mart, work)


def test_digits_survive_to_the_model(mart: Mart) -> None:
    async def work(client: Client) -> None:
        result = await client.call_tool("get_fundamentals", {"service_id": "DCEXACT"})
        assert '"value_reported":1234567890123456.78,' in text(result)

    ask(mart, work)


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("get_fundamentals", {"service_id": "DCTEST1", "asof": "2019-01-01"}, "asof"),
        ("get_fundamentals", {"service_id": "DCTEST1", "as_of": "2019-02-30"}, "as_of"),
        ("get_fundamentals", {"service_id": "../x"}, "service_id"),
        ("get_fundamentals", {"service_id": "DCTEST1", "limit": 0}, "limit"),
        ("get_fundamentals", {"service_id": "DCNOBODY"}, "not_found"),
        ("get_entity", {"service_id": "DCNOBODY"}, "not_found"),
        ("get_entity", {}, "service_id"),
        ("get_macro", {"series": "FX.EUR.ZAR", "indicator": "X"}, "parameter_conflict"),
        ("get_macro", {"frequency": "daily"}, "parameter_conflict"),
    ],
)
def test_a_call_that_cannot_be_answered_says_why(
    mart: Mart, name: str, arguments: dict[str, Any], words: str
) -> None:
    async def work(client: Client) -> None:
        result = await client.call_tool(name, arguments)
        assert result.is_error and words in text(result)

    ask(mart, work)


def test_a_result_is_bounded_and_says_that_there_is_more(mart: Mart) -> None:
    async def work(client: Client) -> None:
        result = await client.call_tool("get_fundamentals", {"service_id": "DCMANY", "limit": 200})
        body = json.loads(text(result))
        assert len(text(result)) <= LARGEST
        assert body["truncated"] is True and 50 < body["count"] < 200

    ask(mart, work)


def test_before_the_first_build_a_tool_says_so(tmp_path: Path) -> None:
    async def work(client: Client) -> None:
        result = await client.call_tool("get_entity", {"service_id": "DCTEST1"})
        assert result.is_error and "datastore_unavailable" in text(result)

    ask(Mart(tmp_path), work)


def test_a_local_agent_is_answered_over_stdio(mart: Mart) -> None:
    command = StdioServerParameters(
        command=sys.executable, args=["-m", "mcp_server.app", "--mart", str(mart.place)]
    )

    async def session() -> None:
        async with Client(stdio_client(command)) as client:
            result = await client.call_tool("get_entity", {"service_id": "DCTEST1"})
            assert json.loads(text(result))["count"] == 1

    anyio.run(session)
