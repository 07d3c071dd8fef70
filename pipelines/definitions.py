"""What Dagster runs: every asset, the jobs, when they run, and where things lie."""

import dagster as dg

from assets.ingest.assets import landed_key, source_assets
from assets.ingest.land import SAMPLE_URL
from assets.ingest.resources import Ground
from assets.ingest.sources import SOURCES
from pipelines.places import builds_kept, places
from pipelines.publish import Publishing, published_build
from pipelines.sensing import new_documents
from pipelines.timing import schedules

ASSETS = source_assets(SOURCES)

_landed_keys = {landed_key(source) for source in SOURCES}
_landed = [asset for asset in ASSETS if not _landed_keys.isdisjoint(asset.keys)]
_loaded = [asset for asset in ASSETS if asset not in _landed]

ingest = dg.define_asset_job(
    "ingest",
    dg.AssetSelection.assets(*_loaded),
    description="Bring what is landed of every source into the record.",
)
publish = dg.define_asset_job(
    "publish",
    dg.AssetSelection.assets(published_build),
    description="Publish what is loaded as one build.",
)


def definitions() -> dg.Definitions:
    """Give the definitions for the places the environment names."""
    here = places()
    ground = Ground(
        documents=str(here.sample),
        base_url=SAMPLE_URL,
        landing_url=here.landing,
        record_url=here.record,
    )
    return dg.Definitions(
        assets=[*ASSETS, published_build],
        jobs=[ingest, publish],
        schedules=schedules(_landed, ingest, publish),
        sensors=[new_documents(ingest, ground)],
        executor=dg.in_process_executor,
        resources={
            "ground": ground,
            "publishing": Publishing(
                marts=here.marts,
                work=str(here.work),
                exports=here.exports,
                exports_url=here.exports_url,
                signing_key=str(here.signing_key),
                docs=str(here.docs),
                keep=builds_kept(),
            ),
        },
    )


defs = definitions()
