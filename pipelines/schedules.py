"""When things run: each source in its own run at night, then the record, then the build."""

from collections.abc import Sequence
from typing import Any

import dagster as dg

# How many partitions before the running one are asked for again each night: as long as a
# source still edits what it published, and over the end of a month.
_LOOK_BACK: dict[type, int] = {
    dg.DailyPartitionsDefinition: 30,
    dg.MonthlyPartitionsDefinition: 1,
}


def schedules(landed: Sequence[dg.AssetsDefinition], ingest: Any, publish: Any) -> list[Any]:
    """Fetch every source once a night, load what came, publish what is loaded."""
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
    """Fetch a source in a run of its own: one that fails stops no other."""
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
        """Ask for what may have changed, all in one run."""
        return dg.RunRequest(tags=_range(asset.partitions_def, context))

    return nightly


def _range(
    partitions: dg.PartitionsDefinition[str] | None, context: dg.ScheduleEvaluationContext
) -> dict[str, str]:
    """Name the partitions that are asked for each night; all where they are no spans of time."""
    if partitions is None:
        return {}
    keys = partitions.get_partition_keys(current_time=context.scheduled_execution_time)
    if type(partitions) in _LOOK_BACK:
        keys = keys[-1 - _LOOK_BACK[type(partitions)] :]
    return {
        "dagster/asset_partition_range_start": keys[0],
        "dagster/asset_partition_range_end": keys[-1],
    }
