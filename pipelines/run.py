"""Running a job in this process, with its runs kept where ``dagster dev`` shows them."""

import os

import dagster as dg

from pipelines.places import Places
from warehouse.errors import SankofaError

_CONFIGURATION = "telemetry:\n  enabled: false\n"
_FAILURES_ONLY = {"loggers": {"console": {"config": {"log_level": "ERROR"}}}}


def instance(here: Places) -> dg.DagsterInstance:
    """Open the Dagster instance of an installation, made if it was not there."""
    here.dagster.mkdir(parents=True, exist_ok=True)
    settings = here.dagster / "dagster.yaml"
    if not settings.exists():
        settings.write_text(_CONFIGURATION)
    os.environ["DAGSTER_HOME"] = str(here.dagster)
    return dg.DagsterInstance.get()


def run_job(here: Places, name: str) -> dict[str, dict[str, object]]:
    """Run a job to its end and give what each asset said; a failed asset is an error.

    Assets that do not depend on the failed one have run: a source that fails leaves the
    others running.
    """
    from pipelines.definitions import definitions

    with instance(here) as keeper:
        job = definitions().resolve_job_def(name)
        result = job.execute_in_process(
            instance=keeper, raise_on_error=False, run_config=_FAILURES_ONLY
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
            failed = [event.step_key for event in result.all_events if event.is_step_failure]
            raise SankofaError(
                f"the job {name} failed in {', '.join(map(str, failed))}; the others are done. "
                f"See run {result.run_id} in `dagster dev` (DAGSTER_HOME={here.dagster})"
            )
        return said
