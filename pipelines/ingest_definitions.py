"""What Dagster runs to bring documents into the record: assets, jobs, automation and sensors.

Apart from ``definitions.py``, because importing what publishes takes longer than many an ingest.
"""

import dagster as dg

from assets.ingest.assets import landed_key, source_assets
from assets.ingest.resources import IngestResource
from assets.ingest.sources import sources_of
from pipelines.automation import WHEN_INPUTS_CHANGE, automation_sensors, nightly
from pipelines.dagster_home import alive_folder
from pipelines.fetch_jobs import fetch_jobs
from pipelines.jobs import INGEST
from pipelines.sensors import new_documents
from warehouse.settings import Settings


def ingest_definitions(settings: Settings, *, retries: bool = True) -> dg.Definitions:
    """Return the definitions that fetch and load the sources of an installation."""
    sources = sources_of(settings)
    assets = source_assets(sources, settings, retries=retries)
    landed_keys = {landed_key(source) for source in sources}
    landed = [
        asset.with_attributes(automation_condition=nightly(asset.partitions_def))
        for asset in assets
        if not landed_keys.isdisjoint(asset.keys)
    ]
    loaded = [
        asset.with_attributes(automation_condition=WHEN_INPUTS_CHANGE)
        for asset in assets
        if landed_keys.isdisjoint(asset.keys)
    ]
    ingest = dg.define_asset_job(
        INGEST,
        dg.AssetSelection.assets(*loaded),
        description="Load the landed documents of every source into the record.",
    )
    storage = IngestResource(
        documents=str(settings.sample),
        landing_url=settings.landing,
        record_url=settings.record,
        caches=str(settings.caches),
        alive=str(alive_folder(settings)),
    )
    return dg.Definitions(
        assets=[*landed, *loaded],
        jobs=[ingest, *fetch_jobs(landed)],
        sensors=[
            new_documents(ingest, storage, sources),
            *automation_sensors(settings, dg.AssetSelection.assets(*landed)),
        ],
        executor=dg.in_process_executor,
        resources={"storage": storage},
    )
