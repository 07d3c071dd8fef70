"""The registers of organisations and the files that map their identifiers."""

from assets.entities import fetch, gleif, mappings, openfigi
from assets.source import Parser, Source
from warehouse.record.tables import ENTITIES, IDENTIFIERS

_CC0 = "Creative Commons Zero 1.0"

SOURCES = (
    Source(
        "gleif",
        "entities",
        "GLEIF golden copy",
        "cc0",
        _CC0,
        Parser(1, gleif.parse, gleif.stream),
        (ENTITIES, IDENTIFIERS),
        base_url="https://goldencopy.gleif.org",
        fetch=fetch.gleif,
        requests=("/api/v2/golden-copies/publishes/lei2/latest.{format}?delta={delta}",),
        license_url="https://www.gleif.org/en/about/open-data",
        archives=frozenset({"zip"}),
    ),
    Source(
        "gleif-api",
        "entities",
        "GLEIF API, LEI records of some countries",
        "cc0",
        _CC0,
        Parser(1, gleif.parse, gleif.stream),
        (ENTITIES, IDENTIFIERS),
        base_url="https://api.gleif.org",
        fetch=fetch.gleif_api,
        requests=(
            "/api/v1/lei-records?filter[entity.legalAddress.country]={country}&page[number]={page}",
        ),
        # 60 requests a minute.
        rates={"api.gleif.org": 1.0},
        license_url="https://www.gleif.org/en/about/open-data",
    ),
    Source(
        "isin-lei",
        "entities",
        "GLEIF and ANNA, ISIN to LEI",
        "cc0",
        _CC0,
        Parser(1, mappings.isin_mapping, mappings.isin_stream),
        (IDENTIFIERS,),
        base_url="https://mapping.gleif.org",
        fetch=fetch.isin_lei,
        requests=("/api/v2/isin-lei/latest/download",),
        license_url="https://www.gleif.org/en/about/open-data",
        archives=frozenset({"zip"}),
    ),
    Source(
        "oc-lei",
        "entities",
        "GLEIF and OpenCorporates, OpenCorporates id to LEI",
        "cc0",
        _CC0,
        Parser(1, mappings.opencorporates_mapping, mappings.opencorporates_stream),
        (IDENTIFIERS,),
        base_url="https://mapping.gleif.org",
        fetch=fetch.oc_lei,
        requests=("/api/v2/oc-lei/latest/download",),
        license_url="https://www.gleif.org/en/about/open-data",
        archives=frozenset({"zip"}),
    ),
    Source(
        "listings",
        "entities",
        "Listings by market",
        "open-attribution",
        "Open with attribution",
        Parser(1, mappings.listings),
        (ENTITIES, IDENTIFIERS),
    ),
    Source(
        "openfigi",
        "entities",
        "OpenFIGI, FIGIs of an ISIN",
        "open-attribution",
        "FIGI, free to use and redistribute",
        Parser(1, openfigi.parse),
        (IDENTIFIERS,),
        base_url="https://api.openfigi.com",
        fetch=fetch.openfigi,
        requests=("POST /v3/mapping",),
        # 25 requests a minute without an API key.
        rates={"openfigi.com": 0.4},
        license_url="https://www.openfigi.com/docs/terms-of-service",
        request_header="x-jobs",
    ),
)
