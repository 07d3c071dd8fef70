"""Runs a job in this process; its runs are stored where ``dagster dev`` shows them."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import dagster as dg
from dagster._core.storage.dagster_run import NOT_FINISHED_STATUSES
from dagster_shared.error import SerializableErrorInfo

from pipelines.dagster_home import create_dagster_home
from warehouse.errors import SankofaError
from warehouse.locks import file_lock
from warehouse.mart.audit import AuditFailed
from warehouse.settings import Settings

_BY_COMMAND = {"sankofa/by": "command"}
_FAILURES_ONLY = {"loggers": {"console": {"config": {"log_level": "ERROR"}}}}


def instance(settings: Settings) -> dg.DagsterInstance:
    """Open the Dagster instance of an installation; create it if needed."""
    create_dagster_home(settings)
    os.environ["DAGSTER_HOME"] = str(settings.dagster)
    return dg.DagsterInstance.get()


def run_job(
    settings: Settings,
    name: str,
    tags: Mapping[str, str] | None = None,
    config: Mapping[str, object] | None = None,
) -> dict[str, dict[str, Any]]:
    """Run a job and return the metadata of each asset; raise if one fails.

    Assets that do not depend on the failed one have run: a source that fails leaves the
    others running.
    """
    from pipelines.definitions import definitions

    with instance(settings) as dagster_instance, _exclusive_run(settings, dagster_instance, name):
        job = definitions(settings).resolve_job_def(name)
        result = job.execute_in_process(
            instance=dagster_instance,
            raise_on_error=False,
            run_config={**_FAILURES_ONLY, **(config or {})},
            tags={**_BY_COMMAND, **(tags or {})},
        )
        metadata_by_asset: dict[str, dict[str, Any]] = {
            event.asset_key.to_user_string(): {
                label: value.value
                for label, value in event.step_materialization_data.materialization.metadata.items()
            }
            for event in result.get_asset_materialization_events()
            if event.asset_key is not None
        }
        if not result.success:
            failed = [event for event in result.all_events if event.is_step_failure]
            raise _kind(failed)(
                f"the job {name} failed in {', '.join(map(_why, failed))}. What does not depend "
                f"on it is done. `sankofa up` shows run {result.run_id} on Dagster's page"
            )
        return metadata_by_asset


def _kind(failed: Sequence[dg.DagsterEvent]) -> type[SankofaError]:
    """Return the exception class of a failed job: Dagster passes on only its name."""
    names = {error.cls_name for event in failed if (error := _first_cause(event))}
    return AuditFailed if names == {AuditFailed.__name__} else SankofaError


def _first_cause(event: dg.DagsterEvent) -> SerializableErrorInfo | None:
    error = event.step_failure_data.error
    while error is not None and error.cause is not None:
        error = error.cause
    return error


def _why(event: dg.DagsterEvent) -> str:
    """Return which step failed, and its error message."""
    error = _first_cause(event)
    words = "" if error is None else error.message.partition(": ")[2].strip()
    return f"{event.step_key}: {words}" if words else str(event.step_key)


@contextmanager
def _exclusive_run(
    settings: Settings, dagster_instance: dg.DagsterInstance, name: str
) -> Iterator[None]:
    """Let one command at a time run a job, and clean up after a killed one.

    The kernel releases the lock of a dead process. So a run of ours that is unfinished while we
    have the lock has died; it would keep its slot in the pools for ever.
    """
    with file_lock(settings.dagster / f"{name}.lock"):
        unfinished = dg.RunsFilter(job_name=name, tags=_BY_COMMAND, statuses=NOT_FINISHED_STATUSES)
        for run in dagster_instance.get_runs(unfinished):
            dagster_instance.report_run_failed(run, "its process ended before it did")
            dagster_instance.event_log_storage.free_concurrency_slots_for_run(run.run_id)
        yield
