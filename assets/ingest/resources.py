"""The Dagster resource that opens the landing and the record."""

from typing import Any

import dagster as dg

from warehouse.record.landing import Landing
from warehouse.record.store import Record


class IngestResource(dg.ConfigurableResource[Any]):
    """Folder of the sample world, and storage URLs of landing and record."""

    documents: str
    landing_url: str
    record_url: str

    def landing(self) -> Landing:
        """Open the landing."""
        return Landing(self.landing_url)

    def record(self) -> Record:
        """Open the record."""
        return Record(self.record_url)
