"""From a source to its Dagster assets: what it shows is landed, what is landed is loaded.

Landing is partitioned as the source can be asked, so that a past span can be fetched again;
loading is not: it reads whatever is landed and not read yet.
"""

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import dagster as dg

from assets.folder import fetch_folder
from assets.live import CADENCE, FETCH, land_live
from assets.load import land_all, load_source
from assets.sources import Source
from warehouse.landing import Landing
from warehouse.record.store import Record
from warehouse.tables import LoadEntry

COUNTS = ("read", "appended", "held", "quarantined", "withdrawn")

_AGAIN = dg.RetryPolicy(
    max_retries=3, delay=60, backoff=dg.Backoff.EXPONENTIAL, jitter=dg.Jitter.PLUS_MINUS
)
_PARTITIONS: Mapping[str, dg.TimeWindowPartitionsDefinition] = {
    "daily": dg.DailyPartitionsDefinition(start_date="2015-01-01"),
    "monthly": dg.MonthlyPartitionsDefinition(start_date="2015-01-01"),
}
_FRESH = dg.FreshnessPolicy.time_window(fail_window=timedelta(hours=48))


class Ground(dg.ConfigurableResource[Any]):
    """Where documents come from, and where they and their figures are kept."""

    documents: str
    base_url: str
    landing_url: str
    record_url: str

    def landing(self) -> Landing:
        """Open the landing."""
        return Landing(self.landing_url)

    def record(self) -> Record:
        """Open the record."""
        return Record(self.record_url)


def source_assets(source: Source) -> list[dg.AssetsDefinition]:
    """Make the assets of a source: what is landed of it live, and what is loaded."""
    return (
        [landed_asset(source), loaded_asset(source)]
        if source.key in FETCH
        else [loaded_asset(source)]
    )


def landed_asset(source: Source) -> dg.AssetsDefinition:
    """Make the asset that fetches what a source shows, one span a partition."""

    @dg.asset(
        name=f"{_name(source)}_landed",
        group_name=source.subject,
        description=f"Documents of {source.title}, as they came.",
        partitions_def=_PARTITIONS.get(CADENCE.get(source.key, "")),
        retry_policy=_AGAIN,
        pool=source.key,
        kinds={"http"},
    )
    def landed(context: dg.AssetExecutionContext, ground: Ground) -> dg.MaterializeResult[None]:
        span = (None, None)
        if context.has_partition_key:
            window = context.partition_time_window
            span = (window.start.date(), window.end.date() - timedelta(days=1))
        came, new = land_live(ground.landing(), source.key, *span)
        return dg.MaterializeResult(metadata={"documents": came, "documents_new": new})

    return landed


def loaded_asset(source: Source) -> dg.AssetsDefinition:
    """Make the asset that brings what is landed of a source into the record."""

    @dg.asset(
        name=_name(source),
        group_name=source.subject,
        description=f"{source.title} ({source.license_name}).",
        deps=[f"{_name(source)}_landed"] if source.key in FETCH else [],
        freshness_policy=_FRESH,
        pool="record",
        kinds={"deltalake"},
        tags={"sankofa/license_class": source.license_class},
    )
    def ingested(context: dg.AssetExecutionContext, ground: Ground) -> dg.MaterializeResult[None]:
        landing, record = ground.landing(), ground.record()
        fetched = fetch_folder(Path(ground.documents), ground.base_url, source)
        came, new = land_all(landing, fetched)
        entries = load_source(record, landing, source)
        counts = sums(entries)
        context.log.info("%s: %s documents, %s new; %s", source.key, came, new, counts)
        return dg.MaterializeResult(
            metadata={
                "documents": came,
                "documents_new": new,
                **counts,
                "quarantine": dg.MetadataValue.path(f"{ground.record_url}/quarantine"),
                "why quarantined": dg.MetadataValue.md(_reasons(record, source)),
            }
        )

    return ingested


def sums(entries: list[LoadEntry]) -> dict[str, int]:
    """Add up the counts of several loads."""
    return {name: sum(getattr(entry, name) for entry in entries) for name in COUNTS}


def _name(source: Source) -> str:
    return source.key.replace("-", "_")


def _reasons(record: Record, source: Source) -> str:
    """Show the commonest reasons why records of a source were quarantined."""
    found = record.query(
        f"SELECT reason, count(*) AS times FROM {record.relation('quarantine')} "
        f"WHERE source = '{source.key}' GROUP BY reason ORDER BY times DESC, reason LIMIT 5"
    ).to_pylist()
    lines = [f"| {row['times']} | {row['reason'].replace('|', '/')} |" for row in found]
    return "\n".join(["| records | why |", "|---|---|", *lines])
