"""The Dagster resource that opens the landing and the record."""

from pathlib import Path
from typing import Any

import dagster as dg

from warehouse.record.landing import Landing
from warehouse.record.store import Record


class IngestResource(dg.ConfigurableResource[Any]):
    """Folder of the sample world, storage URLs of landing and record, and the folder of caches."""

    documents: str
    landing_url: str
    record_url: str
    caches: str = ""

    def landing(self) -> Landing:
        """Open the landing."""
        return Landing(self.landing_url, self._caches)

    def record(self) -> Record:
        """Open the record."""
        return Record(self.record_url, caches=self._caches)

    @property
    def _caches(self) -> Path | None:
        return Path(self.caches) if self.caches else None
