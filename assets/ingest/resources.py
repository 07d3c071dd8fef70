"""Where the assets find documents, the landing and the record."""

from typing import Any

import dagster as dg

from warehouse.record.landing import Landing
from warehouse.record.store import Record


class IngestResource(dg.ConfigurableResource[Any]):
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
