"""All sources, of all subjects."""

from assets.entities.sources import SOURCES as ENTITIES
from assets.filings.sources import SOURCES as FILINGS
from assets.macro.sources import SOURCES as MACRO
from assets.source import Source
from assets.tenders.portal_files import own_portals
from assets.tenders.sources import SOURCES as TENDERS
from assets.tenders.sources import portal_source
from warehouse.errors import SankofaError
from warehouse.settings import Settings

# The built-in sources; ``sources_of`` adds those of an installation.
SOURCES = (*FILINGS, *MACRO, *ENTITIES, *TENDERS)


def sources_of(settings: Settings) -> tuple[Source, ...]:
    """Return the built-in sources and the portals in the files of ``SANKOFA_PORTALS``."""
    own = own_portals(settings.portal_files, (source.key for source in SOURCES))
    return (*SOURCES, *map(portal_source, own))


def source_of(settings: Settings, key: str) -> Source:
    """Return the source of an installation that has a key."""
    sources = {source.key: source for source in sources_of(settings)}
    if key not in sources:
        raise SankofaError(f"unknown source: {key}; one of {', '.join(sources)}")
    return sources[key]
