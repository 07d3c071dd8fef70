"""What a server counts: requests, limits, stores that fail, lost lines; of all its processes."""

import os
import signal
from pathlib import Path

import pytest

from tests.helpers.mcp_service import call, mcp_served
from tests.helpers.metrics import exposed, value
from tests.helpers.rest_service import World, make_world, served
from tests.helpers.waiting import wait_until

FACTS = "/v1/fundamentals/DCA1"
COUNT = "sankofa_request_duration_seconds_count"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return make_world(tmp_path_factory, "metrics")


def test_rest_counts_by_endpoint_and_goes_on_after_a_process_was_killed(
    world: World, tmp_path: Path
) -> None:
    options = ["--workers", "2", "--metrics", str(tmp_path), "--usage", str(tmp_path / "usage")]
    facts = {"surface": "rest", "endpoint": "/v1/fundamentals/{service_id}"}

    def counted(number: int, **labels: str) -> bool:
        return value(exposed(tmp_path), COUNT, **facts, **labels) == number

    with served(world, *options) as server:
        wait_until(lambda: len(server.children()) == 2)
        for _ in range(5):
            assert server.get(FACTS, world.paid)[0] == 200
        wait_until(lambda: counted(5, status="2xx"))
        before = server.children()
        for child in before:
            os.kill(child, signal.SIGKILL)
        wait_until(lambda: set(server.children()).isdisjoint(before) and server.children())
        wait_until(lambda: value(exposed(tmp_path), "sankofa_process_starts_total", surface="rest")
                   == 4)  # fmt: skip
        assert server.get(FACTS, world.paid)[0] == 200
        assert server.get(f"{FACTS}?wrong=1", world.paid)[0] == 400
        assert server.get("/nowhere/at/all")[0] == 404
        statuses = [server.get(FACTS, world.sample)[0] for _ in range(200)]
        limited = statuses.count(429)
        assert limited
    assert counted(6 + statuses.count(200), status="2xx") and counted(1 + limited, status="4xx")
    samples = exposed(tmp_path)
    assert value(samples, "sankofa_rate_limited_total", surface="rest", limit="burst") == limited
    assert value(samples, COUNT, surface="rest", endpoint="none", status="4xx") == 1


def test_mcp_counts_by_tool_and_names_the_store_that_is_down(world: World, tmp_path: Path) -> None:
    with mcp_served(world, "--metrics", str(tmp_path)) as server:
        call(server, world.paid, "get_fundamentals", {"service_id": "DCA1"})
        away = world.marts.rename(world.marts.with_name("away"))
        call(server, world.paid, "get_fundamentals", {"service_id": "DCA1"})
        away.rename(world.marts)
        call(server, world.paid, "no_such_tool_of_ours", {})
    samples = exposed(tmp_path)
    tool = {"surface": "mcp", "endpoint": "get_fundamentals"}
    assert value(samples, COUNT, **tool, status="2xx") == 1
    assert value(samples, COUNT, **tool, status="5xx") == 1
    assert value(samples, "sankofa_store_failures_total", surface="mcp", store="datastore") == 1
    assert value(samples, COUNT, surface="mcp", endpoint="tools/call", status="2xx") == 1


@pytest.mark.parametrize("module", ["rest", pytest.param("mcp", marks=pytest.mark.nightly)])
def test_a_server_answers_although_its_metrics_cannot_be_written(
    world: World, tmp_path: Path, module: str
) -> None:
    (tmp_path / "file").write_text("no folder")
    start = served if module == "rest" else mcp_served
    with start(world, "--metrics", str(tmp_path / "file")) as server:
        assert server.get("/health")[0] == 200
    assert "no metrics are kept" in server.log.read_text()
