"""The Dagster resource that opens the landing and the record."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import dagster as dg

from warehouse.locks import alive_file
from warehouse.record.landing import Landing
from warehouse.record.store import Record


class IngestResource(dg.ConfigurableResource[Any]):
    """Folder of the sample world, storage URLs of landing and record, and the folder of caches.

    ``alive`` is the folder with a locked file for each run that is executed; see
    ``pipelines/dagster_home.py``.
    """

    documents: str
    landing_url: str
    record_url: str
    caches: str = ""
    alive: str = ""

    @contextmanager
    def yield_for_execution(self, context: dg.InitResourceContext) -> Iterator[Self]:
        """Show, while the steps of a run are executed, that its process is alive."""
        if not self.alive or context.run is None:
            yield self
            return
        with alive_file(Path(self.alive, context.run.run_id)):
            yield self

    def landing(self) -> Landing:
        """Open the landing."""
        return Landing(self.landing_url, self._caches)

    def record(self) -> Record:
        """Open the record."""
        return Record(self.record_url, caches=self._caches)

    @property
    def _caches(self) -> Path | None:
        return Path(self.caches) if self.caches else None
