"""What Dagster runs: all assets, jobs, schedules and sensors, with their resources."""

import os

import dagster as dg

from assets.ingest.assets import landed_key, source_assets
from assets.ingest.resources import IngestResource
from assets.ingest.sources import sources_of
from pipelines.publish import Publishing, published_assets
from pipelines.schedules import schedules
from pipelines.sensors import new_documents
from warehouse.settings import SETTINGS, Settings, read_settings


def definitions(settings: Settings) -> dg.Definitions:
    """Return the Dagster definitions of an installation."""
    sources = sources_of(settings)
    assets = source_assets(sources, settings)
    landed_keys = {landed_key(source) for source in sources}
    landed = [asset for asset in assets if not landed_keys.isdisjoint(asset.keys)]
    loaded = [asset for asset in assets if asset not in landed]
    published = published_assets(sources)
    ingest = dg.define_asset_job(
        "ingest",
        dg.AssetSelection.assets(*loaded),
        description="Load the landed documents of every source into the record.",
    )
    publish = dg.define_asset_job(
        "publish",
        dg.AssetSelection.assets(published),
        description="Publish the loaded data as one build.",
    )
    storage = IngestResource(
        documents=str(settings.sample),
        landing_url=settings.landing,
        record_url=settings.record,
    )
    return dg.Definitions(
        assets=[*assets, published],
        jobs=[ingest, publish],
        schedules=schedules(landed, ingest, publish),
        sensors=[new_documents(ingest, storage, sources)],
        executor=dg.in_process_executor,
        resources={
            "storage": storage,
            "publishing": Publishing(
                marts=settings.marts,
                work=str(settings.work),
                exports=settings.exports,
                exports_url=settings.exports_url,
                signing_key=str(settings.signing_key),
                docs=str(settings.docs),
                keep=settings.keep_builds,
                portal_files=list(map(str, settings.portal_files)),
                # By name: Dagster's page shows the values of resources, but not of variables.
                withheld_key=dg.EnvVar(SETTINGS["withheld_key"].name)
                if settings.explicit("withheld_key")
                else settings.withheld_key,
            ),
        },
    )


# The name under which `dagster dev -m pipelines.definitions` finds them.
defs = definitions(read_settings(os.environ))
