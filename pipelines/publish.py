"""The asset that makes what is loaded readable, at once."""

from pathlib import Path
from typing import Any

import dagster as dg
from warehouse.mart.build import publish

from assets.ingest import Ground

# Said with every answer as long as the documents come from the sample world.
SAMPLE_NOTICE = (
    "Fictional sample data: no issuer, portal, series or person in it exists. Held under the "
    "licence classes of the real sources it imitates; licence-clean, with no natural-person data."
)


class Marts(dg.ConfigurableResource[Any]):
    """The folder of the published builds."""

    folder: str


@dg.asset(group_name="published", kinds={"sqlite"})
def published_build(ground: Ground, marts: Marts) -> dg.MaterializeResult[None]:
    """Every vintage loaded so far, as one build that readers switch to at once."""
    data_version = publish(ground.record(), Path(marts.folder), notice=SAMPLE_NOTICE)
    return dg.MaterializeResult(metadata={"data_version": data_version})
