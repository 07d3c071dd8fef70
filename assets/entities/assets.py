"""The Dagster assets of this subject."""

from assets.entities.sources import SOURCES
from assets.ingest import source_assets

ASSETS = source_assets(SOURCES)
