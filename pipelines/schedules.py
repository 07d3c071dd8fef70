"""Nightly schedules: fetch every source in its own run, load the record, publish."""

from collections.abc import Sequence
from typing import Any

import dagster as dg

# How many earlier partitions are fetched again every night: as long as a source still edits what
# it published, and over the end of a month.
_LOOK_BACK: dict[type, int] = {
    dg.DailyPartitionsDefinition: 30,
    dg.MonthlyPartitionsDefinition: 1,
}


def schedules(landed: Sequence[dg.AssetsDefinition], ingest: Any, publish: Any) -> list[Any]:
    """Return the schedules: fetch at 3:00, load at 5:00, publish at 5:30."""
    nightly = [
        dg.ScheduleDefinition(
            job=ingest,
            cron_schedule="0 5 * * *",
            description="Load the landed documents every night.",
        ),
        dg.ScheduleDefinition(
            job=publish,
            cron_schedule="30 5 * * *",
            description="Publish the loaded data every night.",
        ),
    ]
    return [*(_fetching(asset) for asset in landed), *nightly]


def _fetching(asset: dg.AssetsDefinition) -> dg.ScheduleDefinition:
    """Return the schedule of one source; in a run of its own, a failure stops no other."""
    name = f"fetch_{asset.key.to_user_string()}"
    what = asset.descriptions_by_key[asset.key]
    job: Any = dg.define_asset_job(
        name, dg.AssetSelection.assets(asset), description=f"Fetch. {what}"
    )
    description = "Fetch every night, in one run, what the source may have changed."

    @dg.schedule(
        job=job, cron_schedule="0 3 * * *", name=f"{name}_schedule", description=description
    )
    def nightly(context: dg.ScheduleEvaluationContext) -> dg.RunRequest:
        """Request one run for all partitions that may have changed."""
        return dg.RunRequest(tags=_range(asset.partitions_def, context))

    return nightly


def _range(
    partitions: dg.PartitionsDefinition[str] | None, context: dg.ScheduleEvaluationContext
) -> dict[str, str]:
    """Return the range of partitions to fetch; all of them if they are not time windows."""
    if partitions is None:
        return {}
    keys = partitions.get_partition_keys(current_time=context.scheduled_execution_time)
    if type(partitions) in _LOOK_BACK:
        keys = keys[-1 - _LOOK_BACK[type(partitions)] :]
    return {
        "dagster/asset_partition_range_start": keys[0],
        "dagster/asset_partition_range_end": keys[-1],
    }
