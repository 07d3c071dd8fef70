"""The Dagster assets of this subject."""

from assets.ingest import source_assets
from assets.tenders.sources import SOURCES

ASSETS = [asset for source in SOURCES for asset in source_assets(source)]
