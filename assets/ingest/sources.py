"""All sources, of all subjects."""

from collections.abc import Iterable

from assets.declared_files import own_entries
from assets.entities.list_files import TABLES, ListEntry
from assets.entities.sources import SOURCES as ENTITIES
from assets.entities.sources import list_source
from assets.filings.sources import SOURCES as FILINGS
from assets.filings.sources import without_elements
from assets.macro.sources import SOURCES as MACRO
from assets.macro.sources import table_source
from assets.macro.table_files import TABLES as SERIES_TABLES
from assets.macro.table_files import TableEntry
from assets.source import Source
from assets.tenders.portal_files import PortalEntry
from assets.tenders.sources import SOURCES as TENDERS
from assets.tenders.sources import portal_source
from warehouse.shared.errors import SankofaError
from warehouse.shared.settings import Settings
from warehouse.shared.texts import nearest

# The built-in sources; ``sources_of`` adds those of an installation.
SOURCES = (*FILINGS, *MACRO, *ENTITIES, *TENDERS)


def sources_of(settings: Settings) -> tuple[Source, ...]:
    """Return the built-in sources, and those of an installation's own files.

    These are the portals of ``SANKOFA_PORTALS``, the lists of ``SANKOFA_EXCHANGE_LISTS`` and the
    series of ``SANKOFA_SERIES_TABLES``, of which some replace a built-in one. ``SANKOFA_ELEMENTS``
    says whether every element of company facts is read.
    """
    keys = [source.key for source in SOURCES]
    portals = list(map(portal_source, own_entries(settings.portal_files, PortalEntry, keys)))
    taken = {*keys, *(portal.key for portal in portals)}
    lists = own_entries(settings.list_files, ListEntry, taken - TABLES.keys(), TABLES)
    taken |= {entry.key for entry in lists}
    series = own_entries(
        settings.table_files, TableEntry, taken - SERIES_TABLES.keys(), SERIES_TABLES
    )
    own = {source.key: source for source in (*map(list_source, lists), *map(table_source, series))}
    built_in = [own.pop(source.key, source) for source in SOURCES]
    if not settings.elements:
        built_in = list(map(without_elements, built_in))
    return (*built_in, *own.values(), *portals)


def source_of(settings: Settings, key: str) -> Source:
    """Return the source of an installation that has a key."""
    sources = {source.key: source for source in sources_of(settings)}
    if key not in sources:
        raise unknown_source(key, sources)
    return sources[key]


def unknown_source(key: str, known: Iterable[str]) -> SankofaError:
    """Return the error of a key that no source has; it names those that are spelt alike."""
    near = ", ".join(nearest(key, known))
    meant = f"did you mean {near}? " if near else ""
    return SankofaError(f"unknown source: {key}; {meant}`sankofa sources` lists all")
