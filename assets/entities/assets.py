"""The Dagster assets of this subject."""

from assets.entities.sources import SOURCES
from assets.ingest import ingest_asset

ASSETS = [ingest_asset(source) for source in SOURCES]
