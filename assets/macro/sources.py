"""The sources of macroeconomic figures: those of ``sources.toml``, and series in tables."""

from functools import partial

from assets.macro import alfred, fetch, h10, published_tables, sdmx_csv, weo, worldbank
from assets.macro.table_files import ENTRIES, TableEntry
from assets.source import Parser, Source, declared_source, described_source
from warehouse.record.tables import MACRO_SERIES

# Raise it whenever the same document of any table gives other rows or rejections than before.
TABLE_PARSER_VERSION = 3


def table_source(entry: TableEntry) -> Source:
    """Return the source of series in tables."""
    return declared_source(
        entry,
        "macro",
        TABLE_PARSER_VERSION,
        published_tables.parse,
        (MACRO_SERIES,),
        new_within=entry.new_within,
    )


_described = partial(described_source, __name__)
SOURCES = (
    _described("worldbank", Parser(4, worldbank.parse), fetch.worldbank),
    _described("ecb", Parser(4, sdmx_csv.parse), fetch.ecb),
    _described("bis", Parser(4, sdmx_csv.parse)),
    _described("imf-data", Parser(4, sdmx_csv.parse)),
    _described("imf-weo", Parser(3, weo.parse)),
    _described("alfred", Parser(5, alfred.parse), fetch.alfred),
    _described("h10", Parser(4, h10.parse), fetch.h10),
    *map(table_source, ENTRIES),
)
