"""The Dagster assets of this subject."""

from assets.ingest import source_assets
from assets.tenders.sources import SOURCES

ASSETS = source_assets(SOURCES)
