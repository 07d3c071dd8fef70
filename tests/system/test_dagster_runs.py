"""Runs through a real Dagster instance, fetching over HTTP from a local server."""

import json
import logging
import os
import subprocess
import sys
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from dagster._core.execution.backfill import BulkActionStatus, PartitionBackfill
from dagster._core.test_utils import create_test_daemon_workspace_context
from dagster._core.workspace.load_target import ModuleTarget
from dagster._daemon.backfill import execute_backfill_iteration
from dagster._daemon.run_coordinator import QueuedRunCoordinatorDaemon

from pipelines.dagster_home import create_dagster_home
from pipelines.definitions import definitions
from pipelines.jobs import instance, open_runner, run_job
from pipelines.stages import STAGES
from tests.helpers.installation import with_dagster
from tests.helpers.paths import ROOT
from tests.helpers.replay_server import ReceivedRequest, Replay, Reply
from tests.helpers.waiting import wait_until
from warehouse.record.landing import open_landing
from warehouse.record.store import open_record
from warehouse.shared.errors import SankofaError
from warehouse.shared.settings import Settings, read_settings

RATES = b"""KEY,FREQ,CURRENCY,CURRENCY_DENOM,EXR_TYPE,EXR_SUFFIX,TIME_PERIOD,OBS_VALUE,OBS_STATUS
EXR.D.ZAR.EUR.SP00.A,D,ZAR,EUR,SP00,A,2024-01-02,20.4,A
EXR.D.ZAR.EUR.SP00.A,D,ZAR,EUR,SP00,A,2024-01-03,oops,A
"""
# Neither the server that loads the code nor a process that copies output outlasts a test.
NOTHING_LEFT_RUNNING = """\
code_servers:
  wait_for_local_processes_on_shutdown: true
compute_logs:
  module: dagster._core.storage.noop_compute_log_manager
  class: NoOpComputeLogManager
"""


@pytest.fixture
def settings(
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    server: Replay,
    monkeypatch: pytest.MonkeyPatch,
) -> Settings:
    with_dagster(tmp_path_factory, tmp_path)
    monkeypatch.setenv("SANKOFA_HOME", str(tmp_path))
    monkeypatch.setenv("DAGSTER_HOME", "")
    for key in ("ECB", "ZA_ETENDERS", "H10", "SEC_SUBMISSIONS", "GLEIF_API"):
        monkeypatch.setenv(f"SANKOFA_BASE_{key}", server.base)
    monkeypatch.setenv("SANKOFA_ECB_KEYS", "D.ZAR.EUR.SP00.A")
    monkeypatch.setenv("SANKOFA_H10_CADENCES", "monthly")
    settings = read_settings(os.environ)
    create_dagster_home(settings)
    with (settings.dagster / "dagster.yaml").open("a") as configuration:
        configuration.write(NOTHING_LEFT_RUNNING)
    return settings


def span(first: str, last: str) -> dict[str, str]:
    return {
        "dagster/asset_partition_range_start": first,
        "dagster/asset_partition_range_end": last,
    }


def fetch(settings: Settings, job: str, first: str, last: str) -> dict[str, dict[str, Any]]:
    """Fetch the partitions from ``first`` to ``last`` as the command does."""
    with open_runner(settings) as runner:
        run = runner.run(job, tags=span(first, last))
        run.raise_failures()
    return run.metadata


def a_day(request: ReceivedRequest) -> Reply:
    day = request.query["dateFrom"]
    package = {"releases": [{"ocid": f"ocds-1-{day}", "id": day, "date": f"{day}T00:00:00Z"}]}
    return Reply(json.dumps(package).encode())


BACKFILLS = {
    # A whole month of a source that is fetched by day.
    "za_etenders_landed": {f"2024-02-{day:02}" for day in range(1, 30)},
    "ecb_landed": {"2024-01-01", "2024-02-01"},
    "sec_submissions_landed": {"00", "01"},
}


@pytest.mark.filterwarnings("ignore::DeprecationWarning:dagster")
@pytest.mark.nightly
def test_backfills_of_days_months_and_issuers_fill_their_ranges_in_one_run_each(
    settings: Settings, server: Replay, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SANKOFA_CIKS", "16 17 18")
    settings = read_settings(os.environ)
    server.answer("/api/OCDSReleases", a_day)
    server.on("/service/data/EXR/D.ZAR.EUR.SP00.A", Reply(RATES))
    for cik in ("16", "17"):
        server.on(f"/submissions/CIK{cik:0>10}.json", Reply(b'{"cik": 1}'))
    code = ModuleTarget("pipelines.definitions", None, str(ROOT), None)
    queue, log = QueuedRunCoordinatorDaemon(interval_seconds=1), logging.getLogger("dagster")
    with (
        instance(settings) as dagster_instance,
        create_test_daemon_workspace_context(code, dagster_instance) as workspace,
    ):
        for asset, partitions in BACKFILLS.items():
            dagster_instance.add_backfill(
                PartitionBackfill.from_asset_partitions(
                    backfill_id=asset,
                    asset_graph=workspace.create_request_context().asset_graph,
                    partition_names=sorted(partitions),
                    asset_selection=[dg.AssetKey(asset)],
                    backfill_timestamp=datetime.now(UTC).timestamp(),
                    tags={},
                    dynamic_partitions_store=dagster_instance,
                    all_partitions=False,
                    title=None,
                    description=None,
                    run_config=None,
                )
            )

        def finished_backfills() -> list[BulkActionStatus] | None:
            list(execute_backfill_iteration(workspace, log))
            list(queue.run_iteration(workspace))
            statuses = [
                backfill.status
                for asset in BACKFILLS
                if (backfill := dagster_instance.get_backfill(asset)) is not None
            ]
            return None if BulkActionStatus.REQUESTED in statuses else statuses

        statuses = wait_until(finished_backfills, 250, every=0.1)
        launched = dagster_instance.get_runs()
        filled = {
            asset: dagster_instance.get_materialized_partitions(dg.AssetKey(asset))
            for asset in BACKFILLS
        }

    assert set(statuses) == {BulkActionStatus.COMPLETED_SUCCESS}
    assert len(launched) == len(BACKFILLS) and all(run.is_success for run in launched)
    assert filled == BACKFILLS
    assert len(server.requests) == 29 + 1 + 2


def test_issuers_are_fetched_by_batches_that_never_change(
    settings: Settings, server: Replay, monkeypatch: pytest.MonkeyPatch
) -> None:
    ciks = ["16", "32", "17", "18"]
    monkeypatch.setenv("SANKOFA_CIKS", " ".join(ciks))
    settings = read_settings(os.environ)
    for cik in ciks:
        server.on(f"/submissions/CIK{cik:0>10}.json", Reply(b'{"cik": 1}'))

    fetch(settings, "fetch_sec_submissions_landed", "00", "01")

    ciks_fetched = [request.path[-15:-5] for request in server.requests]
    assert ciks_fetched == ["0000000016", "0000000032", "0000000017"]


def test_a_source_is_fetched_by_one_run_at_a_time(settings: Settings, server: Replay) -> None:
    first_request, go_on = threading.Event(), threading.Event()

    def wait_for_release(request: ReceivedRequest) -> Reply:
        first_request.set()
        go_on.wait(240)
        return Reply(RATES)

    server.answer("/service/data/EXR/D.ZAR.EUR.SP00.A", wait_for_release)
    job = definitions(read_settings(os.environ)).resolve_job_def("fetch_ecb_landed")
    succeeded: list[bool] = []
    with dg.DagsterInstance.from_config(str(settings.dagster)) as dagster_instance:

        def run() -> None:
            tags = span("2024-01-01", "2024-01-01")
            succeeded.append(job.execute_in_process(instance=dagster_instance, tags=tags).success)

        first, second = (threading.Thread(target=run) for _ in range(2))
        try:
            first.start()
            assert first_request.wait(60)
            second.start()
            # It says so among the events of its run, which Dagster's page shows.
            wait_until(lambda: _waits_for(dagster_instance, "the source ecb"), 120)
            assert len(server.requests) == 1
        finally:
            go_on.set()
            first.join()
            second.join()
    assert succeeded == [True, True]
    assert len(server.requests) == 2


def _waits_for(dagster_instance: dg.DagsterInstance, what: str) -> bool:
    return any(
        f"waiting for {what}, in use by process {os.getpid()}" in entry.user_message
        for run in dagster_instance.get_runs()
        for entry in dagster_instance.all_logs(run.run_id)
    )


# Runs a job as Dagster does, without the command.
RUN = """
import os
from pipelines.ingest_definitions import ingest_definitions
from pipelines.jobs import instance
from warehouse.shared.settings import read_settings
settings = read_settings(os.environ)
with instance(settings) as dagster_instance:
    job = ingest_definitions(settings).resolve_job_def("fetch_ecb_landed")
    job.execute_in_process(instance=dagster_instance, partition_key="2024-01-01")
"""


def test_a_killed_run_of_dagster_blocks_nothing_and_is_ended_by_the_next_command(
    settings: Settings, server: Replay
) -> None:
    first_request, go_on = threading.Event(), threading.Event()

    def wait_for_release(request: ReceivedRequest) -> Reply:
        if not first_request.is_set():
            first_request.set()
            go_on.wait(240)
        return Reply(RATES)

    server.answer("/service/data/EXR/D.ZAR.EUR.SP00.A", wait_for_release)
    with subprocess.Popen([sys.executable, "-c", RUN]) as process:
        assert first_request.wait(120)
        process.kill()
    go_on.set()

    metadata = fetch(settings, "fetch_ecb_landed", "2024-01-01", "2024-01-01")

    assert metadata["ecb_landed"]["documents"] == 1
    with instance(settings) as dagster_instance:
        by_command, killed = dagster_instance.get_runs()
    assert by_command.is_success and killed.status == dg.DagsterRunStatus.FAILURE
    assert not any((settings.dagster / "alive").iterdir())


def test_a_source_that_fails_live_leaves_the_others_running(
    settings: Settings, server: Replay
) -> None:
    server.on("/service/data/EXR/D.ZAR.EUR.SP00.A", Reply(RATES))
    server.on("/monthly.csv", Reply(b"gone", 410))
    all_definitions = definitions(read_settings(os.environ))
    both = dg.Definitions(
        assets=all_definitions.assets,
        resources=all_definitions.resources,
        jobs=[dg.define_asset_job("both", ["h10_landed", "ecb_landed", "ecb_macro_series"])],
    ).resolve_job_def("both")

    with instance(settings) as dagster_instance:
        result = both.execute_in_process(
            instance=dagster_instance, raise_on_error=False, tags=span("2024-01-01", "2024-01-01")
        )

    assert not result.success
    failed = [event for event in result.all_events if event.is_step_failure]
    assert [event.step_key for event in failed] == ["h10_landed"]
    assert "it answers 410" in str(failed[0].step_failure_data.user_failure_data)
    record = open_record(settings)
    assert len(record.query(f"SELECT * FROM {record.relation('macro_series')}")) == 1
    with pytest.raises(SankofaError, match="failed in h10_landed"):
        run_job(settings, "fetch_h10_landed")


def test_landed_are_the_bytes_received_and_a_table_shows_its_counts_a_sample_and_its_quarantine(
    settings: Settings, server: Replay
) -> None:
    server.on("/service/data/EXR/D.ZAR.EUR.SP00.A", Reply(RATES))
    fetch(settings, "fetch_ecb_landed", "2024-01-01", "2024-02-01")
    landing = open_landing(settings)
    [document] = landing.documents("ecb")
    assert landing.read(document) == RATES
    assert server.requests[0].query["updatedAfter"].startswith("2024-01-01")

    table = dg.AssetKey("ecb_macro_series")
    metadata = run_job(settings, "ingest", assets=[table])["ecb_macro_series"]

    assert (metadata["read"], metadata["appended"], metadata["quarantined"]) == (2, 1, 1)
    header, _, row = str(metadata["sample"]).splitlines()
    assert header.startswith("| series | country_iso3 |")
    assert row.startswith("| FX.EUR.ZAR |")
    assert Path(str(metadata["quarantine"])).is_dir()
    assert "| 1 |" in str(metadata["why quarantined"])


@pytest.mark.nightly
def test_the_record_fills_without_any_folder_of_documents(
    settings: Settings, server: Replay
) -> None:
    server.on("/monthly.csv", Reply(b"Date,Country,Exchange rate\n2024-01-01,South Africa,18.8\n"))

    run_job(settings, "fetch_h10_landed")
    metadata = run_job(settings, "ingest")

    assert not settings.sample.exists()
    assert metadata["h10_macro_series"]["appended"] == 1
    assert run_job(settings, "publish")["published_build"]["data_version"]


def test_unread_landed_documents_trigger_a_load_of_their_source(
    settings: Settings, server: Replay
) -> None:
    repository = definitions(read_settings(os.environ)).get_repository_def()
    sensor = repository.get_sensor_def("new_files")

    def evaluate_sensor(cursor: str | None) -> Any:
        with dg.build_sensor_context(cursor=cursor, repository_def=repository) as context:
            return sensor.evaluate_tick(context)

    server.on("/monthly.csv", Reply(b"Date,Country,Exchange rate\n2024-01-01,South Africa,18.8\n"))
    before = evaluate_sensor(None)
    run_job(settings, "fetch_h10_landed")
    landed = evaluate_sensor(before.cursor)
    after_request = evaluate_sensor(landed.cursor)
    run_job(settings, "ingest", assets=[dg.AssetKey("h10_macro_series")])
    read = evaluate_sensor(before.cursor)

    assert not before.run_requests
    [request] = landed.run_requests or []
    assert request.asset_selection == [dg.AssetKey("h10_macro_series")]
    assert not after_request.run_requests
    assert not read.run_requests


def test_every_asset_of_a_source_has_a_freshness_policy_and_none_needs_a_slot_of_dagster(
    settings: Settings,
) -> None:
    for asset in (
        definitions(read_settings(os.environ)).get_repository_def().assets_defs_by_key.values()
    ):
        # A process that is killed keeps its slot in a pool.
        assert asset.op.pool is None
        if asset.op.name in (*STAGES, "compacted_record"):
            continue
        assert all(spec.freshness_policy is not None for spec in asset.specs)
        if asset.partitions_def is not None:
            assert asset.backfill_policy == dg.BackfillPolicy.single_run()
