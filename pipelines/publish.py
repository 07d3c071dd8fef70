"""The asset that makes what is loaded readable, at once."""

from pathlib import Path
from typing import Any

import dagster as dg

from assets.ingest import Ground
from warehouse.mart.build import publish
from warehouse.mart.notices import SAMPLE_NOTICE


class Marts(dg.ConfigurableResource[Any]):
    """The folder of the published builds."""

    folder: str


@dg.asset(group_name="published", kinds={"sqlite"})
def published_build(ground: Ground, marts: Marts) -> dg.MaterializeResult[None]:
    """Every vintage loaded so far, as one build that readers switch to at once."""
    data_version = publish(ground.record(), Path(marts.folder), notice=SAMPLE_NOTICE)
    return dg.MaterializeResult(metadata={"data_version": data_version})
