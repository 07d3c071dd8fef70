"""Sensors: one loads a source as soon as it has new documents, one tells of runs that failed."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import dagster as dg

from assets.ingest.assets import table_key
from assets.ingest.load import has_unread
from assets.ingest.resources import IngestResource
from assets.parser_versions import effective_version
from assets.source import Source
from pipelines.alerts import ALERTS, send_alert
from pipelines.jobs import BY_COMMAND, StepFailure, alert_of, step_failure
from warehouse.settings import Settings


def new_documents(
    ingest: Any, storage: IngestResource, sources: Sequence[Source]
) -> dg.SensorDefinition:
    """Return a sensor for new files in the documents folder and for unread landed documents."""
    description = "Load a source as soon as it has a new file or an unread document."

    @dg.sensor(job=ingest, minimum_interval_seconds=60, description=description)
    def new_files(context: dg.SensorEvaluationContext) -> Iterator[dg.RunRequest | dg.SkipReason]:
        """Request a load of every source with new documents since the last evaluation."""
        previous = json.loads(context.cursor or "{}")
        current = {
            source.key: _fingerprint(storage, source) for source in sources if source.permitted
        }
        context.update_cursor(json.dumps(current))
        nothing_new = True
        for source in sources:
            if not source.permitted or not _is_new(storage, source, previous, current):
                continue
            nothing_new = False
            tables = [table_key(source, table) for table in source.tables]
            yield dg.RunRequest(
                run_key=f"{source.key}:{current[source.key]}", asset_selection=tables
            )
        if nothing_new:
            yield dg.SkipReason("no new file")

    return new_files


def failed_runs(settings: Settings) -> dg.SensorDefinition:
    """Return a sensor that sends an alert for each run of Dagster's own that fails."""

    @dg.run_failure_sensor(
        name=ALERTS,
        description="Tell SANKOFA_ALERT_COMMAND and SANKOFA_ALERT_WEBHOOK of each failed run.",
        default_status=dg.DefaultSensorStatus.RUNNING,
    )
    def alert_on_failure(context: dg.RunFailureSensorContext) -> None:
        """Send an alert; the command tells of its runs by itself."""
        run = context.dagster_run
        if BY_COMMAND in run.tags:
            return
        failures = {
            str(event.step_key): step_failure(event) for event in context.get_step_failure_events()
        }
        # It failed before its first step, or its process was killed.
        reason = context.failure_event.message or "no reason given"
        alert = alert_of(
            run.job_name, run.run_id, failures or {run.job_name: StepFailure(reason, "")}
        )
        if alert is not None:
            send_alert(settings, alert)

    return alert_on_failure


def _is_new(
    storage: IngestResource,
    source: Source,
    previous: dict[str, list[int | str]],
    current: dict[str, list[int | str]],
) -> bool:
    """Return whether a source has a new file, or a landed document that is not loaded yet."""
    landed, version, *files = current[source.key]
    previous_landed, previous_version, *previous_files = previous.get(source.key, [0, "", 0, 0])
    if files != previous_files:
        return True
    # Reading the ledger is expensive: only if the number of landed documents or their parser
    # changed.
    changed = (landed, version) != (previous_landed, previous_version)
    return changed and has_unread(storage.record(), storage.landing(), source)


def _fingerprint(storage: IngestResource, source: Source) -> list[int | str]:
    """Return what a load depends on.

    The number of landed documents, the version of the parser, the number of files, and the newest
    time of a file.
    """
    landing = storage.landing()
    changed = []
    # A home of real documents does not read the folder of the sample world.
    if landing.world() != "real":
        folder = Path(storage.documents, source.key)
        changed = [path.stat().st_mtime_ns for path in folder.glob("*/**/*") if path.is_file()]
    version = effective_version(source.parser)
    return [len(landing.keys(source.key)), version, len(changed), max(changed, default=0)]
