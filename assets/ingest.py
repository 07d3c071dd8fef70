"""From a source to a Dagster asset: fetch, land, load, and show what happened."""

from pathlib import Path
from typing import Any

import dagster as dg

from assets.folder import fetch_folder
from assets.load import land_all, load_source
from assets.sources import Source
from warehouse.landing import Landing
from warehouse.record.store import Record
from warehouse.tables import LoadEntry

_COUNTS = ("read", "appended", "held", "quarantined", "withdrawn")


class Ground(dg.ConfigurableResource[Any]):
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


def ingest_asset(source: Source) -> dg.AssetsDefinition:
    """Make the asset that brings what a source has into the record."""

    @dg.asset(
        name=source.key.replace("-", "_"),
        group_name=source.subject,
        description=f"{source.title} ({source.license_name}).",
        kinds={"deltalake"},
        tags={"sankofa/license_class": source.license_class},
    )
    def ingested(context: dg.AssetExecutionContext, ground: Ground) -> dg.MaterializeResult[None]:
        landing, record = ground.landing(), ground.record()
        fetched = fetch_folder(Path(ground.documents), ground.base_url, source)
        came, new = land_all(landing, fetched)
        entries = load_source(record, landing, source)
        counts = _sums(entries)
        context.log.info("%s: %s documents, %s new; %s", source.key, came, new, counts)
        return dg.MaterializeResult(
            metadata={"documents": came, "documents_new": new, **counts, **_by_table(entries)}
        )

    return ingested


def _sums(entries: list[LoadEntry]) -> dict[str, int]:
    return {name: sum(getattr(entry, name) for entry in entries) for name in _COUNTS}


def _by_table(entries: list[LoadEntry]) -> dict[str, int]:
    tables = sorted({entry.table_name for entry in entries})
    return {
        f"appended to {table}": sum(e.appended for e in entries if e.table_name == table)
        for table in tables
    }
