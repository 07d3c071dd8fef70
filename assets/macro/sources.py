"""The sources of macroeconomic figures."""

from functools import partial

from assets.fetching.fetchers import fetch_addresses
from assets.macro import alfred, fetch, h10, published_tables, sdmx_csv, weo, worldbank
from assets.macro.table_files import ENTRIES, TableEntry
from assets.source import Parser, Source, declared_source
from warehouse.record.tables import MACRO_ANNUAL, MACRO_SERIES

_BIS_FILES = ("/static/bulk/WS_LONG_CPI_csv_col.zip", "/static/bulk/WS_CREDIT_GAP_csv_col.zip")
# Raise it whenever the same document of any table gives other rows or rejections than before.
TABLE_PARSER_VERSION = 3

_imf = partial(
    Source,
    subject="macro",
    license_class="restricted",
    license_name="Terms of use of the IMF, not cleared",
    license_url="https://www.imf.org/external/terms.htm",
    tables=(MACRO_SERIES,),
)


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


SOURCES = (
    Source(
        "worldbank",
        "macro",
        "World Bank, World Development Indicators",
        "cc-by",
        "Creative Commons Attribution 4.0",
        Parser(3, worldbank.parse),
        (MACRO_ANNUAL,),
        base_url="https://api.worldbank.org",
        fetch=fetch.worldbank,
        requests=("/v2/country/all/indicator/{indicator}?format=json&per_page=20000&page={page}",),
        rates={"worldbank.org": 2.0},
        license_url="https://datacatalog.worldbank.org/public-licenses#cc-by",
        # Its indicators are revised each quarter.
        new_within=120,
        # Older editions of two series, kept with their dates.
        other_hosts=(
            "raw.githubusercontent.com/datasets/gdp",
            "raw.githubusercontent.com/datasets/cpi",
        ),
    ),
    Source(
        "ecb",
        "macro",
        "European Central Bank, reference exchange rates",
        "open-attribution",
        "Free reuse with attribution",
        Parser(3, sdmx_csv.parse),
        (MACRO_SERIES,),
        base_url="https://data-api.ecb.europa.eu",
        fetch=fetch.ecb,
        cadence="monthly",
        requests=(
            "/service/data/EXR/{series}?format=csvdata&includeHistory=true&updatedAfter={day}",
        ),
        license_url="https://www.ecb.europa.eu/services/using-our-site/disclaimer/html/index.en.html",
    ),
    Source(
        "bis",
        "macro",
        "Bank for International Settlements, long consumer prices and credit-to-GDP gaps",
        "open-attribution",
        "Free use with attribution",
        Parser(3, sdmx_csv.parse),
        (MACRO_SERIES,),
        base_url="https://data.bis.org",
        fetch=partial(fetch_addresses, _BIS_FILES),
        requests=_BIS_FILES,
        license_url="https://www.bis.org/terms_statistics.htm",
        new_within=45,
        archives=frozenset({"zip"}),
        other_hosts=("stats.bis.org",),
    ),
    _imf(
        "imf-data",
        title="International Monetary Fund, data portal",
        parser=Parser(3, sdmx_csv.parse),
        base_url="https://data.imf.org",
        new_within=45,
        other_hosts=("api.imf.org",),
    ),
    _imf(
        "imf-weo",
        title="International Monetary Fund, World Economic Outlook",
        parser=Parser(2, weo.parse),
        base_url="https://www.imf.org",
        # An edition every April and October.
        new_within=200,
    ),
    Source(
        "alfred",
        "macro",
        "Federal Reserve Bank of St. Louis, ALFRED",
        "public-domain",
        "United States government series, public domain",
        Parser(4, alfred.parse),
        (MACRO_SERIES,),
        base_url=fetch.BASE_URL,
        fetch=fetch.alfred,
        requests=(
            "/fred/series?series_id={series}",
            "/fred/series/observations?series_id={series}&realtime_start={day}&realtime_end={day}",
            "/fred/series/vintagedates?series_id={series}",
        ),
        rates={"stlouisfed.org": 2.0},
        license_url="https://fred.stlouisfed.org/legal/",
        # Of its series some are monthly.
        new_within=45,
    ),
    Source(
        "h10",
        "macro",
        "Federal Reserve, H.10 foreign exchange rates",
        "public-domain",
        "United States government work, public domain",
        Parser(4, h10.parse),
        (MACRO_SERIES,),
        base_url="https://raw.githubusercontent.com/datasets/exchange-rates/main/data",
        fetch=fetch.h10,
        requests=("/{cadence}.csv",),
        license_url="https://www.federalreserve.gov/disclaimer.htm",
        # Released every Monday.
        new_within=14,
    ),
    *map(table_source, ENTRIES),
)
