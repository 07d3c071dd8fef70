"""The job that keeps the record in order: merges small files, deletes old ones and old bodies."""

from typing import Any

import dagster as dg

from assets.ingest.resources import IngestResource
from assets.ingest.retention import remove_old_bodies
from assets.ingest.sources import sources_of
from pipelines.jobs import COMPACT, run_job
from warehouse.record.store import open_record
from warehouse.record.upkeep import fragmented_tables, keep_up
from warehouse.settings import Settings

_ASSET = "compacted_record"


def upkeep_definitions(settings: Settings) -> dg.Definitions:
    """Return the asset, the job and the nightly schedule; the resource `storage` comes with loads.

    The record makes a second run wait, of this machine or another.
    """

    @dg.asset(
        name=_ASSET,
        group_name="record",
        description="The files of the record, merged where there are many small ones; those that "
        "it no longer consists of are deleted, and bodies of documents that are kept no longer.",
        kinds={"parquet"},
    )
    def compacted_record(storage: IngestResource) -> dg.MaterializeResult[None]:
        record = storage.record()
        done = {table.table: table.words for table in keep_up(record, settings.vacuum_hours)}
        if settings.landing_days is not None:
            sources, days = sources_of(settings), settings.landing_days
            done["landing"] = remove_old_bodies(record, storage.landing(), sources, days).words
        return dg.MaterializeResult(metadata={name: words for name, words in done.items() if words})

    job = dg.define_asset_job(
        COMPACT,
        dg.AssetSelection.assets(compacted_record),
        description="Merge small files of the record and delete old ones.",
    )
    nightly = dg.ScheduleDefinition(
        job=job,
        cron_schedule="30 6 * * *",
        description="Merge small files of the record every night, after loading and publishing.",
    )
    return dg.Definitions(assets=[compacted_record], jobs=[job], schedules=[nightly])


def run_upkeep(settings: Settings) -> dict[str, Any]:
    """Run the job and return what was done, by table."""
    return run_job(settings, COMPACT).get(_ASSET, {})


def run_upkeep_if_fragmented(settings: Settings) -> None:
    """Run the job if a table has many small files, as after a large load."""
    if fragmented_tables(open_record(settings)):
        run_upkeep(settings)
