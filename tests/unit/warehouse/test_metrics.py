"""Processes count by themselves; the exposition adds them up, whatever became of them."""

import os
import time
from pathlib import Path

import pytest

from tests.helpers.metrics import exposed, value
from warehouse.shared import metrics as counts_module
from warehouse.shared.metrics import (
    DOCUMENTS_FAILED,
    INGEST_ROWS,
    METRICS,
    PUBLICATIONS,
    REQUEST_SECONDS,
    counting,
)


def test_processes_at_the_same_time_are_added_up(tmp_path: Path) -> None:
    with counting(tmp_path, "rest") as one, counting(tmp_path, "rest") as two:
        one.observe("/v1/x", 200, 0.002)
        two.observe("/v1/x", 204, 0.3)
        two.observe("/v1/x", 503, 20)
    samples = exposed(tmp_path)
    name, ok = REQUEST_SECONDS.name, {"surface": "rest", "endpoint": "/v1/x", "status": "2xx"}
    assert value(samples, f"{name}_count", **ok) == 2
    assert value(samples, f"{name}_sum", **ok) == pytest.approx(0.302)
    assert value(samples, f"{name}_bucket", le="0.0025", **ok) == 1
    assert value(samples, f"{name}_bucket", le="+Inf", **ok) == 2
    assert value(samples, f"{name}_bucket", le="10.0", **{**ok, "status": "5xx"}) == 0


def test_a_process_goes_on_from_the_numbers_of_one_that_has_ended(tmp_path: Path) -> None:
    for _ in range(3):
        with counting(tmp_path, "ingest") as counts:
            counts.add(INGEST_ROWS, "ecb", "appended", value=10)
    assert len(list(tmp_path.glob("*.json"))) == 1
    samples = exposed(tmp_path)
    assert value(samples, INGEST_ROWS.name, source="ecb", outcome="appended") == 30


def test_of_a_gauge_the_last_value_counts_whoever_set_it(tmp_path: Path) -> None:
    with counting(tmp_path, "ingest") as early, counting(tmp_path, "ingest") as late:
        late.set(DOCUMENTS_FAILED, "ecb", value=7)
        time.sleep(0.01)
        early.set(DOCUMENTS_FAILED, "ecb", value=0)
    assert value(exposed(tmp_path), DOCUMENTS_FAILED.name, source="ecb") == 0


def test_a_damaged_file_costs_its_own_numbers_only(tmp_path: Path) -> None:
    with counting(tmp_path, "publish") as counts:
        counts.add(PUBLICATIONS, "published")
    (tmp_path / "rest-0.json").write_text('{"requests": {"a\\n2xx": [1, 2]}, "surface": "rest"}')
    (tmp_path / "mcp-0.json").write_text("{")
    samples = exposed(tmp_path)
    assert value(samples, PUBLICATIONS.name, outcome="published") == 1
    assert not any(name.startswith(REQUEST_SECONDS.name) for name, _ in samples)


def test_work_is_done_although_its_metrics_cannot_be_written(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("no folder")
    with counting(tmp_path / "file" / "metrics", "ingest") as counts:
        counts.add(INGEST_ROWS, "ecb", "read")
    assert "no metrics are kept" in caplog.text
    with counting(None, "ingest") as counts:
        counts.add(INGEST_ROWS, "ecb", "read")


def test_a_process_without_a_folder_counts_nothing_and_fails_at_nothing() -> None:
    counts_module.observe_request("/v1/x", 200, 0.1)
    counts_module.count_problem("rate_limited", ["burst"])
    counts_module.count_store_failure("usage_store")


def test_a_killed_process_loses_no_more_than_it_had_not_written(tmp_path: Path) -> None:
    child = os.fork()
    if not child:
        with counting(tmp_path, "rest") as counts:
            counts.observe("/v1/x", 200, 0.1)
        with counting(tmp_path, "rest") as counts:
            counts.observe("/v1/x", 200, 0.1)
            os._exit(9)
    os.waitpid(child, 0)
    with counting(tmp_path, "rest") as counts:
        counts.observe("/v1/x", 200, 0.1)
    labels = {"surface": "rest", "endpoint": "/v1/x", "status": "2xx"}
    assert value(exposed(tmp_path), f"{REQUEST_SECONDS.name}_count", **labels) == 2


def test_every_metric_has_a_name_of_its_own() -> None:
    assert len({metric.name for metric in METRICS}) == len(METRICS)
