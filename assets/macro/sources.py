"""The sources of macroeconomic figures."""

from assets.macro import alfred, fetch, fetch_alfred, h10, sdmx_csv, worldbank
from assets.source import Source
from warehouse.record.tables import MACRO_ANNUAL, MACRO_SERIES

SOURCES = (
    Source(
        "worldbank",
        "macro",
        "World Bank, World Development Indicators",
        "cc-by",
        "Creative Commons Attribution 4.0",
        worldbank.parse,
        (MACRO_ANNUAL,),
        base_url="https://api.worldbank.org",
        fetch=fetch.worldbank,
    ),
    Source(
        "ecb",
        "macro",
        "European Central Bank, reference exchange rates",
        "open-attribution",
        "Free reuse with attribution",
        sdmx_csv.parse,
        (MACRO_SERIES,),
        base_url="https://data-api.ecb.europa.eu",
        fetch=fetch.ecb,
        cadence="monthly",
    ),
    Source(
        "alfred",
        "macro",
        "Federal Reserve Bank of St. Louis, ALFRED",
        "public-domain",
        "United States government series, public domain",
        alfred.parse,
        (MACRO_SERIES,),
        base_url=fetch_alfred.BASE_URL,
        fetch=fetch_alfred.alfred,
    ),
    Source(
        "h10",
        "macro",
        "Federal Reserve, H.10 foreign exchange rates",
        "public-domain",
        "United States government work, public domain",
        h10.parse,
        (MACRO_SERIES,),
        base_url="https://raw.githubusercontent.com/datasets/exchange-rates/main/data",
        fetch=fetch.h10,
    ),
)
