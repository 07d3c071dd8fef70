"""The Dagster assets of this subject."""

from assets.ingest import ingest_asset
from assets.tenders.sources import SOURCES

ASSETS = [ingest_asset(source) for source in SOURCES]
