"""Bad input of every kind is refused in words: never a traceback, never a hang."""

import json
import socket
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp_server.guard import MAX_BODY_BYTES
from mcp_server.tools import TOOLS

from tests.helpers.mcp_service import ACCEPT, MODERN, MODES, asking, call, post, request
from tests.helpers.mcp_world import EXAMPLES, Agents
from warehouse.contract.pagination import next_cursor
from warehouse.control.keys import KeyStore, create_key, revoke_key

TOOL_LIST = request("tools/list")
SEVENTEEN = " ".join(f"w{number}" for number in range(17))


@pytest.fixture(autouse=True)
def no_traceback(agents: Agents) -> Any:
    """Check that nothing unforeseen is logged, whatever is requested."""
    before = len(agents.server.log.read_text())
    yield
    log = agents.server.log.read_text()[before:]
    assert (
        "Traceback" not in log
        and "unforeseen" not in log
        and "sk_live_" not in log.replace('"key":"sk_live_', "")
    )


@pytest.mark.parametrize(
    ("tool", "arguments", "code", "parameter"),
    [
        ("get_fundamentals", {"service_id": "DCA1", "asof": "2019-01-01"}, "unknown", "asof"),
        ("get_fundamentals", {"service_id": "DCA1", "as_of": "2019-02-30"}, "invalid", "as_of"),
        ("get_fundamentals", {"service_id": "DCA1", "as_of": ""}, "invalid", "as_of"),
        ("get_fundamentals", {"service_id": "../x"}, "invalid", "service_id"),
        ("get_fundamentals", {"service_id": ["DCA1"]}, "invalid", "service_id"),
        ("get_fundamentals", {"service_id": "DCA1", "limit": 0}, "invalid", "limit"),
        ("get_fundamentals", {"service_id": "DCA1", "limit": "10"}, "invalid", "limit"),
        ("get_fundamentals", {"service_id": "DCA1", "limit": True}, "invalid", "limit"),
        ("get_fundamentals", {"service_id": "DCA1", "limit": 1.5}, "invalid", "limit"),
        ("get_fundamentals", {"service_id": "DCA1", "limit": 10**30}, "above", "limit"),
        ("get_fundamentals", {"service_id": "DCA1", "vintages": "first"}, "invalid", "vintages"),
        ("get_fundamentals", {"service_id": "DCA1", "line_items": "x"}, "invalid", "line_items"),
        ("get_fundamentals", {"service_id": "DCA1", "line_items": []}, "invalid", "line_items"),
        ("get_fundamentals", {"service_id": "DCA1", "line_items": [1]}, "invalid", "line_items"),
        ("get_entity", {}, "missing", "service_id"),
        ("get_macro", {"series": "FX.EUR.ZAR", "indicator": "X"}, "conflict", "indicator"),
        ("get_macro", {"indicator": "X", "as_of": "2024-06-30"}, "conflict", "indicator"),
        ("get_macro", {"frequency": "daily"}, "conflict", "frequency"),
        ("get_macro", {"series": "A", "from": "2020"}, "invalid", "from"),
        ("search_tenders", {"from": "2020-01-02", "to": "2020-01-01"}, "conflict", "from"),
        ("search_tenders", {"query": ""}, "invalid", "query"),
        ("search_tenders", {"query": "!!"}, "invalid", "query"),
        ("search_tenders", {"buyer": "!!"}, "invalid", "buyer"),
        ("search_tenders", {"query": SEVENTEEN}, "invalid", "query"),
        ("search_tenders", {"buyer": SEVENTEEN}, "invalid", "buyer"),
        ("search_entities", {"query": "--"}, "invalid", "query"),
        ("search_entities", {"query": SEVENTEEN}, "invalid", "query"),
        ("search_entities", {"query": "x"}, "invalid", "query"),
        ("search_entities", {"query": "x" * 50_000}, "invalid", "query"),
        ("search_tenders", {"country": "Atlantis"}, "invalid", "country"),
        ("search_tenders", {"query": "ocds-1-2", "status": "active"}, "conflict", "status"),
        (
            "get_fundamentals",
            {"service_id": "DCA1", "element": "ifrs:Revenue", "adjust": "splits"},
            *("conflict", "adjust"),
        ),
    ],
)
def test_a_call_that_cannot_be_answered_names_what_to_mend(
    agents: Agents, tool: str, arguments: dict[str, Any], code: str, parameter: str
) -> None:
    result = call(agents.server, agents.world.paid, tool, arguments).result
    problem = result["structuredContent"]
    assert result["isError"] and json.loads(result["content"][0]["text"]) == problem
    assert problem["code"] in (f"parameter_{code}", f"limit_{code}_ceiling")
    assert problem["parameter"] == parameter
    assert problem["status"] == 400 and len(result["content"][0]["text"]) < 3_500


def test_a_number_of_a_filing_in_the_place_of_an_issuer_leads_to_its_filings(
    agents: Agents,
) -> None:
    number = "0001193125-19-090263"
    for tool in ("get_fundamentals", "get_entity", "get_metrics", "get_filings"):
        result = call(agents.server, agents.world.paid, tool, {"service_id": number}).result
        assert result["isError"] and "get_filings lists those" in result["content"][0]["text"]


@pytest.mark.parametrize("mode", MODES)
def test_half_a_character_is_refused(agents: Agents, mode: str) -> None:
    arguments = {"query": "\ud800\ud800"}
    answer = call(agents.server, agents.world.paid, "search_entities", arguments, mode)
    assert answer.status == 400 and answer.json()["error"]["code"] == -32700


def test_other_peoples_cursors_are_refused(agents: Agents) -> None:
    key = agents.world.paid
    ours = call(agents.server, key, "search_tenders", {"limit": 1})
    cursor = json.loads(ours.structured)["next_cursor"]
    foreign = next_cursor(b"another secret", "tenders", {}, ("ZA", "1"), "20261115.1")
    sent = [
        {"cursor": foreign},
        {"cursor": cursor[:-2] + ("AA" if not cursor.endswith("AA") else "BB")},
        {"cursor": cursor, "country": "KE"},
        {"cursor": cursor, "category": "works"},
        {"cursor": "💥" * 1_000},
    ]
    for arguments in sent:
        result = call(agents.server, key, "search_tenders", arguments).result
        assert result["isError"] and result["structuredContent"]["parameter"] == "cursor"


def test_a_limit_of_any_length_is_above_the_ceiling(agents: Agents) -> None:
    arguments = {"service_id": "DCA1", "limit": 10**30}
    result = call(agents.server, agents.world.paid, "get_fundamentals", arguments).result
    assert result["isError"] and result["structuredContent"]["code"] == "limit_above_ceiling"
    assert result["structuredContent"]["received"] == str(10**30)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({}, "key_missing"),
        ({"X_API_Key": "sk_live_nobody"}, "key_invalid"),
        ({"Authorization": "Bearer sk_live_nobody"}, "key_invalid"),
        ({"Authorization": "Basic eDp5"}, "key_missing"),
        ({"X_API_Key": "schlüssel"}, "key_invalid"),
    ],
)
def test_without_a_key_nothing_but_the_refusal_is_said(
    agents: Agents, mode: str, headers: dict[str, str], code: str
) -> None:
    sent = {name: value.encode("latin-1") for name, value in headers.items()}
    answer = call(agents.server, None, "get_entity", {"service_id": "DCA1"}, mode, **sent)  # type: ignore[arg-type]
    error = answer.json()["error"]
    assert answer.status == 401 and error["data"]["code"] == code
    assert (answer.json()["id"], error["message"]) == (None, error["data"]["detail"])
    assert "X-API-Key" in error["message"]
    assert answer.headers["WWW-Authenticate"] == 'ApiKey realm="sankofa", header="X-API-Key"'


def test_a_bearer_is_as_good_as_the_header(agents: Agents) -> None:
    bearer = {"Authorization": f"bearer  {agents.world.paid}"}
    assert post(agents.server, TOOL_LIST, None, **bearer).status == 200


def test_a_key_that_is_revoked_in_the_middle_of_a_session_is_refused(agents: Agents) -> None:
    store = KeyStore(agents.world.keys)
    key = create_key(store, "starter")

    async def work(client: Any) -> None:
        assert not (await client.call_tool("get_entity", {"service_id": "DCA1"})).is_error
        revoke_key(store, key[:12])
        # A server may use what it read of a key for a second, and not longer.
        time.sleep(1)
        with pytest.raises(Exception, match="This API key was revoked or replaced at"):
            await client.call_tool("get_entity", {"service_id": "DCA1"})

    for mode in MODES[:1]:
        asking(agents.server, key, work, mode)
    assert post(agents.server, TOOL_LIST, key).json()["error"]["data"]["code"] == "key_invalid"


@pytest.mark.parametrize("size", [MAX_BODY_BYTES + 1, 100_000_000])
def test_a_body_that_is_too_large_is_refused_before_it_is_read(agents: Agents, size: int) -> None:
    answer = post(agents.server, b" " * size, agents.world.paid)
    assert answer.status == 413 and answer.json()["code"] == "body_too_large"


def raw(agents: Agents, head: str, body: bytes = b"") -> bytes:
    """Send bytes as they are; give what comes back until the server closes."""
    with socket.create_connection(("127.0.0.1", agents.server.port), timeout=20) as connection:
        connection.sendall(head.replace("\n", "\r\n").encode() + body)
        received = b""
        while piece := connection.recv(65_536):
            received += piece
        return received


def test_a_body_without_a_stated_length_is_bounded_too(agents: Agents) -> None:
    head = (
        f"POST /mcp HTTP/1.1\nHost: localhost\nX-API-Key: {agents.world.paid}\nConnection: close\n"
        "Content-Type: application/json\nTransfer-Encoding: chunked\n\n"
    )
    piece = b"8000\r\n" + b" " * 0x8000 + b"\r\n"
    assert b" 413 " in raw(agents, head, piece * 3 + b"0\r\n\r\n").split(b"\r\n")[0]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"{", 400),
        (b"\xff\xfe", 400),
        (b"null", 400),
        (b'"tools/list"', 400),
        (b"[" * 30_000, 400),
        (json.dumps([TOOL_LIST, TOOL_LIST]).encode(), 400),
        (b"[]", 400),
        (b'{"jsonrpc":"1.0","id":1,"method":"tools/list"}', 400),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":[1]}', 400),
        (b'{"jsonrpc":"2.0","id":' + b"9" * 5_000 + b',"method":"tools/list"}', 400),
    ],
)
def test_what_is_no_message_gets_the_protocols_own_error(
    agents: Agents, mode: str, body: bytes, status: int
) -> None:
    version = {"MCP_Protocol_Version": MODERN if mode == MODERN else "2025-11-25"}
    answer = post(agents.server, body, agents.world.paid, **version)
    assert answer.status == status and answer.json()["error"]["code"] in (-32700, -32600, -32602)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Accept": "text/html"}, 406),
        ({"Content_Type": "text/plain"}, 400),
        ({"MCP_Protocol_Version": "1999-01-01"}, 400),
        ({"MCP_Protocol_Version": MODERN}, 400),
        ({"MCP_Protocol_Version": MODERN, "Mcp_Method": "tools/call"}, 400),
        ({"Host": "evil.example"}, 421),
        ({"Host": "localhost.evil.example:80"}, 421),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://localhost:3000"}, 200),
        ({"Mcp_Session_Id": "anything"}, 200),
    ],
)
def test_wrong_headers_are_refused(agents: Agents, headers: dict[str, str], status: int) -> None:
    assert post(agents.server, TOOL_LIST, agents.world.paid, **headers).status == status


def test_headers_that_disagree_with_the_body_are_refused(agents: Agents) -> None:
    arguments = {"service_id": "DCA1"}
    answer = call(agents.server, agents.world.paid, "get_entity", arguments, MODERN)
    assert answer.status == 200
    params = {"name": "get_entity", "arguments": arguments, "_meta": {}}
    for name in ("get_macro", ""):
        headers = {"MCP_Protocol_Version": MODERN, "Mcp_Method": "tools/call", "Mcp_Name": name}
        sent = post(agents.server, request("tools/call", params), agents.world.paid, **headers)
        assert sent.status == 400 and sent.json()["error"]


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "PATCH"])
def test_there_is_no_stream_to_open_and_no_session_to_end(agents: Agents, method: str) -> None:
    status, headers, body = agents.server.get(
        "/mcp", agents.world.paid, method, Accept="text/event-stream"
    )
    assert status == 405 and headers["Allow"] == "POST"
    assert json.loads(body)["code"] == "method_not_allowed"
    assert agents.server.get("/other", agents.world.paid, method)[0] == 404


@pytest.mark.parametrize(
    "method", ["tools/none", "completion/complete", "subscriptions/listen", "x" * 99]
)
def test_a_method_that_is_not_served_is_said_so(agents: Agents, method: str) -> None:
    answer = post(agents.server, request(method), agents.world.paid)
    assert answer.json()["error"]["code"] in (-32601, -32602)


def test_a_tool_that_does_not_exist_is_said_so(agents: Agents) -> None:
    error = call(agents.server, agents.world.paid, "get_everything", {}).json()["error"]
    assert error["code"] == -32602 and "get_macro" in error["message"]


def test_a_notification_is_taken_and_answered_with_nothing(agents: Agents) -> None:
    sent = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    answer = post(agents.server, sent, agents.world.paid)
    assert answer.status == 202 and answer.body == b""


def test_blanks_around_a_header_are_no_part_of_it(agents: Agents) -> None:
    body = json.dumps(TOOL_LIST).encode()
    head = (
        f"POST /mcp HTTP/1.1\nHost: localhost\nX-API-Key: \t {agents.world.paid} \t\n"
        f"Accept: {ACCEPT}\nContent-Type: application/json\nConnection: close\n"
        f"MCP-Protocol-Version: 2025-11-25  \nContent-Length: {len(body)}\n\n"
    )
    assert b" 200 " in raw(agents, head, body).split(b"\r\n")[0]


# NaN and the infinities cannot be sent: they are not valid JSON.
FINITE = st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | FINITE | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)
NAMES = sorted({parameter.name for tool in TOOLS.values() for parameter in tool.parameters})


@given(
    tool=st.sampled_from(sorted(TOOLS)),
    arguments=st.dictionaries(st.sampled_from(NAMES), JSON, max_size=3),
    right=st.booleans(),
)
@settings(max_examples=60)
def test_whatever_is_sent_is_answered_or_refused_in_words(
    agents: Agents, tool: str, arguments: dict[str, Any], right: bool
) -> None:
    arguments = {**EXAMPLES[tool], **arguments} if right else arguments
    result = call(agents.server, agents.world.paid, tool, arguments).result
    content = result["structuredContent"]
    assert content["detail"] if result["isError"] else content["data_version"]
    assert content.get("status", 200) < 500


@given(st.binary(max_size=200), st.sampled_from(["2025-11-25", MODERN, ""]))
@settings(max_examples=40)
def test_any_bytes_are_refused_by_the_protocol(agents: Agents, body: bytes, version: str) -> None:
    answer = post(agents.server, body, agents.world.paid, MCP_Protocol_Version=version)
    assert 400 <= answer.status < 500
