"""All sources, of all subjects."""

from assets.entities.sources import SOURCES as ENTITIES
from assets.filings.sources import SOURCES as FILINGS
from assets.macro.sources import SOURCES as MACRO
from assets.tenders.sources import SOURCES as TENDERS

SOURCES = (*FILINGS, *MACRO, *ENTITIES, *TENDERS)
