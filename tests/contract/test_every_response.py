"""What holds for any response: readable from web pages, and true about methods and limits."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from falcon import testing

from api.app import create_app
from tests.helpers.contract_client import WireResponse
from tests.helpers.rest_service import World, make_world, served
from warehouse.control.keys import KeyStore
from warehouse.serve.build import Mart
from warehouse.serve.usage import Usage
from warehouse.shared.tiers import TIERS

METHODS = "GET, HEAD, OPTIONS"


@dataclass(frozen=True)
class Service:
    """The service over a small world, called without a server."""

    world: World
    client: testing.TestClient

    def ask(self, path: str, method: str = "GET", key: str = "", **headers: str) -> testing.Result:
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        keyed = {"X-API-Key": key} if key else {}
        return self.client.simulate_request(method, path, headers={**sent, **keyed})


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return make_world(tmp_path_factory, "responses")


@pytest.fixture
def service(world: World, tmp_path: Path) -> Iterator[Service]:
    mart = Mart(world.marts)
    app = create_app(
        mart,
        KeyStore(world.keys),
        exports=world.published(),
        usage=Usage(tmp_path / "usage"),
        base_urls=("https://api.example.org",),
    )
    yield Service(world, testing.TestClient(app))
    mart.close()


def test_every_response_may_be_read_by_any_origin_without_naming_one(service: Service) -> None:
    paid = service.world.paid
    answers = {
        200: service.ask("/v1/tenders", key=paid),
        400: service.ask("/v1/tenders?wrong=1", key=paid),
        401: service.ask("/v1/tenders"),
        402: service.ask("/v1/tenders?limit=26", key=service.world.sample),
        404: service.ask("/nothing"),
        405: service.ask("/v1/tenders", "POST", paid),
        406: service.ask("/v1/tenders", key=paid, Accept="image/png"),
        414: service.ask(f"/v1/tenders?wrong={'x' * 9_000}", key=paid),
        206: service.ask("/exports/latest/manifest.json", Range="bytes=0-9"),
        416: service.ask("/exports/latest/manifest.json", Range="bytes=99999999-"),
    }
    for status, answer in answers.items():
        assert answer.status_code == status, answer.text
        assert answer.headers["Access-Control-Allow-Origin"] == "*"
        assert "X-Request-Id" in answer.headers["Access-Control-Expose-Headers"]
    etag = answers[200].headers["ETag"]
    unchanged = service.ask("/v1/tenders", key=paid, If_None_Match=etag)
    pages = [service.ask(path) for path in ("/docs", "/llms.txt", "/problems/not_found", "/health")]
    limited = [service.ask("/v1/export", key=service.world.sample) for _ in range(32)][-1]
    assert (unchanged.status_code, limited.status_code) == (304, 429)
    for answer in (unchanged, limited, *pages):
        assert answer.headers["Access-Control-Allow-Origin"] == "*"


def test_a_request_that_cannot_be_parsed_may_be_read_as_well(world: World) -> None:
    with served(world, "--workers", "1") as server:
        refused = WireResponse(*server.get("/health", Content_Length="-1"))
    assert refused.status == 400
    assert refused.headers["Access-Control-Allow-Origin"] == "*"


@pytest.mark.parametrize("path", ["/v1/tenders", "/docs", "/exports/latest/manifest.json"])
def test_options_and_a_refused_method_name_the_same_methods(service: Service, path: str) -> None:
    options, refused = service.ask(path, "OPTIONS"), service.ask(path, "POST")
    assert (options.status_code, refused.status_code) == (200, 405)
    assert options.headers["Allow"] == refused.headers["Allow"] == METHODS


def test_a_browser_that_asks_first_may_send_key_and_version(service: Service) -> None:
    origin = {"Origin": "https://x.example", "Access_Control_Request_Method": "GET"}
    for headers in ("x-api-key", "authorization,x-data-version"):
        preflight = service.ask(
            "/v1/tenders", "OPTIONS", Access_Control_Request_Headers=headers, **origin
        )
        allowed = preflight.headers["Access-Control-Allow-Headers"].lower().split(", ")
        assert {*headers.split(",")} <= {*allowed}
        assert preflight.headers["Access-Control-Allow-Methods"] == METHODS
        assert preflight.headers["Allow"] == METHODS


def test_a_used_up_month_names_the_upgrade_and_a_used_up_minute_does_not(
    world: World, tmp_path: Path
) -> None:
    tier = TIERS["professional"]
    for limited, has_upgrade in (
        (replace(tier, per_month=1), True),
        (replace(tier, per_minute=1), False),
    ):
        tiers = {**TIERS, tier.name: limited}
        usage = Usage(tmp_path / f"usage-{has_upgrade}")
        app = create_app(Mart(world.marts), KeyStore(world.keys, tiers), usage=usage)
        client = testing.TestClient(app)
        first, second = (
            client.simulate_get("/v1/tenders", headers={"X-API-Key": world.paid}) for _ in range(2)
        )
        assert (first.status_code, second.status_code) == (200, 429)
        assert ("upgrade_url" in second.json) is has_upgrade
        assert second.headers.get("X-Upgrade-URL") == second.json.get("upgrade_url")


def test_a_degraded_status_says_when_to_ask_again(tmp_path: Path) -> None:
    client = testing.TestClient(create_app(Mart(tmp_path), KeyStore(tmp_path / "control.sqlite")))
    status = client.simulate_get("/v1/status")
    assert (status.status_code, status.json["status"]) == (503, "degraded")
    assert int(status.headers["Retry-After"]) > 0


def test_an_unknown_panel_or_dataset_is_told_which_there_are(service: Service) -> None:
    paid = service.world.paid
    panel = service.ask("/v1/signals/procurement-demands", key=paid)
    assert panel.status_code == 404
    assert "procurement-demand" in panel.json["allowed"]
    assert panel.json["nearest"][0] == "procurement-demand"
    assert "Nearest: procurement-demand" in panel.json["detail"]
    for sku in ("AF-FUNDS", "AF_FUND", "af-fun"):
        dataset = service.ask(f"/v1/quality-metrics/{sku}", key=paid)
        assert dataset.status_code == 404
        assert "AF-FUND" in dataset.json["allowed"]
        assert dataset.json["nearest"][0] == "AF-FUND"
    unlike = service.ask("/v1/quality-metrics/zzzzzzzz", key=paid).json
    assert (unlike["nearest"], unlike["allowed"]) == ([], dataset.json["allowed"])


def test_a_path_that_no_id_can_be_is_still_not_found(service: Service) -> None:
    for path in ("/v1/entities/DC-1", "/v1/crosswalk/DC-1", "/v1/crosswalk/DC%00"):
        assert service.ask(path, key=service.world.paid).status_code == 404
