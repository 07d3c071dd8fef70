"""The tier cap: no row and no licensed file leaves a surface without passing it."""

import json
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import falcon
import pytest
from falcon import testing
from mcp_server.results import ToolRows
from mcp_server.service import Call, Service
from mcp_server.tools import Tool
from msgspec.structs import replace

from api.app import create_app
from api.endpoints.declarations import ENDPOINTS
from api.endpoints.endpoint import Endpoint
from api.endpoints.response import Format, send_list
from api.resources.exports import file_routes
from tests.helpers.publishing import publish
from tests.helpers.record_rows import entity_row, load
from warehouse.contract.limits import RowRule, cap_rows, check_file_tier, row_limit
from warehouse.contract.listing import Answer, Listing, ListRows, Question
from warehouse.contract.parameters import PARAMETERS
from warehouse.contract.problems import Problem
from warehouse.control.keys import Key, KeyStore, create_key
from warehouse.publish.builds import SAMPLE_NOTICE
from warehouse.record.store import Record
from warehouse.record.tables import ENTITIES
from warehouse.serve.build import Build, Mart
from warehouse.serve.exports import PUBLIC_KEY, PublishedExports
from warehouse.serve.rows import RowPage
from warehouse.serve.table_query import Empty
from warehouse.shared.tiers import TIERS, TierName

MANY = RowPage([b'{"n":%d}' % number for number in range(3_000)], False, "20260101.1", "notice")
FORGETFUL = Endpoint("getMany", "/v1/many", "Many rows", "", "Health", "service")
CAPS: list[tuple[TierName, int]] = [("sample", 25), ("starter", 100), ("professional", 100)]


def never_empty(question: Question) -> Empty:
    raise AssertionError


def many() -> Answer:
    listing = Listing("many", ("Match",), lambda question: ListRows(MANY), never_empty)
    question = Question(cast(Mart, None), cast(Build, None), {}, TIERS["sample"])
    return Answer(listing, question, ListRows(MANY), b"", None)


class ForgetfulResource:
    """Reads a list without its limit and sends all it has read."""

    endpoint = FORGETFUL

    def __init__(self, form: Format) -> None:
        self._form = form

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        send_list(req, resp, many(), self._form)


class UndeclaredResource:
    """Has no declaration and sends rows as if they were one."""

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        send_list(req, resp, many())


class BypassingResource:
    """Writes rows into the response itself."""

    endpoint = FORGETFUL

    def __init__(self, write: Callable[[falcon.Response], None]) -> None:
        self._write = write

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        self._write(resp)


@pytest.fixture(scope="module")
def mart(tmp_path_factory: pytest.TempPathFactory) -> Mart:
    root = tmp_path_factory.mktemp("tier_cap")
    record = Record(str(root / "record"))
    load(record, ENTITIES, entity_row())
    publish(record, root / "marts", notice=SAMPLE_NOTICE)
    return Mart(root / "marts")


@pytest.fixture
def keys(tmp_path: Path) -> KeyStore:
    store = KeyStore(tmp_path / "control.sqlite")
    create_key(store, "sample")
    return store


@pytest.fixture
def app(tmp_path: Path, keys: KeyStore) -> falcon.App[Any, Any]:
    return create_app(Mart(tmp_path / "marts"), keys)


@pytest.fixture
def error_log(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    with caplog.at_level("ERROR", logger="sankofa.api"):
        yield caplog


@pytest.mark.parametrize(("tier", "cap"), CAPS)
def test_an_endpoint_that_forgets_its_limit_is_capped(
    app: falcon.App[Any, Any], keys: KeyStore, tier: TierName, cap: int
) -> None:
    app.add_route("/v1/many", ForgetfulResource("json"))
    headers = {"X-API-Key": create_key(keys, tier)}
    body = testing.TestClient(app).simulate_get("/v1/many", headers=headers).json
    assert (len(body["data"]), body["count"], body["truncated"]) == (cap, cap, True)
    assert body["limit"] == cap


@pytest.mark.parametrize(("form", "header_lines"), [("csv", 1), ("ndjson", 0)])
@pytest.mark.parametrize(("tier", "cap"), CAPS)
def test_lines_of_an_endpoint_that_forgets_its_limit_are_capped(
    app: falcon.App[Any, Any],
    keys: KeyStore,
    form: Format,
    header_lines: int,
    tier: TierName,
    cap: int,
) -> None:
    app.add_route("/v1/many", ForgetfulResource(form))
    headers = {"X-API-Key": create_key(keys, tier)}
    lines = testing.TestClient(app).simulate_get("/v1/many", headers=headers).text.splitlines()
    assert len(lines) == cap + header_lines


def test_a_record_that_has_too_many_rows_is_capped(
    app: falcon.App[Any, Any], keys: KeyStore
) -> None:
    app.add_route("/v1/many", UndeclaredResource())
    headers = {"X-API-Key": create_key(keys, "sample")}
    body = testing.TestClient(app).simulate_get("/v1/many", headers=headers).json
    assert (len(body["data"]), body["truncated"]) == (25, True)


@pytest.mark.parametrize(
    "write",
    [
        lambda resp: setattr(resp, "data", b"[" + b",".join(MANY.rows) + b"]"),
        lambda resp: setattr(resp, "text", '{"secret": 1}'),
        lambda resp: setattr(resp, "media", {"secret": 1}),
        lambda resp: resp.set_stream(BytesIO(b"secret"), 6),
    ],
)
def test_an_endpoint_that_goes_past_the_tier_cap_sends_nothing(
    app: falcon.App[Any, Any],
    keys: KeyStore,
    error_log: pytest.LogCaptureFixture,
    write: Callable[[falcon.Response], None],
) -> None:
    app.add_route("/v1/many", BypassingResource(write))
    headers = {"X-API-Key": create_key(keys, "professional")}
    result = testing.TestClient(app).simulate_get("/v1/many", headers=headers)
    assert (result.status_code, result.json["code"]) == (500, "internal_error")
    assert "secret" not in result.text and '{"n":1}' not in result.text
    assert "did not pass the tier cap" in error_log.text


@pytest.mark.parametrize(("tier", "cap"), CAPS)
def test_a_tool_that_forgets_its_limit_is_capped(
    mart: Mart, keys: KeyStore, tier: TierName, cap: int
) -> None:
    many = replace(MANY, data_version=mart.build().data_version)
    listing = Listing("many", ("Match",), lambda question: ListRows(many), never_empty)
    question = Question(mart, mart.build(), {}, TIERS[tier])
    page = Answer(listing, question, ListRows(many), b"", None)
    tool = Tool(
        "get_many",
        "Many",
        "",
        "{}",
        (PARAMETERS["VERSION"],),
        lambda service, arguments: ToolRows(page),
        listing,
    )
    call = Call(key=Key("sk_live_test", TIERS[tier]))
    content = json.loads(Service(mart, keys).run(tool, {}, call).body)
    assert (len(content["data"]), content["count"], content["truncated"]) == (cap, cap, True)
    assert content["limit"] == cap


def test_only_these_lists_are_exempt_from_the_cap() -> None:
    rules = {endpoint.name: endpoint.listing.row_rule for endpoint in ENDPOINTS if endpoint.listing}
    assert {name: rule for name, rule in rules.items() if rule != "tier"} == {
        "getFundamentals": "paid_unlimited",
        "listFundamentals": "paid_unlimited",
        "getCrosswalk": "uncapped",
        "lookUpIdentifier": "uncapped",
        "getQualityMetrics": "uncapped",
        "listCatalogue": "uncapped",
        "listVersions": "uncapped",
    }


@pytest.mark.parametrize(
    ("tier", "rule", "limit", "count", "reported"),
    [
        ("sample", "tier", None, 25, 25),
        ("sample", "tier", 3_000, 25, 25),
        ("sample", "paid_unlimited", None, 25, 25),
        ("sample", "uncapped", None, 3_000, None),
        ("starter", "tier", None, 100, 100),
        ("starter", "tier", 3_000, 1_000, 1_000),
        ("starter", "paid_unlimited", None, 3_000, None),
    ],
)
def test_the_cap_follows_tier_and_rule(
    tier: TierName, rule: RowRule, limit: int | None, count: int, reported: int | None
) -> None:
    rows, applied = cap_rows(MANY, TIERS[tier], limit, rule)
    assert (len(rows.rows), applied, rows.truncated) == (count, reported, count < 3_000)
    assert list(rows.rows) == list(MANY.rows[:count])


def test_rows_within_the_cap_are_passed_on_as_they_are() -> None:
    few = replace(MANY, rows=MANY.rows[:25])
    assert cap_rows(few, TIERS["sample"], 25)[0] is few


def test_capped_rows_continue_after_the_last_one_sent() -> None:
    keys = [(str(number),) for number, _ in enumerate(MANY.rows)]
    rows, _ = cap_rows(replace(MANY, keys=keys), TIERS["sample"], None)
    assert rows.key_of(len(rows.rows)) == ("24",)


def test_a_limit_above_the_ceiling_is_refused() -> None:
    assert row_limit(TIERS["sample"], None) == row_limit(TIERS["sample"], 25) == 25
    for tier, code in (("sample", "row_cap_exceeded"), ("starter", "limit_above_ceiling")):
        with pytest.raises(Problem) as refused:
            row_limit(TIERS[cast(TierName, tier)], 1_001)
        assert refused.value.code == code


@pytest.mark.parametrize("required", ["starter", "professional"])
def test_every_file_route_checks_the_tier_of_a_licensed_file(
    app: falcon.App[Any, Any], keys: KeyStore, required: TierName
) -> None:
    licensed = SimpleNamespace(
        name="licensed.parquet",
        data_version="20260101.1",
        required_tier=required,
        dataset="AF-FUND",
        sha256="0" * 64,
        size_bytes=6,
        media_type="application/vnd.apache.parquet",
        open=lambda: BytesIO(b"secret"),
        store=SimpleNamespace(is_local=False),
    )
    published = cast(PublishedExports, SimpleNamespace(file=lambda version, name: licensed))
    client = testing.TestClient(app)
    order = list(TIERS)
    for path, resource in file_routes(published).items():
        app.add_route(path, resource)
        address = path.replace("{version}", "20260101.1").replace("{name}", "licensed.parquet")
        without_key = client.simulate_get(address)
        if path.rstrip("/").endswith("{version}"):
            # A version alone leads to its manifest, and sends no file.
            assert (without_key.status_code, without_key.text) == (302, "")
            continue
        assert without_key.status_code == 401
        if PUBLIC_KEY in path:
            # A route that asks for no key can never send a licensed file.
            continue
        for tier in order:
            result = client.simulate_get(address, headers={"X-API-Key": create_key(keys, tier)})
            allowed = order.index(tier) >= order.index(required)
            assert result.status_code == (200 if allowed else 402)
            assert ("secret" in result.text) == allowed


def test_an_open_file_needs_no_key() -> None:
    check_file_tier(None, None)
    with pytest.raises(Problem, match="Send your API key"):
        check_file_tier(None, "starter")
