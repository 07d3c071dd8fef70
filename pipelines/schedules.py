"""Nightly schedules: fetch every source in its own run, load the record, publish."""

from typing import Any

import dagster as dg

# How many earlier partitions are fetched again every night: as long as a source still edits what
# it published, and over the end of a month.
_LOOK_BACK: dict[type, int] = {
    dg.DailyPartitionsDefinition: 30,
    dg.MonthlyPartitionsDefinition: 1,
}


def load_schedule(ingest: Any) -> dg.ScheduleDefinition:
    """Return the schedule that loads what was fetched, at 5:00."""
    return dg.ScheduleDefinition(
        job=ingest,
        cron_schedule="0 5 * * *",
        description="Load the landed documents every night.",
    )


def publish_schedule(publish: Any) -> dg.ScheduleDefinition:
    """Return the schedule that publishes what was loaded, at 5:30."""
    return dg.ScheduleDefinition(
        job=publish,
        cron_schedule="30 5 * * *",
        description="Publish the loaded data every night.",
    )


def fetch_job(landed: dg.AssetKey) -> str:
    """Return the name of the job that fetches a source."""
    return f"fetch_{landed.to_user_string()}"


def partition_range(first: str, last: str) -> dict[str, str]:
    """Return the tags of a run that fetches a range of partitions at once."""
    return {
        "dagster/asset_partition_range_start": first,
        "dagster/asset_partition_range_end": last,
    }


def fetch_schedule(asset: dg.AssetsDefinition) -> dg.ScheduleDefinition:
    """Return the schedule of one source, at 3:00; in a run of its own, a failure stops no other."""
    name = fetch_job(asset.key)
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
    return partition_range(keys[0], keys[-1])
