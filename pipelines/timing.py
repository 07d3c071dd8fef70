"""When things run: each source after its own night, the record after all, new files at once."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import dagster as dg

_STOPPED = dg.DefaultScheduleStatus.STOPPED


def schedules(
    landed: Sequence[dg.AssetsDefinition], ingest: Any, publish: Any
) -> list[dg.ScheduleDefinition | Any]:
    """Fetch every source once a night, load what came, publish what is loaded."""
    nightly = [
        dg.ScheduleDefinition(job=ingest, cron_schedule="0 5 * * *"),
        dg.ScheduleDefinition(job=publish, cron_schedule="30 5 * * *"),
    ]
    return [*(_fetching(asset) for asset in landed), *nightly]


def _fetching(asset: dg.AssetsDefinition) -> Any:
    name = asset.key.to_user_string()
    job = dg.define_asset_job(
        f"fetch_{name}", dg.AssetSelection.assets(asset), executor_def=dg.in_process_executor
    )
    if asset.partitions_def is not None:
        return dg.build_schedule_from_partitioned_job(job, hour_of_day=3)
    return dg.ScheduleDefinition(job=job, cron_schedule="0 3 * * *", default_status=_STOPPED)


def sensors(ingest: Any, folder: Path) -> list[dg.SensorDefinition]:
    """Load as soon as a new file lies in the folder of documents."""

    @dg.sensor(job=ingest, minimum_interval_seconds=60)
    def new_files(context: dg.SensorEvaluationContext) -> Iterator[dg.RunRequest | dg.SkipReason]:
        """Ask for a load when the newest file is newer than at the last look."""
        newest = max(
            (
                f"{path.stat().st_mtime_ns}:{path.name}"
                for path in folder.glob("*/*/**/*")
                if path.is_file()
            ),
            default="",
        )
        if newest <= (context.cursor or ""):
            yield dg.SkipReason("no new file")
            return
        context.update_cursor(newest)
        yield dg.RunRequest(run_key=newest)

    return [new_files]
