"""What Dagster runs: every asset, the jobs, when they run, and where things lie."""

import dagster as dg

from assets.entities.assets import ASSETS as ENTITIES
from assets.filings.assets import ASSETS as FILINGS
from assets.folder import SAMPLE_URL
from assets.ingest import Ground
from assets.macro.assets import ASSETS as MACRO
from assets.tenders.assets import ASSETS as TENDERS
from pipelines.places import places
from pipelines.publish import Marts, published_build
from pipelines.timing import schedules, sensors

ASSETS = [*FILINGS, *MACRO, *ENTITIES, *TENDERS]

_landed = [asset for asset in ASSETS if asset.key.to_user_string().endswith("_landed")]
_loaded = [asset for asset in ASSETS if asset not in _landed]

ingest = dg.define_asset_job(
    "ingest",
    dg.AssetSelection.assets(*_loaded),
    description="Bring what is landed of every source into the record.",
    executor_def=dg.in_process_executor,
)
publish = dg.define_asset_job(
    "publish",
    dg.AssetSelection.assets(published_build),
    description="Publish what is loaded as one build.",
    executor_def=dg.in_process_executor,
)


def definitions() -> dg.Definitions:
    """Give the definitions for the places the environment names."""
    here = places()
    return dg.Definitions(
        assets=[*ASSETS, published_build],
        jobs=[ingest, publish],
        schedules=schedules(_landed, ingest, publish),
        sensors=sensors(ingest, here.sample),
        resources={
            "ground": Ground(
                documents=str(here.sample),
                base_url=SAMPLE_URL,
                landing_url=here.landing,
                record_url=here.record,
            ),
            "marts": Marts(folder=str(here.marts)),
        },
    )


defs = definitions()
