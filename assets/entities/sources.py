"""The registers of organisations and the files that map their identifiers.

They are those of ``sources.toml``, and exchange lists.
"""

from functools import partial

from assets.entities import exchange_lists, fetch, gleif, mappings, openfigi
from assets.entities.list_files import ENTRIES, ListEntry
from assets.source import Parser, Source, declared_source, described_source
from warehouse.record.tables import ENTITIES, IDENTIFIERS

# Raise it whenever the same document of any list gives other rows or rejections than before.
LIST_PARSER_VERSION = 7


def list_source(entry: ListEntry) -> Source:
    """Return the source of an exchange list."""
    return declared_source(
        entry,
        "entities",
        LIST_PARSER_VERSION,
        exchange_lists.parse,
        (ENTITIES, IDENTIFIERS),
        complete=entry.complete,
    )


def _mapping(key: str, mapping: mappings.Mapping) -> Source:
    parse = partial(mappings.parse, mapping=mapping)
    stream = partial(mappings.stream, mapping=mapping)
    return _described(key, Parser(4, parse, stream), fetch.mapping)


_described = partial(described_source, __name__)
SOURCES = (
    _described("gleif", Parser(5, gleif.parse, gleif.stream), fetch.gleif),
    _described("gleif-api", Parser(5, gleif.parse, gleif.stream), fetch.gleif_api),
    _mapping("isin-lei", mappings.ISINS),
    _mapping("oc-lei", mappings.OPENCORPORATES),
    *map(list_source, ENTRIES),
    _described("openfigi", Parser(4, openfigi.parse), fetch.openfigi),
)
