"""The Dagster assets of this subject."""

from assets.ingest import source_assets
from assets.macro.sources import SOURCES

ASSETS = source_assets(SOURCES)
