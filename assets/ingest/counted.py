"""Metrics of fetching and loading a source; see ``warehouse/metrics/declared.py``."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from assets.ingest.metadata import total_counts
from warehouse.metrics.counts import counting
from warehouse.metrics.declared import (
    DOCUMENTS_FAILED,
    FETCHED_AT,
    FETCHES,
    INGEST_ROWS,
    INGEST_SECONDS,
    INGESTED_AT,
    INGESTS,
)
from warehouse.tables import LoadEntry


@dataclass
class LoadedRows:
    """What a load has done so far."""

    entries: list[LoadEntry] = field(default_factory=list)
    documents_failed: int = 0

    def note(self, entries: Sequence[LoadEntry], documents_failed: int) -> None:
        """Note the outcome of a load."""
        self.entries, self.documents_failed = list(entries), documents_failed


@contextmanager
def counted_fetch(folder: str, source: str) -> Iterator[None]:
    """Count a fetch of a source, and note when it succeeded."""
    with counting(folder, "ingest") as counts:
        try:
            yield
        except BaseException:
            counts.add(FETCHES, source, "failed")
            raise
        counts.add(FETCHES, source, "ok")
        counts.set(FETCHED_AT, source, value=time.time())


@contextmanager
def counted_load(folder: str, source: str) -> Iterator[LoadedRows]:
    """Count a load of a source: its rows, its duration, the documents it left unread."""
    loaded, started = LoadedRows(), time.monotonic()
    with counting(folder, "ingest") as counts:
        try:
            yield loaded
        except BaseException:
            counts.add(INGESTS, source, "failed")
            raise
        finally:
            counts.add(INGEST_SECONDS, source, value=time.monotonic() - started)
        for outcome, rows in total_counts(loaded.entries).items():
            counts.add(INGEST_ROWS, source, outcome, value=rows)
        counts.set(DOCUMENTS_FAILED, source, value=loaded.documents_failed)
        counts.add(INGESTS, source, "failed" if loaded.documents_failed else "ok")
        if not loaded.documents_failed:
            counts.set(INGESTED_AT, source, value=time.time())
