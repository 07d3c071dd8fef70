"""The Dagster assets of this subject."""

from assets.filings.sources import SOURCES
from assets.ingest import source_assets

ASSETS = [asset for source in SOURCES for asset in source_assets(source)]
