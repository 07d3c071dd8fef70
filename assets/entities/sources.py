"""The registers of organisations and the files that map their identifiers."""

from assets.entities import fetch, gleif, mappings, openfigi
from assets.source import Source
from warehouse.record.tables import ENTITIES, IDENTIFIERS

_CC0 = "Creative Commons Zero 1.0"

SOURCES = (
    Source(
        "gleif",
        "entities",
        "GLEIF golden copy",
        "cc0",
        _CC0,
        gleif.parse,
        (ENTITIES, IDENTIFIERS),
        stream=gleif.stream,
        base_url="https://goldencopy.gleif.org",
        fetch=fetch.gleif,
    ),
    Source(
        "gleif-api",
        "entities",
        "GLEIF API, LEI records of some countries",
        "cc0",
        _CC0,
        gleif.parse,
        (ENTITIES, IDENTIFIERS),
        base_url="https://api.gleif.org",
        fetch=fetch.gleif_api,
    ),
    Source(
        "isin-lei",
        "entities",
        "GLEIF and ANNA, ISIN to LEI",
        "cc0",
        _CC0,
        mappings.isin_mapping,
        (IDENTIFIERS,),
        stream=mappings.isin_stream,
        base_url="https://mapping.gleif.org",
        fetch=fetch.isin_lei,
    ),
    Source(
        "oc-lei",
        "entities",
        "GLEIF and OpenCorporates, OpenCorporates id to LEI",
        "cc0",
        _CC0,
        mappings.opencorporates_mapping,
        (IDENTIFIERS,),
        stream=mappings.opencorporates_stream,
        base_url="https://mapping.gleif.org",
        fetch=fetch.oc_lei,
    ),
    Source(
        "listings",
        "entities",
        "Listings by market",
        "open-attribution",
        "Open with attribution",
        mappings.listings,
        (ENTITIES, IDENTIFIERS),
    ),
    Source(
        "openfigi",
        "entities",
        "OpenFIGI, FIGIs of an ISIN",
        "open-attribution",
        "FIGI, free to use and redistribute",
        openfigi.parse,
        (IDENTIFIERS,),
        base_url="https://api.openfigi.com",
        fetch=fetch.openfigi,
    ),
)
