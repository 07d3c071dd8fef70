"""Runs jobs for a command, on the Dagster instance of the installation.

They are the jobs of Dagster's schedules and sensors, and their runs are stored where Dagster's page
shows them.
"""

import logging
import uuid
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import dagster as dg
from dagster_shared.error import SerializableErrorInfo

from assets.ingest.failures import ParserFailed
from pipelines.alerts import Alert, send_alert
from pipelines.dagster_home import alive_folder, create_dagster_home, killed_runs
from pipelines.in_process import open_instance, run_events
from warehouse.errors import (
    AlreadyPublished,
    AuditFailed,
    DamagedFile,
    DamagedRecord,
    DatastoreUnavailable,
    NothingPublished,
    NoWithheldKey,
    SankofaError,
    disk_failure,
)
from warehouse.locks import alive_file, try_file_lock
from warehouse.private_folders import make_private
from warehouse.settings import Settings

INGEST, PUBLISH, COMPACT = "ingest", "publish", "compact"
BY_COMMAND = "sankofa/by"
_KILLED = "its process ended before it did"
# Dagster passes on only the name of an exception.
_KINDS: dict[str, type[SankofaError]] = {
    kind.__name__: kind
    for kind in (
        AlreadyPublished,
        AuditFailed,
        DamagedFile,
        DamagedRecord,
        DatastoreUnavailable,
        NothingPublished,
        NoWithheldKey,
        ParserFailed,
        SankofaError,
    )
}
_INTERRUPTIONS = (KeyboardInterrupt.__name__, dg.DagsterExecutionInterruptedError.__name__)
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class StepFailure:
    """Why a step failed, and the metadata that it left."""

    message: str
    kind: str
    metadata: Mapping[str, Any] = field(default_factory=dict)


class Run:
    """A run: iterate it to execute it; then it has metadata by asset and failures by step."""

    def __init__(
        self,
        job: str,
        events: Iterator[dg.DagsterEvent],
        run_id: str,
        when_failed: Callable[["Run"], None] = lambda run: None,
    ) -> None:
        self.job, self.run_id, self._events = job, run_id, events
        self._when_failed = when_failed
        self.metadata: dict[str, dict[str, Any]] = {}
        self.failures: dict[str, StepFailure] = {}

    def __iter__(self) -> Iterator[dg.DagsterEvent]:
        for event in self._events:
            if event.event_type == dg.DagsterEventType.ASSET_MATERIALIZATION and event.asset_key:
                materialization = event.step_materialization_data.materialization
                key = event.asset_key.to_user_string()
                self.metadata[key] = _values(materialization.metadata)
            elif event.is_step_failure:
                self.failures[str(event.step_key)] = _failure(event)
            elif event.event_type == dg.DagsterEventType.RUN_FAILURE and not self.failures:
                # It failed before its first step.
                self.failures[self.job] = _expressed(event.job_failure_data.error)
            yield event
        if any(failure.kind in _INTERRUPTIONS for failure in self.failures.values()):
            # Dagster handles Ctrl-C and ends the run; we end the command.
            raise KeyboardInterrupt
        if self.failures:
            # Once, although a finished run may be iterated again.
            when_failed, self._when_failed = self._when_failed, lambda run: None
            when_failed(self)

    def finish(self) -> None:
        """Execute the run to its end; raise if a step failed."""
        for _ in self:
            pass
        if not self.failures:
            return
        why = ", ".join(f"{step}: {failure.message}" for step, failure in self.failures.items())
        kinds = {failure.kind for failure in self.failures.values()}
        kind = _KINDS.get(kinds.pop(), SankofaError) if len(kinds) == 1 else SankofaError
        raise kind(
            f"the job {self.job} failed in {why.removesuffix('.')}. What does not depend on it is "
            f"done. `sankofa up` shows run {self.run_id} on Dagster's page"
        )


def instance(settings: Settings) -> dg.DagsterInstance:
    """Open the Dagster instance of an installation; create it if needed."""
    create_dagster_home(settings)
    return open_instance(settings.dagster)


def run_job(
    settings: Settings,
    name: str,
    tags: Mapping[str, str] | None = None,
    config: Mapping[str, object] | None = None,
    assets: Collection[dg.AssetKey] = (),
) -> dict[str, dict[str, Any]]:
    """Run a job, or some assets of it, and return the metadata of each; raise if one fails.

    Assets that do not depend on the failed one have run: a source that fails leaves the
    others running.
    """
    with open_runner(settings) as runner:
        run = runner.start(name, assets=assets, tags=tags, config=config)
        run.finish()
    return run.metadata


class Runner:
    """Runs jobs one after the other; made by ``open_runner``."""

    def __init__(self, settings: Settings, dagster_instance: dg.DagsterInstance) -> None:
        self._settings, self._instance = settings, dagster_instance
        self._definitions: dg.Definitions | None = None

    def start(
        self,
        name: str,
        *,
        assets: Collection[dg.AssetKey] = (),
        tags: Mapping[str, str] | None = None,
        config: Mapping[str, object] | None = None,
    ) -> Run:
        """Return a run of a job, or of some assets of it; it executes while it is iterated."""
        run_id = str(uuid.uuid4())
        events = run_events(
            self._instance,
            self._job(name),
            run_id,
            assets=assets,
            tags={BY_COMMAND: "command", **(tags or {})},
            config=config or {},
        )
        return Run(name, self._alive(run_id, events), run_id, self._alert)

    def _alert(self, run: Run) -> None:
        alert = alert_of(run.job, run.run_id, run.failures)
        if alert is not None:
            send_alert(self._settings, alert)

    def observe(self, asset: dg.AssetKey, metadata: Mapping[str, int]) -> None:
        """Note with an asset what came into it without a run."""
        self._instance.report_runless_asset_event(dg.AssetObservation(asset, metadata=metadata))

    def _alive(self, run_id: str, events: Iterator[dg.DagsterEvent]) -> Iterator[dg.DagsterEvent]:
        """Pass events on; a file shows from before the run is stored that its process is alive."""
        with alive_file(alive_folder(self._settings) / run_id):
            yield from events

    def _job(self, name: str) -> dg.JobDefinition:
        if self._definitions is None:
            self._definitions = _definitions(self._settings, name)
        return self._definitions.resolve_job_def(name)


def _definitions(settings: Settings, name: str) -> dg.Definitions:
    # What publishing needs takes longer to import than a small source to ingest.
    if name == PUBLISH:
        from pipelines.definitions import definitions

        return definitions(settings)
    from pipelines.ingest_definitions import ingest_definitions

    if name == COMPACT:
        from pipelines.upkeep import upkeep_definitions

        return dg.Definitions.merge(
            ingest_definitions(settings, retries=False), upkeep_definitions(settings)
        )
    # Nobody at a terminal waits for minutes until a failed step is repeated.
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
        if run is None or run.is_success or BY_COMMAND not in run.tags:
            file.unlink(missing_ok=True)
        else:
            yield run


def _tell_of(settings: Settings, killed: Collection[dg.DagsterRun]) -> None:
    """Send the alerts of killed runs; after that, nothing is left of them to clean up."""
    for run in killed:
        failures = {run.job_name: _KILLED}
        send_alert(settings, Alert("run_failed", run.job_name, run.run_id, failures))
        (alive_folder(settings) / run.run_id).unlink(missing_ok=True)


def alert_of(job: str, run_id: str, failures: Mapping[str, StepFailure]) -> Alert | None:
    """Return what to tell of a failed run; None if another run had published meanwhile."""
    kinds = {failure.kind for failure in failures.values()}
    if kinds == {AlreadyPublished.__name__}:
        return None
    refused = AuditFailed.__name__ in kinds
    messages = {step: failure.message for step, failure in failures.items()}
    return Alert("publication_refused" if refused else "run_failed", job, run_id, messages)


def step_failure(event: dg.DagsterEvent) -> StepFailure:
    """Return why a step failed."""
    data = event.step_failure_data
    failure = _expressed(data.error)
    if data.user_failure_data is None:
        return failure
    metadata = _values(data.user_failure_data.metadata)
    return StepFailure(str(data.user_failure_data.description), failure.kind, metadata)


def _failure(event: dg.DagsterEvent) -> StepFailure:
    failure, data = step_failure(event), event.step_failure_data
    expected = failure.kind in (*_KINDS, *_INTERRUPTIONS) or data.user_failure_data is not None
    if data.error is not None and not expected:
        # Nobody expected it: its traceback is worth reading.
        _log.error("%s failed\n%s", event.step_key, data.error.to_string())
    return failure


def _expressed(error: SerializableErrorInfo | None) -> StepFailure:
    """Return the message and class name of the exception that caused an error.

    Ours is taken as it is: it says what the error of a library that caused it means.
    """
    while error is not None and error.cause is not None and error.cls_name not in _KINDS:
        error = error.cause
    if error is None:
        return StepFailure("no reason given", "")
    message = error.message.partition(": ")[2].strip()
    if error.cls_name not in _KINDS and (words := disk_failure(message)) is not None:
        return StepFailure(words, SankofaError.__name__)
    return StepFailure(message or str(error.cls_name), str(error.cls_name))


def _values(metadata: Mapping[str, Any]) -> dict[str, Any]:
    return {label: value.value for label, value in metadata.items()}
