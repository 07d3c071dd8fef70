"""Runs jobs for a command, on the Dagster instance of the installation.

They are the jobs of Dagster's schedules and sensors, and their runs are stored where Dagster's page
shows them. ``python -m pipelines.jobs`` ends the runs of killed processes.
"""

import logging
import uuid
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

import dagster as dg

from assets.ingest.assets import ALIVE
from pipelines import alerts
from pipelines.dagster_home import PUBLISH, alive_folder, create_dagster_home, killed_runs
from pipelines.ingest_definitions import alive_resource, ingest_definitions
from warehouse.shared.errors import SankofaError
from warehouse.shared.files import make_private
from warehouse.shared.locks import alive_file, try_file_lock
from warehouse.shared.settings import Settings, read_settings

_KILLED = "its process ended before it did"
# Output and logs go to the terminal. Dagster would copy the output by four more processes for each
# step, and keep the logs for itself.
_NO_CAPTURE = {
    "python_logs": {},
    "compute_logs": {
        "module": "dagster._core.storage.noop_compute_log_manager",
        "class": "NoOpComputeLogManager",
    },
}
# What failed is reported by whoever started the run.
_QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
_log = logging.getLogger(__name__)
# If nothing changed, nothing is audited and nothing that depends on it runs. Dagster would say of
# each check that what depends on it "will proceed", which it does not.
logging.getLogger("dagster._core.execution.plan.active").setLevel(logging.ERROR)


class Run:
    """A run: the metadata of each asset that it made, and the failures by step."""

    def __init__(self, job: str) -> None:
        self.job, self.run_id = job, str(uuid.uuid4())
        self.metadata: dict[str, dict[str, Any]] = {}
        self.failures: dict[str, alerts.StepFailure] = {}

    def read(self, event: dg.DagsterEvent) -> None:
        """Take over what an event says."""
        if event.event_type == dg.DagsterEventType.ASSET_MATERIALIZATION and event.asset_key:
            materialization = event.step_materialization_data.materialization
            key = event.asset_key.to_user_string()
            self.metadata[key] = alerts.metadata_values(materialization.metadata)
        elif event.is_step_failure:
            self.failures[str(event.step_key)] = _logged_failure(event)
        elif event.event_type == dg.DagsterEventType.RUN_FAILURE and not self.failures:
            # It failed before its first step.
            self.failures[self.job] = alerts.failure_of(event.job_failure_data.error)

    def raise_failures(self) -> None:
        """Raise if a step failed."""
        if not self.failures:
            return
        why = ", ".join(f"{step}: {failure.message}" for step, failure in self.failures.items())
        kinds = {failure.kind for failure in self.failures.values()}
        kind = alerts.EXPECTED.get(kinds.pop(), SankofaError) if len(kinds) == 1 else SankofaError
        raise kind(
            f"the job {self.job} failed in {why.removesuffix('.')}. What does not depend on it is "
            f"done. `sankofa up` shows run {self.run_id} on Dagster's page"
        )


def _logged_failure(event: dg.DagsterEvent) -> alerts.StepFailure:
    failure, data = alerts.step_failure(event), event.step_failure_data
    expected = (
        failure.kind in (*alerts.EXPECTED, *alerts.INTERRUPTIONS)
        or data.user_failure_data is not None
    )
    if data.error is not None and not expected:
        # It is a bug: its traceback is worth reading.
        _log.error("%s failed\n%s", event.step_key, data.error.to_string())
    return failure


def instance(settings: Settings) -> dg.DagsterInstance:
    """Open the Dagster instance of an installation; create it if needed."""
    create_dagster_home(settings)
    # Despite its name: Dagster's only public way to open an instance with settings of one's own.
    return dg.DagsterInstance.local_temp(str(settings.dagster.absolute()), overrides=_NO_CAPTURE)


def run_job(
    settings: Settings,
    name: str,
    config: Mapping[str, object] | None = None,
    assets: Collection[dg.AssetKey] = (),
    when_step_ends: Callable[[Run, str], None] = lambda run, step: None,
) -> dict[str, dict[str, Any]]:
    """Run a job, or some assets of it, and return the metadata of each; raise if one fails.

    Assets that do not depend on the failed one have run: a source that fails leaves the
    others running.
    """
    with open_runner(settings) as runner:
        run = runner.run(name, assets=assets, config=config, when_step_ends=when_step_ends)
        run.raise_failures()
    return run.metadata


class Runner:
    """Runs jobs one after the other; made by ``open_runner``."""

    def __init__(self, settings: Settings, dagster_instance: dg.DagsterInstance) -> None:
        self._settings, self._instance = settings, dagster_instance
        self._definitions: dg.Definitions | None = None

    def run(
        self,
        name: str,
        *,
        assets: Collection[dg.AssetKey] = (),
        tags: Mapping[str, str] | None = None,
        config: Mapping[str, object] | None = None,
        when_step_ends: Callable[[Run, str], None] = lambda run, step: None,
    ) -> Run:
        """Run a job, or some assets of it, to its end; tell of failures.

        ``when_step_ends`` is called with the run as far as it went, and the step.
        """
        run = Run(name)

        def read(entry: dg.EventLogEntry) -> None:
            event = entry.dagster_event
            if event is not None:
                run.read(event)
                if event.is_step_success or event.is_step_failure:
                    when_step_ends(run, str(event.step_key))

        self._instance.add_event_listener(run.run_id, read)
        # A file shows from before the run is stored that its process is alive.
        with alive_file(alive_folder(self._settings) / run.run_id):
            self._job(name).execute_in_process(
                run_config={**_QUIET, **(config or {})},
                instance=self._instance,
                asset_selection=list(assets),
                run_id=run.run_id,
                tags={alerts.BY_COMMAND: "command", **(tags or {})},
                raise_on_error=False,
            )
        if any(failure.kind in alerts.INTERRUPTIONS for failure in run.failures.values()):
            # Dagster handles Ctrl-C and ends the run; we end the command.
            raise KeyboardInterrupt
        alert = alerts.alert_of(name, run.run_id, run.failures) if run.failures else None
        if alert is not None:
            alerts.send_alert(self._settings, alert)
        return run

    def observe(self, asset: dg.AssetKey, metadata: Mapping[str, int]) -> None:
        """Note with an asset what came into it without a run."""
        self._instance.report_runless_asset_event(dg.AssetObservation(asset, metadata=metadata))

    def _job(self, name: str) -> dg.JobDefinition:
        if self._definitions is None:
            self._definitions = _definitions(self._settings, name)
        return self._definitions.resolve_job_def(name)


def _definitions(settings: Settings, name: str) -> dg.Definitions:
    if name == PUBLISH:
        # What publishing needs takes longer to import than a small source to ingest.
        from pipelines.definitions import publish_definitions

        alive = dg.Definitions(resources={ALIVE: alive_resource(settings)})
        return dg.Definitions.merge(publish_definitions(settings), alive)
    # No one at a terminal wants to wait minutes until a failed step is repeated.
    return ingest_definitions(settings, retries=False)


@contextmanager
def open_runner(settings: Settings) -> Iterator[Runner]:
    """Open the instance, and clean up after runs whose process was killed.

    Their alerts are sent last, since one may take a minute, and not after an interruption. What is
    not sent is left to the next command.
    """
    make_private(settings)
    with instance(settings) as dagster_instance, ExitStack() as locks:
        killed = list(_end_killed_runs(settings, dagster_instance, locks))
        try:
            yield Runner(settings, dagster_instance)
        except Exception:
            _tell_of(settings, killed)
            raise
        _tell_of(settings, killed)


def end_killed_runs(settings: Settings) -> None:
    """Clean up after runs whose process was killed, before Dagster starts."""
    with open_runner(settings):
        pass


def _end_killed_runs(
    settings: Settings, dagster_instance: dg.DagsterInstance, locks: ExitStack
) -> Iterator[dg.DagsterRun]:
    """End the runs of killed processes in Dagster's eyes; yield those to tell of, locked.

    Nothing waits for such a run: what its process had locked is free. But as long as Dagster
    believes in it, its assets count as in progress and are not materialised by themselves.
    """
    for run_id in killed_runs(settings):
        file = alive_folder(settings) / run_id
        # Another command may be cleaning up at the same time.
        if not locks.enter_context(try_file_lock(file)):
            continue
        run = dagster_instance.get_run_by_id(run_id)
        if run is not None and not run.is_finished:
            try:
                dagster_instance.report_run_failed(run, _KILLED)
            # A kill can leave of a run what Dagster itself cannot read: no reason to stop here.
            except Exception as error:
                _log.warning("Dagster still believes that run %s goes on: %s", run_id, error)
                continue
        # Of its own runs Dagster tells by a sensor.
        if run is None or run.is_success or alerts.BY_COMMAND not in run.tags:
            file.unlink(missing_ok=True)
        else:
            yield run


def _tell_of(settings: Settings, killed: Collection[dg.DagsterRun]) -> None:
    """Send the alerts of killed runs; after that, nothing is left of them to clean up."""
    for run in killed:
        failures = {run.job_name: _KILLED}
        alerts.send_alert(settings, alerts.Alert("run_failed", run.job_name, run.run_id, failures))
        (alive_folder(settings) / run.run_id).unlink(missing_ok=True)


if __name__ == "__main__":
    # Started by ``dagster_home.py`` before Dagster's own programs.
    end_killed_runs(read_settings())
