"""Running a job in this process, with its runs kept where ``dagster dev`` shows them."""

import fcntl
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import dagster as dg
from dagster._core.storage.dagster_run import NOT_FINISHED_STATUSES

from pipelines.places import Places
from warehouse.errors import SankofaError

# Every source has a pool of its own name, in which one run at a time has its turn.
_CONFIGURATION = """\
telemetry:
  enabled: false
concurrency:
  pools:
    default_limit: 1
    granularity: op
  runs:
    max_concurrent_runs: 4
run_monitoring:
  enabled: true
  free_slots_after_run_end_seconds: 60
  max_runtime_seconds: 86400
"""
# What was written before there were pools; it is replaced, what a person wrote is not.
_FORMER = "telemetry:\n  enabled: false\n"
_BY_COMMAND = {"sankofa/by": "command"}
_FAILURES_ONLY = {"loggers": {"console": {"config": {"log_level": "ERROR"}}}}


def instance(here: Places) -> dg.DagsterInstance:
    """Open the Dagster instance of an installation, made if it was not there."""
    here.dagster.mkdir(parents=True, exist_ok=True)
    settings = here.dagster / "dagster.yaml"
    if not settings.exists() or settings.read_text() == _FORMER:
        settings.write_text(_CONFIGURATION)
    os.environ["DAGSTER_HOME"] = str(here.dagster)
    return dg.DagsterInstance.get()


def run_job(
    here: Places,
    name: str,
    tags: Mapping[str, str] | None = None,
    config: Mapping[str, object] | None = None,
) -> dict[str, dict[str, object]]:
    """Run a job to its end and give what each asset said; a failed asset is an error.

    Assets that do not depend on the failed one have run: a source that fails leaves the
    others running.
    """
    from pipelines.definitions import definitions

    with instance(here) as keeper, _only_one(here, keeper, name):
        job = definitions().resolve_job_def(name)
        result = job.execute_in_process(
            instance=keeper,
            raise_on_error=False,
            run_config={**_FAILURES_ONLY, **(config or {})},
            tags={**_BY_COMMAND, **(tags or {})},
        )
        said: dict[str, dict[str, object]] = {
            event.asset_key.to_user_string(): {
                label: value.value
                for label, value in event.step_materialization_data.materialization.metadata.items()
            }
            for event in result.get_asset_materialization_events()
            if event.asset_key is not None
        }
        if not result.success:
            failed = [event for event in result.all_events if event.is_step_failure]
            raise SankofaError(
                f"the job {name} failed in {', '.join(map(_why, failed))}. What does not depend "
                f"on it is done. See run {result.run_id} in `dagster dev` "
                f"(DAGSTER_HOME={here.dagster})"
            )
        return said


def _why(event: dg.DagsterEvent) -> str:
    """Say which step failed and, in its own words, why."""
    error = event.step_failure_data.error
    while error is not None and error.cause is not None:
        error = error.cause
    words = "" if error is None else error.message.partition(": ")[2].strip()
    return f"{event.step_key}: {words}" if words else str(event.step_key)


@contextmanager
def _only_one(here: Places, keeper: dg.DagsterInstance, name: str) -> Iterator[None]:
    """Let one command at a time run a job, and settle what a killed one left.

    The kernel releases the lock of a dead process; a run of ours that is not finished when
    nobody holds it has died, and would keep its place in the pools for ever.
    """
    with (here.dagster / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        mine = dg.RunsFilter(job_name=name, tags=_BY_COMMAND, statuses=NOT_FINISHED_STATUSES)
        for run in keeper.get_runs(mine):
            keeper.report_run_failed(run, "its process ended before it did")
            keeper.event_log_storage.free_concurrency_slots_for_run(run.run_id)
        yield
