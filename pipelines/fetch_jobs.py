"""A job for each source that fetches it by itself: a failure stops no other."""

from typing import Any

import dagster as dg


def fetch_job(landed: dg.AssetKey) -> str:
    """Return the name of the job that fetches a source."""
    return f"fetch_{landed.to_user_string()}"


def fetch_jobs(landed: list[dg.AssetsDefinition]) -> list[Any]:
    """Return the jobs that fetch the given assets."""
    return [
        dg.define_asset_job(
            fetch_job(asset.key),
            dg.AssetSelection.assets(asset),
            description=f"Fetch. {asset.descriptions_by_key[asset.key]}",
        )
        for asset in landed
    ]


def partition_range(first: str, last: str) -> dict[str, str]:
    """Return the tags of a run that fetches a range of partitions at once."""
    return {
        "dagster/asset_partition_range_start": first,
        "dagster/asset_partition_range_end": last,
    }
