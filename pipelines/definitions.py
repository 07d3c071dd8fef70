"""What Dagster runs: all assets, jobs, sensors and automation, with their resources."""

import os

import dagster as dg

from assets.ingest.sources import sources_of
from pipelines.alerts import (
    ALERTS,
    BY_COMMAND,
    StepFailure,
    alert_of,
    alerts_are_set,
    send_alert,
    step_failure,
)
from pipelines.dagster_home import PUBLISH
from pipelines.ingest_definitions import ingest_definitions
from pipelines.publish import Publishing, published_assets
from pipelines.stages import STAGES
from warehouse.shared.settings import SETTINGS, Settings, read_settings


def definitions(settings: Settings) -> dg.Definitions:
    """Return the Dagster definitions of an installation."""
    return dg.Definitions.merge(ingest_definitions(settings), _publish_definitions(settings))


def _publish_definitions(settings: Settings) -> dg.Definitions:
    publish = dg.define_asset_job(
        PUBLISH,
        dg.AssetSelection.assets(*STAGES),
        description="Publish the loaded data as one build: a snapshot of the record, what is "
        "derived from it, its audit, the files, and the switch of `published_build`, "
        "which alone changes what readers see. If nothing has changed, it does nothing.",
    )
    return dg.Definitions(
        assets=published_assets(sources_of(settings)),
        jobs=[publish],
        sensors=[failed_runs(settings)] if alerts_are_set(settings) else [],
        resources={
            "publishing": Publishing(
                marts=settings.marts,
                shared_marts=settings.shared_marts,
                work=str(settings.work),
                exports=settings.exports,
                exports_url=settings.exports_url,
                signing_key=str(settings.signing_key),
                keep=settings.keep_builds,
                processes=settings.processes,
                memory_mb=settings.memory_mb,
                metrics=settings.metrics,
                service_url=settings.base_url,
                portal_files=list(map(str, settings.portal_files)),
                # By name: Dagster's page shows the values of resources, but not of variables.
                withheld_key=dg.EnvVar(SETTINGS["withheld_key"].name)
                if settings.explicit("withheld_key")
                else settings.withheld_key,
            ),
        },
    )


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


# The name under which `dagster dev -m pipelines.definitions` finds them.
defs = definitions(read_settings(os.environ))
