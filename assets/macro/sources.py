"""The sources of macroeconomic figures."""

from assets.macro import alfred, fetch, fetch_alfred, h10, sdmx_csv, worldbank
from assets.source import Descriptions, Parser, Source
from warehouse.record.tables import MACRO_ANNUAL, MACRO_SERIES

SOURCES = (
    Source(
        "worldbank",
        "macro",
        "World Bank, World Development Indicators",
        "cc-by",
        "Creative Commons Attribution 4.0",
        Parser(2, worldbank.parse),
        (MACRO_ANNUAL,),
        base_url="https://api.worldbank.org",
        fetch=fetch.worldbank,
        requests=("/v2/country/all/indicator/{indicator}?format=json&per_page=20000&page={page}",),
        rates={"worldbank.org": 2.0},
        license_url="https://datacatalog.worldbank.org/public-licenses#cc-by",
        # Its indicators are revised each quarter.
        new_within=120,
        archives=frozenset({"zip"}),
        # Its files, and older editions of two series, kept with their dates.
        other_hosts=(
            "databank.worldbank.org",
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
        Parser(1, sdmx_csv.parse),
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
        "alfred",
        "macro",
        "Federal Reserve Bank of St. Louis, ALFRED",
        "public-domain",
        "United States government series, public domain",
        Parser(2, alfred.parse),
        (MACRO_SERIES,),
        base_url=fetch_alfred.BASE_URL,
        fetch=fetch_alfred.alfred,
        requests=(
            "/fred/series?series_id={series}",
            "/fred/series/observations?series_id={series}&realtime_start={day}&realtime_end={day}",
            "/fred/series/vintagedates?series_id={series}",
        ),
        lookups=(
            "/fred/series?series_id={series}",
            "/fred/series/vintagedates?series_id={series}",
        ),
        descriptions=Descriptions(fetch_alfred.series_of, fetch_alfred.described_headers),
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
        Parser(2, h10.parse),
        (MACRO_SERIES,),
        base_url="https://raw.githubusercontent.com/datasets/exchange-rates/main/data",
        fetch=fetch.h10,
        requests=("/{cadence}.csv",),
        license_url="https://www.federalreserve.gov/disclaimer.htm",
        # Released every Monday.
        new_within=14,
    ),
)
