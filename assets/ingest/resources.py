"""The Dagster resource that opens the landing and the record."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Self

import dagster as dg

from warehouse.record.landing import Landing
from warehouse.record.store import Record
from warehouse.shared.locks import alive_file

# Reports the progress of a running asset to whoever started it in the same process.

# What is going on ("ecb: loading"), how much is done, of how much if that is known.
Listener = Callable[[str, int, int | None], None]

# Dagster makes the resources of a run itself, so that no listener can be handed over in one.
_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Pass the progress of every asset that runs meanwhile to a listener."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def reporter(activity: str) -> Callable[[int, int | None], None]:
    """Return a function that reports how much of an activity is done."""
    listener = _listener.get()
    if listener is None:
        return lambda done, total: None
    listener(activity, 0, None)
    return lambda done, total: listener(activity, done, total)


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
